//! Which slices are written when endpoints are hinted for each other's zones.

use evenkeel_model::Hints;
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::{MoveReason, Plan, Settings};

/// Two equal zones with 20 Pods each in four slices of 10: zone a's, then zone b's. So many pairs
/// of endpoints are hinted for each other's zone.
fn world(swaps: usize) -> World {
    let settings = Settings { max_endpoints_per_slice: 10, ..Settings::default() };
    let mut world = World::new(Cluster::equal_zones(2), service("web").auto(), settings)
        .with_pods(&[("a", 20), ("b", 20)]);
    world.sync();
    assert_eq!((world.slices.len(), away(&world)), (4, 0));
    for number in 1..=swaps {
        let (one, other) = (format!("pod-a{number}"), format!("pod-b{number}"));
        let (a, b) = (world.endpoint_mut(&one).zone, world.endpoint_mut(&other).zone);
        world.endpoint_mut(&one).hints = b.map(Hints::zone);
        world.endpoint_mut(&other).hints = a.map(Hints::zone);
    }
    world
}

fn away(world: &World) -> usize {
    world.endpoints().filter(|e| e.zone_hints().first() != e.zone.as_ref()).count()
}

fn reasons(plan: &Plan) -> Vec<&MoveReason> {
    plan.families.iter().flat_map(|family| &family.moves).map(|one| &one.why).collect()
}

#[test]
fn within_the_threshold_no_slice_is_written_for_locality() {
    let mut world = world(2);
    assert!(world.sync().is_empty());
    assert_eq!(away(&world), 4);
}

#[test]
fn beyond_the_threshold_slices_are_written_for_locality() {
    let mut world = world(3);
    let plan = world.sync();
    assert!(!plan.update.is_empty());
    assert_eq!((plan.create.len(), plan.delete.len()), (0, 0));
    assert!(away(&world) <= 2, "half of what is allowed");
    assert!(!reasons(&plan).is_empty());
    assert!(reasons(&plan).iter().all(|why| **why == MoveReason::Locality), "{plan:?}");
    assert!(world.sync().is_empty());
}

// The swaps are spread over four slices; two of them are written.
#[test]
fn a_swap_is_dissolved_half_by_half_as_its_slices_are_written() {
    let mut world = world(2);
    let slice_of = |world: &World, pod: &str| {
        let named =
            |e: &&evenkeel_model::Endpoint| e.target.as_ref().is_some_and(|t| &*t.name == pod);
        let mut slices = world.slices.iter();
        slices.find(|s| s.endpoints.iter().any(|e| named(&e))).expect("it is there").name.clone()
    };
    assert_ne!(slice_of(&world, "pod-a1"), slice_of(&world, "pod-b1"));
    for (pod, left) in [("pod-a1", 3), ("pod-b1", 2)] {
        let touched = slice_of(&world, pod);
        let replaced = world.pods.iter().position(|p| {
            slice_of(&world, &p.name) == touched && away_pod(&world, &p.name) == Some(false)
        });
        let zone = &pod[4..5];
        world.pods.remove(replaced.expect("most are at home"));
        world.add_pods(zone, 1);
        let plan = world.sync();
        let names: Vec<&str> = plan.update.iter().map(|s| &*s.name).collect();
        assert_eq!(names, [&*touched], "one slice takes the new Pod");
        assert_eq!(away(&world), left);
    }
}

fn away_pod(world: &World, pod: &str) -> Option<bool> {
    let mut endpoints = world.endpoints();
    let found = endpoints.find(|e| e.target.as_ref().is_some_and(|t| &*t.name == pod))?;
    Some(found.zone_hints().first() != found.zone.as_ref())
}

// Zone a has three quarters of the CPU then, and needs 24 endpoints of 40.
#[test]
fn a_minimum_writes_as_few_slices_as_it_can_and_dissolves_nothing_elsewhere() {
    let mut world = world(2);
    world.cluster.add_node("node-a2", Some("a"), 4);
    world.cluster.add_node("node-a3", Some("a"), 4);
    let plan = world.sync();
    assert_eq!(plan.update.len(), 1, "four of ten endpoints");
    assert_eq!(world.hinted(), [("a", 24), ("b", 16)]);
    assert!(world.sync().is_empty());
}
