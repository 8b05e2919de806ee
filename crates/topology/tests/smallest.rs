//! The smallest inputs that the property tests found, one test for each.

use evenkeel_model::AddressType;
use evenkeel_testkit::{Cluster, ServiceExt, World, endpoint, profiles, service, slice};
use evenkeel_topology::{HintEvent, NoHints, Settings, plan::HintOutcome};

fn auto(cluster: Cluster, settings: Settings) -> World {
    World::new(cluster, service("web").auto(), settings)
}

// Hints will not be added for a Service unless the expected initial overload is below 20%. Slices
// that an earlier Service of the same name left behind have hints, but not of this Service.
#[test]
fn slices_of_an_earlier_service_put_no_hints_in_force() {
    for (profile, settings) in profiles() {
        let mut world =
            auto(Cluster::equal_zones(3), settings).with_pods(&[("a", 4), ("b", 4), ("c", 4)]);
        world.sync();
        world.remove_pods("c", 1);
        world.service.uid = "uid-of-the-next".into();
        let plan = world.sync();
        let why = NoHints::Overload { endpoints: 11, zones: 3, required: 12, threshold: 0.2 };
        let refused = HintOutcome::AutoRefused(why);
        assert_eq!(plan.families[0].hints, refused, "{profile}");
    }
}

// One family has hints and the other can't: its Pods have no address of it.
#[test]
fn a_family_tells_once_that_it_has_hints() {
    let mut world =
        auto(Cluster::equal_zones(2), Settings::default()).with_pods(&[("a", 1), ("b", 1)]);
    world.service = world.service.dual_stack();
    for pod in &mut world.pods {
        pod.ips.truncate(1);
    }
    let enabled = HintEvent::Enabled { family: AddressType::IPv4 };
    assert!(world.sync().events.contains(&enabled));
    assert!(!world.sync().events.contains(&enabled));
}

// One Pod in a slice without hints, one that comes with a new slice.
#[test]
fn old_and_new_slices_get_the_same_hints_in_both_profiles() {
    let [ours, theirs] = profiles().map(|(_, mut settings)| {
        settings.max_endpoints_per_slice = 1;
        let mut world = auto(Cluster::equal_zones(2), settings).with_pods(&[("a", 2)]);
        let pod = &world.pods[0];
        let zone = world.cluster.topology.zones.find("a");
        let family = AddressType::IPv4;
        let endpoint = endpoint(pod, family, zone, None);
        world.slices = vec![slice(&world.service, "old", family, vec![endpoint])];
        world.sync();
        world.endpoints().cloned().collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
}

// A Service without endpoints has its empty slice already; beside it, one that an earlier Service
// of the same name left behind. Kubernetes writes the former once more.
#[test]
fn an_empty_slice_that_is_right_is_not_written_again() {
    for (profile, settings) in profiles() {
        let mut world = World::new(Cluster::equal_zones(2), service("web"), settings);
        world.sync();
        let mut leftover = world.slices[0].clone();
        leftover.name = "leftover".into();
        leftover.owner = Some("uid-of-an-earlier-one".into());
        world.slices.push(leftover);
        let plan = world.sync();
        assert_eq!(plan.delete, ["leftover".into()], "{profile}");
        let writes = usize::from(world.settings == Settings::kubernetes());
        assert_eq!(plan.update.len(), writes, "{profile}");
    }
}
