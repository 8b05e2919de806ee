//! Explanations: what they count, what they show, and what they advise.

mod advice;
mod checks;
mod cost;
mod hints;
mod views;
mod warnings;

use std::fmt::Debug;

use evenkeel_model::{Service, ServiceState, Snapshot};
use evenkeel_testkit::{Cluster, World};
use evenkeel_topology::{
    Settings,
    explain::{Explanation, From, explain},
};

/// A world whose controller has done its work.
fn settled(cluster: Cluster, service: Service, spread: &[(&str, usize)]) -> World {
    let mut world = World::new(cluster, service, Settings::default()).with_pods(spread);
    world.sync();
    world
}

/// One ready endpoint in each of three equal zones.
fn even(service: Service) -> World {
    settled(Cluster::equal_zones(3), service, &[("a", 1), ("b", 1), ("c", 1)])
}

fn state(world: &World) -> ServiceState {
    ServiceState {
        service: world.service.clone(),
        slices: world.slices.clone(),
        pods: world.pods.clone(),
        events: Vec::new(),
        autoscaler: None,
    }
}

fn explained(world: &World) -> Explanation {
    explained_as(world, &state(world), &From::default())
}

fn explained_as(world: &World, state: &ServiceState, from: &From) -> Explanation {
    let snapshot = Snapshot {
        topology: world.cluster.topology.clone(),
        nodes: world.cluster.nodes.clone(),
        ..Snapshot::default()
    };
    explain(&snapshot, state, from, &world.settings)
}

/// The name of an enum's variant: the code that reasons serialise with.
fn code(reason: &impl Debug) -> String {
    let text = format!("{reason:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}
