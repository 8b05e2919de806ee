//! What decisions cost in memory. (What they cost in time: `cargo xtask bench topology`.)

use std::borrow::Cow;

use allocation_counter::{AllocationInfo, measure};
use evenkeel_model::{AddressType, Candidate, Exposure, Routing, Slice, TrafficPolicy, Viewpoint};
use evenkeel_testkit::{Cluster, World, endpoint, pod, service, slice};
use evenkeel_topology::{
    Draft, Role, Settings,
    auto::{self, bounds, least_change},
    select,
};

const FAMILY: AddressType = AddressType::IPv4;

/// A slice of `n` endpoints, spread over the zones of the cluster.
fn slice_of(cluster: &Cluster, n: usize) -> Slice {
    let service = service("web");
    let endpoints = (0..n).map(|i| {
        let node = &cluster.nodes[i % cluster.nodes.len()];
        let hints = node.zone.map(evenkeel_model::Hints::zone);
        endpoint(&pod(&format!("pod-{i}"), node.id, i), FAMILY, node.zone, hints)
    });
    slice(&service, "web-1", FAMILY, endpoints.collect())
}

fn select_cost(n: usize, exposure: Exposure) -> AllocationInfo {
    let cluster = Cluster::equal_zones(3);
    let candidates: Vec<Candidate> =
        slice_of(&cluster, n).endpoints.iter().map(Candidate::from).collect();
    let node = &cluster.nodes[0];
    let from = Viewpoint { node: Some(node.id), zone: node.zone };
    let settings = Settings::default();
    measure(|| {
        std::hint::black_box(select(from, exposure, &candidates, Routing::Hints, &settings));
    })
}

#[test]
fn selection_allocates_nothing_but_its_result() {
    for n in [10, 1_000, 10_000] {
        let cost = select_cost(n, Exposure::default());
        assert_eq!(cost.count_total, 1, "{n} endpoints: one list");
        // Eight bytes for each endpoint chosen: a third of all.
        assert_eq!(cost.bytes_total, 8 * n.div_ceil(3) as u64, "{n} endpoints");
    }
    let local = Exposure { internal: TrafficPolicy::Local, external: None };
    assert_eq!(select_cost(10_000, local).count_total, 1, "one list, of the local endpoints");
}

#[test]
fn allocation_needs_no_memory_for_each_endpoint_beyond_its_result() {
    let cluster = Cluster::equal_zones(3);
    let capacity = cluster.measure(&Settings::default()).expect("three zones");
    let cost = |n: u32| {
        let home = |i| u16::try_from(i % 3).expect("small");
        let places: Vec<_> =
            (0..n).map(|i| least_change::Position { home: home(i), hinted: u16::MAX }).collect();
        let bounds = bounds(&capacity, n, 0.2).expect("enough");
        measure(|| {
            std::hint::black_box(least_change::assign(&places, &bounds));
        })
    };
    let (small, large) = (cost(999), cost(99_999));
    assert_eq!(small.count_total, large.count_total);
    assert_eq!(large.bytes_total - small.bytes_total, 2 * (99_999 - 999), "two bytes each");
}

/// 5,000 Services with 100,000 endpoints in all on 5,000 nodes: endpoints, nodes and hints.
#[test]
fn a_large_cluster_fits_into_200_megabytes() {
    let cost = measure(|| {
        let mut cluster = Cluster::default();
        for i in 0..5_000 {
            cluster.add_node(&format!("node-{i}"), Some(["a", "b", "c"][i % 3]), 4);
        }
        let settings = Settings::default();
        let capacity = cluster.measure(&settings).expect("three zones");
        let slices: Vec<Slice> = (0..5_000).map(|_| slice_of(&cluster, 20)).collect();
        for slice in &slices {
            let mut drafts = [Draft { role: Role::Unchanged, slice: Cow::Borrowed(slice) }];
            auto::assign(&mut drafts, Ok(&capacity), true, &settings).expect("enough");
        }
    });
    let megabytes = cost.bytes_max as f64 / 1e6;
    assert!(megabytes < 200.0, "{megabytes} MB");
}

#[test]
fn planning_what_is_unchanged_copies_no_slice() {
    let mut world = World::new(Cluster::equal_zones(3), service("web"), Settings::default())
        .with_pods(&[("a", 100), ("b", 100), ("c", 100)]);
    world.sync();
    let cost = measure(|| {
        let plan = world.plan();
        assert!(plan.is_empty());
    });
    // Desired endpoints are built once, with shared strings; nothing else grows with them.
    assert!(cost.count_total < 300 * 8, "{cost:?}");
}
