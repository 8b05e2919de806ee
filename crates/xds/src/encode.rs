//! The shared types of the mesh as Envoy's messages, encoded.
//!
//! Equal values give equal bytes, on every replica, because versions are hashes of them. prost keeps maps
//! in hash tables, whose order differs from run to run. Load assignments, whose metadata has maps with
//! many keys, are therefore written by hand; no other message holds a map with more than one key.
//!
//! What Envoy would refuse is not produced: numbers are brought into the bounds of its API. Whether names
//! and regular expressions make sense is for the validation of policies, and in the end for Envoy.

mod assignment;
mod cluster;
mod health;
mod listener;
mod route;
mod values;

use std::sync::Arc;

use prost::Message;

pub use self::{
    assignment::{load_assignment, no_endpoints},
    cluster::cluster,
    listener::listener,
    route::route_table,
};
use crate::resource::{Resource, ResourceType};

fn resource(kind: ResourceType, name: &Arc<str>, message: &impl Message) -> Resource {
    Resource::new(kind, name.clone(), &message.encode_to_vec())
}
