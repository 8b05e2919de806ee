//! What the controllers of Deployments, ReplicaSets and DaemonSets would do.
//!
//! Each is a function of the World as it is: it says what is to be done now, and the changes that
//! this makes bring the next look. Kubernetes' controllers keep expectations of what they have done
//! but do not see yet in their caches; here nobody looks at a key until the World has seen all that
//! was done for it, so there is nothing to expect.

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

/// Whether the namespace of an object ends, so that nothing new can be made in it.
fn is_closing(world: &World, metadata: &ObjectMeta) -> bool {
    let namespace = world.namespaces.get(namespace_of(metadata));
    namespace.is_some_and(|namespace| is_dying(&namespace.metadata))
}
