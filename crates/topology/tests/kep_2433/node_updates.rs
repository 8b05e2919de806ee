//! "Handling Node Updates": slices are looked at again only when a node change carries a Service
//! over a threshold, in either direction.

use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{HintEvent, Settings, overload::Resync};

struct Expected {
    resync: Option<Resync>,
    events: usize,
    hinted: &'static [(&'static str, usize)],
}

/// Brings a Service up to date, changes the nodes, and follows what the auto_services asks for.
fn check(mut world: World, change: impl Fn(&mut Cluster), expected: &Expected) {
    world.sync();
    assert!(world.plan().is_empty());
    change(&mut world.cluster);
    let resync = world.resync();
    assert_eq!(resync, expected.resync);
    let events: Vec<HintEvent> = match resync {
        Some(_) => world.sync().events,
        None => Vec::new(),
    };
    assert_eq!(events.len(), expected.events, "{events:?}");
    assert_eq!(world.hinted(), expected.hinted);
    assert_eq!(world.resync(), None);
}

fn world(nodes: &[(&str, u64)], pods: &[(&str, usize)], settings: Settings) -> World {
    World::new(Cluster::of(nodes), service("web").auto(), settings).with_pods(pods)
}

/// Four cores in each of two zones; those of zone b on two nodes, the second without Pods.
fn before_deletion(settings: Settings) -> World {
    let mut world = world(&[("a", 4), ("b", 1)], &[("a", 4), ("b", 4)], settings);
    world.cluster.add_node("node-b2", Some("b"), 3);
    world
}

fn delete_node(cluster: &mut Cluster) {
    cluster.remove_node("node-b2");
}

// 1. A deleted Node results in a Service exceeding the overload threshold.
#[test]
fn a_deleted_node_that_exceeds_the_threshold_causes_a_sync() {
    let expected =
        Expected { resync: Some(Resync::Overloaded), events: 0, hinted: &[("a", 5), ("b", 3)] };
    check(before_deletion(Settings::default()), delete_node, &expected);
    let kubernetes = Expected { hinted: &[("a", 6), ("b", 2)], ..expected };
    check(before_deletion(Settings::kubernetes()), delete_node, &kubernetes);
}

/// Zone a has twice the cores of zone b, and there are only two endpoints.
fn before_addition(settings: Settings) -> World {
    world(&[("a", 4), ("b", 2)], &[("a", 1), ("b", 1)], settings)
}

fn add_node(cluster: &mut Cluster) {
    cluster.add_node("node-b2", Some("b"), 2);
}

// 2. A new Node results in a Service that is able to achieve an endpoint distribution below 20%
//    for the first time.
#[test]
fn a_new_node_that_makes_hints_possible_causes_a_sync() {
    let expected =
        Expected { resync: Some(Resync::NowPossible), events: 1, hinted: &[("a", 1), ("b", 1)] };
    check(before_addition(Settings::default()), add_node, &expected);
}

#[test]
fn todays_kubernetes_leaves_such_a_service_alone() {
    let expected = Expected { resync: None, events: 0, hinted: &[] };
    check(before_addition(Settings::kubernetes()), add_node, &expected);
}

// "Below 20%": what is enough to keep hints is not enough to give them.
#[test]
fn a_new_node_that_makes_hints_possible_only_within_the_keep_threshold_causes_none() {
    let spread = [("a", 4), ("b", 4), ("c", 3)];
    let before = world(&[("a", 4), ("b", 4), ("c", 1)], &spread, Settings::default());
    let add_node = |cluster: &mut Cluster| {
        cluster.add_node("node-c2", Some("c"), 3);
    };
    check(before, add_node, &Expected { resync: None, events: 0, hinted: &[] });
}
