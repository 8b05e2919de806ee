//! Simulates the controllers of Deployments, ReplicaSets and DaemonSets.
//!
//! Each is a function of the current World: it returns the actions to take now, and the resulting
//! changes cause the next call. Kubernetes' controllers keep expectations of actions not yet
//! visible in their caches; here a key is not examined until the World has seen the results of all
//! its actions, so no expectations are needed.

mod claim;
pub(super) mod daemon_set;
pub(super) mod deployment;
mod making;
mod pods;
pub(super) mod replica_set;
mod share;
#[cfg(test)]
mod simulated;
mod template;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::world::{World, is_dying, namespace_of};

/// Whether the namespace of an object is terminating, so that nothing can be created in it.
fn is_closing(world: &World, metadata: &ObjectMeta) -> bool {
    let namespace = world.namespaces.get(namespace_of(metadata));
    namespace.is_some_and(|namespace| is_dying(&namespace.metadata))
}
