//! Objects as a watch brings them, with only the fields that are used.
//!
//! A Pod on the wire is some five to ten thousand characters, most of them about who set which
//! field and how its volumes are mounted. Built as a whole it takes hundreds of allocations to be
//! thrown away the next moment. These types read what becomes [`SeenPod`], `Node`,
//! [`SeenService`], [`SeenSlice`] and [`SeenReport`], and skip all else without building it. They work with
//! [`kube::Api`] and kube's watcher. Of the kinds of `kuma.io`, all of which are a [`MeshObject`], the
//! spec is kept whole.
//!
//! A list or a line of a watch is read as one: a type that is not as it should be would spoil it
//! for all the objects in it. API servers see to types, so that this does not happen. Everything
//! else is read leniently here (a missing field, `null`, a number of any size, a text with any
//! content) and checked when the object is asked for, each for itself, by the rules of
//! [`convert`](crate::convert).
//!
//! [`SeenPod`]: evenkeel_model::SeenPod
//! [`SeenReport`]: evenkeel_model::SeenReport
//! [`SeenService`]: evenkeel_model::SeenService
//! [`SeenSlice`]: evenkeel_model::SeenSlice

pub(crate) mod endpoint_slice;
pub(crate) mod lenient;

mod annotations;
mod condition;
mod lease;
mod mesh;
mod metadata;
mod node;
mod pod;
mod service;
mod written;

pub use self::{
    endpoint_slice::EndpointSlice,
    lease::Lease,
    mesh::{MeshKind, MeshObject},
    node::Node,
    pod::Pod,
    service::Service,
    written::Written,
};

use evenkeel_model::Gone;
use k8s_openapi::{
    Metadata, Resource,
    api::{coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

/// Makes a kind the same resource as its whole object, so that both are found at one address.
macro_rules! watched {
    ($($kind:ident is $whole:ty;)*) => {$(
        impl Resource for $kind {
            const API_VERSION: &'static str = <$whole as Resource>::API_VERSION;
            const GROUP: &'static str = <$whole as Resource>::GROUP;
            const KIND: &'static str = <$whole as Resource>::KIND;
            const VERSION: &'static str = <$whole as Resource>::VERSION;
            const URL_PATH_SEGMENT: &'static str = <$whole as Resource>::URL_PATH_SEGMENT;
            type Scope = <$whole as Resource>::Scope;
        }

        /// Only name, namespace, uid and resource version are there.
        impl Metadata for $kind {
            type Ty = ObjectMeta;

            fn metadata(&self) -> &ObjectMeta {
                &self.metadata.object
            }

            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata.object
            }
        }

        impl $kind {
            /// The object, as one that was deleted.
            pub fn gone(&self) -> Gone {
                self.metadata.gone()
            }
        }
    )*};
}

watched! {
    Pod is core::Pod;
    Node is core::Node;
    Service is core::Service;
    EndpointSlice is discovery::EndpointSlice;
    Lease is coordination::Lease;
}
