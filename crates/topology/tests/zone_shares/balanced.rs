//! Policy Balanced: what is written, kept and taken off.

use evenkeel_model::{HintsIgnored, Rule, label};
use evenkeel_testkit::{Cluster, ServiceExt, service};
use evenkeel_topology::{HintEvent, NoHints, plan::HintOutcome};

use crate::{carriers, rows, table, under, world};

fn example() -> evenkeel_testkit::World {
    let pods = [("a", 2), ("b", 1), ("c", 1)];
    world(Cluster::equal_zones(3), under("Balanced")).with_pods(&pods)
}

// KEP-2433's own example: four endpoints in three equal zones.
#[test]
fn four_endpoints_in_three_zones_are_shared_out() {
    let mut world = example();
    let plan = world.sync();
    let expected = rows(&[
        ("a", &[("a", 1000)]),
        ("b", &[("a", 250), ("b", 750)]),
        ("c", &[("a", 250), ("c", 750)]),
    ]);
    assert_eq!(table(&world), expected);
    let HintOutcome::Balanced { hints: Err(why), groups } = &plan.families[0].hints else {
        panic!("{:?}", plan.families);
    };
    assert!(matches!(why, NoHints::Overload { endpoints: 4, zones: 3, .. }), "{why:?}");
    let decision = groups[0].decision.as_ref().unwrap();
    assert!((decision.figures.in_zone - 5.0 / 6.0).abs() < 1e-3, "{decision:?}");
    assert!(decision.figures.worst < 1.0 + 1e-2, "{decision:?}");
    let [HintEvent::SharesEnabled { instead_of: Some(_), .. }] = &plan.events[..] else {
        panic!("{:?}", plan.events);
    };
    assert!(plan.events[0].message().starts_with("Zone shares are in force: 83 % of traffic"));
    let again = world.sync();
    assert!(again.is_empty() && again.events.is_empty(), "{again:?}");
}

#[test]
fn clients_follow_the_shares_and_others_see_no_hints() {
    let mut world = example();
    world.sync();
    let b = world.select_from("node-b1").cluster.unwrap();
    assert_eq!(
        (b.rule, b.pods),
        (Rule::ZoneShares, ["pod-a1", "pod-a2", "pod-b1"].map(Into::into).into())
    );
    // A consumer that does not know the annotation.
    for slice in &mut world.slices {
        slice.shares = None;
    }
    let b = world.select_from("node-b1").cluster.unwrap();
    assert_eq!((b.rule, b.pods.len()), (Rule::All(HintsIgnored::NoHints), 4));
}

#[test]
fn hints_beside_the_shares_are_those_of_auto() {
    let spread = [("a", 3), ("b", 2), ("c", 2)];
    let mut balanced = world(Cluster::equal_zones(3), under("Balanced")).with_pods(&spread);
    let mut auto = world(Cluster::equal_zones(3), service("web").auto()).with_pods(&spread);
    balanced.sync();
    auto.sync();
    assert!(!auto.hinted().is_empty());
    assert_eq!(balanced.hinted(), auto.hinted());
    let endpoints = |world: &evenkeel_testkit::World| world.slices[0].endpoints.clone();
    assert_eq!(endpoints(&balanced), endpoints(&auto));
}

#[test]
fn another_policy_takes_the_shares_off() {
    for other in
        [service("web"), service("web").auto(), under("PreferSameZone"), under("PreferSameRegion")]
    {
        let mut world = example();
        world.sync();
        world.service = other;
        world.sync();
        assert!(carriers(&world).is_empty(), "{:?}", world.service.annotations);
        assert!(world.sync().is_empty());
    }
}

#[test]
fn a_table_that_cannot_be_read_is_replaced() {
    let mut world = example();
    world.sync();
    let good = table(&world);
    let why = evenkeel_model::SharesError::ShareSumWrong { client: "a".into(), sum: 3 };
    world.slices[0].shares = Some(evenkeel_model::SharesAnnotation::Invalid(why));
    world.sync();
    assert_eq!(table(&world), good);
}

#[test]
fn one_zone_needs_no_shares() {
    let mut world = world(Cluster::equal_zones(1), under("Balanced")).with_pods(&[("a", 3)]);
    world.sync();
    assert!(carriers(&world).is_empty());
}

#[test]
fn shares_are_kept_while_they_are_good_enough() {
    let spread = [("a", 20), ("b", 20), ("c", 20)];
    let mut world = world(Cluster::equal_zones(3), under("Balanced")).with_pods(&spread);
    // Ten to a slice, so that one Pod leaves most slices alone.
    world.settings.max_endpoints_per_slice = 10;
    world.sync();
    let before = table(&world);
    world.remove_pods("b", 1);
    world.sync();
    assert_eq!(table(&world), before, "19 of 20 endpoints take 5 % more each");
    world.remove_pods("b", 5);
    world.sync();
    assert_ne!(table(&world), before);
}

#[test]
fn a_node_change_that_spoils_the_shares_is_noticed() {
    let mut world = example();
    world.sync();
    let before = world.cluster.demand();
    let due = |world: &evenkeel_testkit::World| {
        let after = world.cluster.demand();
        !world.auto_services.reshared(&before, &after, &world.settings).is_empty()
    };
    assert!(!due(&world));
    world.cluster.add_node("node-a2", Some("a"), 4);
    assert!(due(&world), "half of the demand is in zone a now");
    world.sync();
    let before = world.cluster.demand();
    let after = world.cluster.demand();
    assert!(world.auto_services.reshared(&before, &after, &world.settings).is_empty());
}

#[test]
fn a_family_that_goes_is_forgotten() {
    let mut world = example();
    world.service = under("Balanced").dual_stack();
    world.sync();
    world.service = service("web");
    world.sync();
    let before = world.cluster.demand();
    world.cluster.add_node("node-a2", Some("a"), 40);
    let after = world.cluster.demand();
    assert!(world.auto_services.reshared(&before, &after, &world.settings).is_empty());
}

// A node without a zone or CPU leaves Auto without hints, never Balanced.
#[test]
fn it_never_gives_up() {
    let mut cluster = Cluster::equal_zones(3);
    cluster.add_node("lost", None, 4);
    cluster.add_node("node-a9", Some("a"), 0);
    let pods = [("a", 1), ("b", 1), ("c", 1)];
    let mut world = world(cluster, under("Balanced")).with_pods(&pods);
    world.sync();
    assert_eq!(table(&world).len(), 3);
}

#[test]
fn both_families_have_their_table() {
    let service = under("Balanced").dual_stack();
    let mut world = world(Cluster::equal_zones(3), service).with_pods(&[("a", 2), ("b", 1)]);
    world.sync();
    let families: Vec<_> = carriers(&world).iter().map(|s| s.address_type).collect();
    assert_eq!(families.len(), 2);
    assert_ne!(families[0], families[1]);
}

#[test]
fn the_field_takes_the_policy_with_its_domain() {
    let mut world = example();
    world.service = service("web").distribution("evenkeel.dev/Balanced");
    world.sync();
    assert_eq!(carriers(&world).len(), 1);
    for other in ["Balanced", "evenkeel.dev/PreferClose", "example.com/Balanced"] {
        world.service = service("web").distribution(other);
        world.sync();
        assert!(carriers(&world).is_empty(), "{other}");
    }
    world.service = service("web").annotated(label::TRAFFIC_DISTRIBUTION, "evenkeel.dev/Balanced");
    world.sync();
    assert!(carriers(&world).is_empty(), "the annotation has the domain in its name");
}
