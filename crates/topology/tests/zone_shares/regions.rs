//! Policies that look at regions, and RequireSameZone.

use evenkeel_model::{HintsIgnored, Rule};
use evenkeel_testkit::{Cluster, World};
use evenkeel_topology::plan::{HintOutcome, NoShares};

use crate::{carriers, rows, table, under, world};

/// Zones a and b in region r, zone c in region s.
fn cluster() -> Cluster {
    let mut cluster = Cluster::equal_zones(3);
    for (zone, region) in [("a", "r"), ("b", "r"), ("c", "s")] {
        cluster.set_region(zone, region);
    }
    cluster
}

/// Twelve zones in two regions: ten in the first.
fn wide() -> Cluster {
    let mut cluster = Cluster::equal_zones(12);
    for zone in "abcdefghijkl".chars() {
        let region = if zone < 'k' { "r" } else { "s" };
        cluster.set_region(&zone.to_string(), region);
    }
    cluster
}

fn hints(world: &World, pod: &str) -> Vec<String> {
    let endpoint = world.endpoint(pod);
    endpoint.zone_hints().iter().map(|zone| world.cluster.zone_name(*zone).to_owned()).collect()
}

#[test]
fn an_endpoint_is_hinted_for_all_zones_of_its_region() {
    let mut world = world(cluster(), under("PreferSameRegion")).with_pods(&[("b", 1), ("c", 1)]);
    world.sync();
    assert_eq!(hints(&world, "pod-b1"), ["b", "a"]);
    assert_eq!(hints(&world, "pod-c1"), ["c"]);
    assert!(carriers(&world).is_empty());
    let a = world.select_from("node-a1").cluster.unwrap();
    assert_eq!((a.rule, a.pods), (Rule::SameZone, vec!["pod-b1".to_owned()]));
    assert!(world.sync().is_empty());
}

#[test]
fn clients_of_a_region_without_endpoints_use_all() {
    let mut world = world(cluster(), under("PreferSameRegion")).with_pods(&[("a", 1), ("b", 1)]);
    world.sync();
    let c = world.select_from("node-c1").cluster.unwrap();
    assert_eq!((c.rule, c.pods.len()), (Rule::All(HintsIgnored::NoneForZone), 2));
}

#[test]
fn zones_without_endpoints_fall_back_to_their_region() {
    let spread = [("b", 2), ("c", 1)];
    let mut world = world(cluster(), under("PreferSameZoneThenRegion")).with_pods(&spread);
    world.sync();
    assert_eq!(hints(&world, "pod-b1"), ["b", "a"]);
    assert_eq!(hints(&world, "pod-c1"), ["c"]);
    world.add_pods("a", 1);
    world.sync();
    assert_eq!(hints(&world, "pod-b1"), ["b"], "zone a has an endpoint of its own now");
    assert_eq!(hints(&world, "pod-a1"), ["a"]);
}

#[test]
fn more_zones_than_hints_can_name_are_shared_out() {
    let spread = [("a", 3), ("b", 1), ("k", 1)];
    let mut world = world(wide(), under("PreferSameRegion")).with_pods(&spread);
    world.sync();
    assert!(hints(&world, "pod-a1").is_empty());
    let table = table(&world);
    assert_eq!(table["j"], rows(&[("", &[("a", 750), ("b", 250)])])[""]);
    assert_eq!(table["l"], rows(&[("", &[("k", 1000)])])[""]);
    let j = world.select_from("node-j1").cluster.unwrap();
    assert_eq!((j.rule, j.pods.len()), (Rule::ZoneShares, 4));
    assert!(world.sync().is_empty());
}

#[test]
fn beyond_eight_zones_a_zone_with_endpoints_keeps_to_itself() {
    let spread = [("a", 3), ("b", 1)];
    let mut world = world(wide(), under("PreferSameZoneThenRegion")).with_pods(&spread);
    world.sync();
    let table = table(&world);
    assert_eq!(table["a"], rows(&[("", &[("a", 1000)])])[""]);
    assert_eq!(table["c"], rows(&[("", &[("a", 750), ("b", 250)])])[""]);
    assert_eq!(table.get("k"), None, "no endpoint is in its region");
    let a = world.select_from("node-a1").cluster.unwrap();
    assert_eq!((a.rule, a.pods.len()), (Rule::ZoneShares, 3), "clients follow the table");
    let k = world.select_from("node-k1").cluster.unwrap();
    assert_eq!(k.pods.len(), 4);
}

// One Pod less among fifty in each zone moves two parts in a hundred.
#[test]
fn shares_of_a_region_stay_while_they_are_good_enough() {
    let spread: Vec<(String, usize)> = ('a'..='j').map(|zone| (zone.to_string(), 50)).collect();
    let spread: Vec<(&str, usize)> = spread.iter().map(|(zone, n)| (zone.as_str(), *n)).collect();
    let mut world = world(wide(), under("PreferSameRegion")).with_pods(&spread);
    world.sync();
    let before = table(&world);
    world.remove_pods("c", 1);
    world.sync();
    assert_eq!(table(&world), before);
    world.remove_pods("c", 20);
    world.sync();
    assert_ne!(table(&world), before);
    assert!(world.sync().is_empty());
}

/// Consumers don't read a table of any length, and an API server refuses more than 256 KiB.
#[test]
fn a_table_that_nobody_would_read_is_not_written() {
    let nodes: Vec<String> = (0..200).map(|n| format!("zone-{n:04}")).collect();
    let nodes: Vec<(&str, u64)> = nodes.iter().map(|zone| (zone.as_str(), 4)).collect();
    let spread: Vec<(&str, usize)> = nodes.iter().map(|(zone, _)| (*zone, 1)).collect();
    let mut world = world(Cluster::of(&nodes), under("PreferSameRegion")).with_pods(&spread);
    let plan = world.sync();
    assert!(carriers(&world).is_empty());
    let HintOutcome::Region { groups, .. } = &plan.families[0].hints else {
        panic!("{:?}", plan.families[0].hints);
    };
    assert!(
        matches!(groups[0].shares, Err(NoShares::TableTooLong { .. })),
        "{:?}",
        groups[0].shares
    );
}

#[test]
fn a_zone_that_changes_its_region_is_noticed() {
    let mut world = world(cluster(), under("PreferSameRegion")).with_pods(&[("b", 1), ("c", 1)]);
    world.sync();
    let before = world.cluster.demand();
    world.cluster.set_region("a", "s");
    let after = world.cluster.demand();
    assert_eq!(world.auto_services.reshared(&before, &after, &world.settings).len(), 1);
    world.sync();
    assert_eq!(hints(&world, "pod-c1"), ["c", "a"]);
}

#[test]
fn a_required_zone_is_never_left() {
    let mut world = world(cluster(), under("RequireSameZone")).with_pods(&[("a", 1), ("b", 1)]);
    world.cluster.add_node("lost", None, 4);
    world.sync();
    assert_eq!(hints(&world, "pod-a1"), ["a"], "kube-proxy prefers the zone");
    let seen = |node: &str| {
        let reached = world.select_from(node).cluster.unwrap();
        (reached.rule, reached.pods.len())
    };
    assert_eq!(seen("node-a1"), (Rule::RequiredZone, 1));
    assert_eq!(seen("node-c1"), (Rule::RequiredZoneEmpty, 0));
    assert_eq!(seen("lost"), (Rule::RequiredZoneEmpty, 0));
}
