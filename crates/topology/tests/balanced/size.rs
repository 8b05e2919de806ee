//! A thousand zones, and what one decision allocates.

use evenkeel_model::PARTS;
use evenkeel_testkit::Cluster;
use evenkeel_topology::{
    auto::ZoneCounts,
    balanced::{Tuning, decide, why},
    demand,
};

/// Zones of many sizes in regions of ten, where every third has no endpoint.
fn zones(n: u32) -> (Cluster, ZoneCounts) {
    let mut cluster = Cluster::default();
    let mut counts = ZoneCounts::default();
    for i in 0..n {
        let region = cluster.topology.regions.intern(&format!("region-{}", i / 10));
        let name = format!("zone-{i:04}");
        cluster.add_node(&name, Some(&name), u64::from(1 + i * 7 % 13)).region = Some(region);
        counts.add(cluster.topology.zones.intern(&name), if i % 3 == 0 { 0 } else { 1 + i % 5 });
    }
    (cluster, counts)
}

#[test]
fn a_thousand_zones_are_decided() {
    let (cluster, ready) = zones(1000);
    let demand = demand(&cluster.nodes, &cluster.topology);
    let tuning = Tuning::default();
    let decision = decide(&demand, &ready, None, false, &tuning);
    let shares = decision.shares.as_ref().unwrap();
    assert_eq!(shares.rows().len(), 1000);
    for row in shares.rows() {
        assert_eq!(row.parts.iter().map(|(_, part)| part).sum::<u16>(), PARTS);
    }
    assert!(decide(&demand, &ready, Some(shares), false, &tuning).kept);
    assert!(why(shares, &demand, &ready, 0.0).len() > 300);
}

/// The table has a list of rows and a list of parts for each; beside that only a few lists are made.
#[test]
fn a_decision_allocates_little_beyond_its_table() {
    let (cluster, ready) = zones(10);
    let demand = demand(&cluster.nodes, &cluster.topology);
    let tuning = Tuning::default();
    let decision = decide(&demand, &ready, None, false, &tuning);
    let again = || decide(&demand, &ready, decision.shares.as_ref(), false, &tuning);
    let allocations = allocation_counter::measure(|| drop(again())).count_total;
    assert!(allocations <= 20, "{allocations} allocations for ten rows");
}
