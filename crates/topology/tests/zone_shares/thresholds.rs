//! `evenkeel.dev/overload-threshold`.

use evenkeel_model::label;
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{overload::Resync, plan::HintOutcome};

use crate::{table, under, world};

fn is_hinted(world: &mut World) -> bool {
    matches!(world.sync().families[0].hints, HintOutcome::Auto(_))
}

// Four endpoints in three zones overload one by a third.
#[test]
fn a_service_that_accepts_more_gets_hints() {
    let spread = [("a", 2), ("b", 1), ("c", 1)];
    let hinted = |threshold: &str| {
        let service = service("web").auto().annotated(label::OVERLOAD_THRESHOLD, threshold);
        is_hinted(&mut world(Cluster::equal_zones(3), service).with_pods(&spread))
    };
    assert!(!hinted("20%"));
    assert!(hinted("40%"));
    assert!(!hinted("forty"), "no effect");
}

#[test]
fn hints_are_kept_up_to_ten_points_more() {
    let service = service("web").auto().annotated(label::OVERLOAD_THRESHOLD, "10%");
    let mut cluster = Cluster::of(&[("a", 10), ("b", 10)]);
    let spread = [("a", 5), ("b", 5)];
    let mut world = world(cluster.clone(), service).with_pods(&spread);
    assert!(is_hinted(&mut world));
    // 55 % of the CPU is in zone a: its 5 endpoints are expected to take 10 % more than their part.
    cluster.add_node("node-a2", Some("a"), 2);
    world.cluster = cluster.clone();
    assert_eq!(world.resync(), None);
    // 67 %: 33 % more.
    cluster.add_node("node-a3", Some("a"), 8);
    world.cluster = cluster;
    assert_eq!(world.resync(), Some(Resync::Overloaded));
}

#[test]
fn under_balanced_it_is_the_allowance() {
    let spread = [("a", 2), ("b", 1), ("c", 1)];
    let service = under("Balanced").annotated(label::OVERLOAD_THRESHOLD, "40%");
    let mut world = world(Cluster::equal_zones(3), service).with_pods(&spread);
    world.sync();
    for (zone, row) in table(&world) {
        assert_eq!(row.len(), 1, "{zone} keeps its traffic: {row:?}");
    }
}
