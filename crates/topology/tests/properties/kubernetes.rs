//! Where today's Kubernetes writes slices at every sync, though nothing changes: the smallest
//! examples. The default profile settles.

use evenkeel_model::{Few, Hints};
use evenkeel_testkit::{Cluster, ServiceExt, World, profiles, service};

/// Slices written by a second and a third sync, in the default and in the kubernetes profile.
fn check(build: impl Fn(World) -> World, cluster: &Cluster, writes: [usize; 2]) {
    for ((profile, mut settings), writes) in profiles().into_iter().zip(writes) {
        settings.max_endpoints_per_slice = 1;
        let mut world = build(World::new(cluster.clone(), service("web").auto(), settings));
        world.sync();
        for _ in 0..2 {
            assert_eq!(world.sync().update.len(), writes, "{profile}");
        }
    }
}

// The endpoint is hinted for its own zone, which nobody asks from; such a hint never fits.
#[test]
fn an_endpoint_in_a_zone_without_ready_nodes() {
    let mut cluster = Cluster::equal_zones(2);
    cluster.add_node("node-c1", Some("c"), 4).ready = false;
    let build = |world: World| world.with_pods(&[("a", 2), ("b", 1), ("c", 1)]);
    check(build, &cluster, [0, 1]);
}

// Zone b needs 2 of 5 endpoints and is given 1, since half an endpoint stays where it is. So zone a
// has one more than it may have.
#[test]
fn a_zone_that_is_left_below_its_minimum() {
    let cluster = Cluster::of(&[("a", 5), ("b", 2)]);
    let build = |world: World| world.with_pods(&[("a", 5)]);
    check(build, &cluster, [0, 1]);
}

// A hint for two zones, by another hand, stays and counts twice: the other endpoint is one too many.
#[test]
fn an_endpoint_hinted_for_two_zones() {
    let build = |world: World| {
        let mut world = world.with_pods(&[("a", 2)]);
        world.sync();
        let zones = &world.cluster.topology.zones;
        let both = ["a", "b"].iter().filter_map(|zone| zones.find(zone));
        let hints = Hints { zones: both.collect(), nodes: Few::None };
        world.endpoint_mut("pod-a1").hints = Some(hints);
        world
    };
    check(build, &Cluster::equal_zones(2), [0, 1]);
}

// The zone is missed only after all slices were marked for writing.
#[test]
fn an_endpoint_without_zone() {
    let mut cluster = Cluster::equal_zones(2);
    cluster.add_node("node-x1", Some("x"), 4).ready = false;
    let build = |world: World| {
        let mut world = world.with_pods(&[("a", 2), ("b", 1), ("x", 1)]);
        world.cluster.nodes[2].zone = None;
        world
    };
    check(build, &cluster, [0, 4]);
}
