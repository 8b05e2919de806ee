//! Explanations: what they count, what they show, and what they advise.

#![expect(clippy::unwrap_used, reason = "tests")]

mod advice;
mod checks;
mod cost;
mod hints;
mod own;
mod shares;
mod views;
mod warnings;

use std::fmt::Debug;

use evenkeel_model::{Service, ServiceState, Snapshot};
use evenkeel_testkit::{Cluster, World};
use evenkeel_topology::{
    Environment, Profile, Settings,
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
        slices: world.slices.clone(),
        pods: world.pods.clone(),
        ..ServiceState::new(world.service.clone())
    }
}

fn explained(world: &World) -> Explanation {
    explained_as(world, &state(world), &From::default())
}

fn explained_as(world: &World, state: &ServiceState, from: &From) -> Explanation {
    let environment = Environment::fixed(Profile::Evenkeel, &world.settings);
    explain(&snapshot(world), state, from, &environment)
}

fn explained_in(world: &World, state: &ServiceState, environment: &Environment) -> Explanation {
    explain(&snapshot(world), state, &From::default(), environment)
}

fn snapshot(world: &World) -> Snapshot {
    Snapshot {
        topology: world.cluster.topology.clone(),
        nodes: world.cluster.nodes.clone(),
        ..Snapshot::default()
    }
}

/// The name of an enum's variant: the code that reasons serialise with.
fn code(reason: &impl Debug) -> String {
    let text = format!("{reason:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}
