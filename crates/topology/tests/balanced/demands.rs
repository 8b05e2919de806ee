//! What each zone is expected to send.

use evenkeel_model::{Node, RegionId};
use evenkeel_testkit::Cluster;
use proptest::prelude::*;

use crate::{
    generate::{case, config},
    support::demand_of,
};

/// Zones with their regions, parts in percent and counted Nodes.
fn shown(cluster: &Cluster) -> Vec<String> {
    let demand = demand_of(cluster);
    let zone = |zone: &evenkeel_topology::ZoneDemand| {
        let region = demand.region_name(zone.region).unwrap();
        assert_eq!(demand.region_of(zone.zone), zone.region);
        format!("{}@{region} {:.1} % of {}", zone.name, zone.part * 100.0, zone.nodes)
    };
    demand.zones().iter().map(zone).collect()
}

/// Nodes `n0`, `n1`, …: zone, cores.
fn nodes(nodes: &[(Option<&str>, u64)]) -> Cluster {
    let mut cluster = Cluster::default();
    for (i, &(zone, cores)) in nodes.iter().enumerate() {
        cluster.add_node(&format!("n{i}"), zone, cores);
    }
    cluster
}

fn change(cluster: &mut Cluster, node: usize, change: impl Fn(&mut Node)) {
    change(&mut cluster.nodes[node]);
}

#[test]
fn a_zone_sends_by_its_cpu() {
    let cluster = nodes(&[(Some("b"), 2), (Some("a"), 4), (Some("b"), 2), (Some("c"), 8)]);
    assert_eq!(shown(&cluster), ["a@ 25.0 % of 1", "b@ 25.0 % of 2", "c@ 50.0 % of 1"]);
}

#[test]
fn nodes_without_cpu_count_as_the_mean_of_the_others() {
    let cluster = nodes(&[(Some("a"), 2), (Some("a"), 0), (Some("b"), 6)]);
    assert_eq!(shown(&cluster), ["a@ 50.0 % of 2", "b@ 50.0 % of 1"]);
    let cluster = nodes(&[(Some("a"), 0), (Some("a"), 0), (Some("b"), 0), (Some("b"), 0)]);
    assert_eq!(shown(&cluster), ["a@ 50.0 % of 2", "b@ 50.0 % of 2"]);
}

#[test]
fn zones_whose_nodes_do_not_count_send_nothing_and_stay() {
    let mut cluster = nodes(&[(Some("a"), 4), (Some("b"), 4), (Some("c"), 4)]);
    change(&mut cluster, 1, |node| node.ready = false);
    change(&mut cluster, 2, |node| node.control_plane = true);
    assert_eq!(shown(&cluster), ["a@ 100.0 % of 1", "b@ 0.0 % of 0", "c@ 0.0 % of 0"]);
}

#[test]
fn if_no_node_counts_all_do() {
    let mut cluster = nodes(&[(Some("a"), 4), (Some("b"), 12), (None, 4)]);
    change(&mut cluster, 0, |node| node.ready = false);
    change(&mut cluster, 1, |node| node.control_plane = true);
    assert_eq!(shown(&cluster), ["a@ 25.0 % of 1", "b@ 75.0 % of 1"]);
}

#[test]
fn nodes_without_a_zone_do_not_count() {
    let cluster = nodes(&[(None, 40), (Some("a"), 4), (Some(""), 8), (Some("b"), 4)]);
    assert_eq!(shown(&cluster), ["a@ 50.0 % of 1", "b@ 50.0 % of 1"]);
    assert_eq!(shown(&nodes(&[(None, 4)])), [] as [&str; 0]);
    assert_eq!(shown(&nodes(&[])), [] as [&str; 0]);
}

#[test]
fn a_zone_is_in_the_region_of_most_of_its_nodes() {
    let mut cluster = nodes(&[(Some("a"), 1); 5]);
    cluster.add_node("n5", Some("b"), 5);
    let [us, eu] = ["us", "eu"].map(|name| cluster.topology.regions.intern(name));
    let with = |regions: [Option<RegionId>; 5]| {
        let mut cluster = cluster.clone();
        for (node, region) in cluster.nodes.iter_mut().zip(regions) {
            node.region = region;
        }
        shown(&cluster)[0].split(' ').next().unwrap().to_owned()
    };
    assert_eq!(with([Some(us), Some(us), Some(eu), None, None]), "a@us");
    assert_eq!(with([Some(us), Some(us), Some(eu), Some(eu), None]), "a@eu", "the first by name");
    assert_eq!(with([None, None, None, None, Some(us)]), "a@us", "those without don't count");
    assert_eq!(with([None; 5]), "a@");
}

#[test]
fn the_largest_cpu_is_no_problem() {
    let mut cluster = nodes(&[(Some("a"), 1), (Some("b"), 0), (Some("c"), 1)]);
    change(&mut cluster, 0, |node| node.cpu_milli = u64::MAX);
    change(&mut cluster, 2, |node| node.cpu_milli = u64::MAX);
    assert_eq!(shown(&cluster), ["a@ 33.3 % of 1", "b@ 33.3 % of 1", "c@ 33.3 % of 1"]);
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn parts_sum_to_one(case in case()) {
        let demand = case.build().demand;
        let sum: f64 = demand.zones().iter().map(|zone| zone.part).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        prop_assert_eq!(demand.zones().len(), case.zones.len());
        prop_assert!(demand.zones().is_sorted_by_key(|zone| &zone.name));
    }
}
