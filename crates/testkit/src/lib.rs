//! Small worlds for tests: a cluster, one Service, its Pods and its slices.
//!
//! ```text
//!   Cluster ──┐
//!   Service ──┼──► World ──sync──► slices ──select_from(node)──► Reached
//!   Pods   ───┘      └─ one round of a controller: plan, apply, note in the auto_services
//! ```
//!
//! Names follow a scheme: zone `a` has the nodes `node-a1`, `node-a2`, … and the Pods `pod-a1`,
//! `pod-a2`, …. What is *not* here: random inputs (the property tests generate their own), API
//! objects, and decisions. [`netns`] has hosts with real traffic, in network namespaces. [`envoy`] runs
//! a real Envoy, [`process`] any program. [`sim`] simulates a whole cluster's API server in virtual time. For
//! `[dev-dependencies]` only.

mod apply;
mod cluster;
mod endpoint;
pub mod envoy;
pub mod netns;
pub mod process;
pub mod reference;
pub mod requests;
mod service;
pub mod sim;
mod world;

pub use crate::{
    apply::apply,
    cluster::Cluster,
    endpoint::{endpoint, pod, slice},
    service::{ServiceExt, service},
    world::{Reached, View, World},
};

use evenkeel_topology::Settings;

/// Both profiles, with their names.
pub fn profiles() -> [(&'static str, Settings); 2] {
    [("default", Settings::default()), ("kubernetes", Settings::kubernetes())]
}
