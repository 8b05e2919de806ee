use evenkeel_model::{Autoscaler, Service};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::explain::{From, Warning};

use crate::{even, explained, explained_as, settled, state};

fn near() -> Service {
    service("web").distribution("PreferSameZone")
}

fn warnings(world: &World) -> Vec<Warning> {
    explained(world).warnings.into_iter().map(|said| said.reason).collect()
}

#[test]
fn an_even_spread_gives_nothing_to_warn_of() {
    for service in [service("web"), near(), service("web").auto()] {
        assert_eq!(warnings(&even(service)), []);
    }
}

#[test]
fn more_than_a_fifth_of_workers_not_ready_is_warned_of() {
    let mut cluster = Cluster::equal_zones(3);
    for i in 0..7 {
        cluster.add_node(&format!("spare-{i}"), Some(["a", "b", "c"][i % 3]), 4);
    }
    let mut world = even(near());
    world.cluster = cluster;
    world.cluster.nodes[3..5].iter_mut().for_each(|node| node.ready = false);
    let many = |w: &Warning| matches!(w, Warning::ManyNodesUnready { .. });
    assert!(!warnings(&world).iter().any(many), "two of ten");
    world.cluster.nodes[5].ready = false;
    let expected = Warning::ManyNodesUnready { unready: 3, workers: 10 };
    assert!(warnings(&world).contains(&expected));
}

#[test]
fn pods_bound_to_some_nodes_are_warned_of() {
    let mut world = even(near());
    world.pods[1].confined = true;
    assert_eq!(warnings(&world), [Warning::PodsRestrictedToNodes { pods: 1 }]);
}

#[test]
fn an_autoscaler_is_warned_of_and_where_auto_loses_hints() {
    for (service, lost) in [(near(), None), (service("web").auto(), Some(vec![1, 2, 4, 5]))] {
        let world = even(service);
        let mut state = state(&world);
        let autoscaler = Autoscaler { name: "web".into(), min_replicas: 1, max_replicas: 6 };
        state.autoscaler = Some(autoscaler);
        let explanation = explained_as(&world, &state, &From::default());
        let found: Vec<_> = explanation.warnings.into_iter().map(|said| said.reason).collect();
        let mut expected = vec![Warning::Autoscaled { autoscaler: "web".into(), max_replicas: 6 }];
        expected.extend(lost.map(|replicas| Warning::HintsUnstable { replicas }));
        assert_eq!(found, expected);
    }
}

#[test]
fn zones_that_are_overloaded_or_without_endpoints_are_warned_of() {
    let world = settled(Cluster::equal_zones(3), near(), &[("a", 5), ("b", 1)]);
    let expected = [
        Warning::ZoneOverloaded { zone: "b".into(), endpoints: 1, load: 2.0 },
        Warning::ZoneWithoutEndpoint { zone: "c".into() },
    ];
    assert_eq!(warnings(&world), expected);
}

#[test]
fn only_services_headless_by_wish_are_warned_of() {
    let mut world = even(near());
    world.service.headless = true;
    assert_eq!(warnings(&world), [], "no address was assigned yet");
    world.service.cluster_ip_none = true;
    assert_eq!(warnings(&world), [Warning::Headless]);
}
