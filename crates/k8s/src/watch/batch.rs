//! The kinds that can be followed, and the changes of them.

use std::fmt::Debug;

use evenkeel_model::{Gone, Watched};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::watched::{self, MeshKind, MeshObject};

/// A kind that can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    Nodes,
    Pods,
    Services,
    EndpointSlices,
    /// Those with the reports of proxies.
    Leases,
    /// Custom resources, whose definition may not be installed.
    Mesh(MeshKind),
}

/// Changes that a watch received, in order.
#[derive(Debug)]
pub enum Batch {
    Nodes(Vec<Watched<watched::Node>>),
    Pods(Vec<Watched<watched::Pod>>),
    Services(Vec<Watched<watched::Service>>),
    Slices(Vec<Watched<watched::EndpointSlice>>),
    Leases(Vec<Watched<watched::Lease>>),
    Mesh(MeshKind, Vec<Watched<MeshObject>>),
}

/// A batch, and when its first change was read from the connection.
#[derive(Debug)]
pub struct Received {
    pub at: Instant,
    pub batch: Batch,
}

/// What a watch has to know of its kind.
pub(super) trait Followed:
    kube::Resource<DynamicType: Copy + Send + Sync>
    + Clone
    + DeserializeOwned
    + Debug
    + Send
    + Sync
    + 'static
{
    fn resource(kind: Self::DynamicType) -> Resource;
    fn gone(&self) -> Gone;
    fn batch(kind: Self::DynamicType, changes: Vec<Watched<Self>>) -> Batch;
}

macro_rules! followed {
    ($($kind:ident is $resource:ident in $batch:ident;)*) => {$(
        impl Followed for watched::$kind {
            fn resource((): ()) -> Resource {
                Resource::$resource
            }

            fn gone(&self) -> Gone {
                watched::$kind::gone(self)
            }

            fn batch((): (), changes: Vec<Watched<Self>>) -> Batch {
                Batch::$batch(changes)
            }
        }
    )*};
}

followed! {
    Node is Nodes in Nodes;
    Pod is Pods in Pods;
    Service is Services in Services;
    EndpointSlice is EndpointSlices in Slices;
    Lease is Leases in Leases;
}

impl Followed for MeshObject {
    fn resource(kind: MeshKind) -> Resource {
        Resource::Mesh(kind)
    }

    fn gone(&self) -> Gone {
        MeshObject::gone(self)
    }

    fn batch(kind: MeshKind, changes: Vec<Watched<Self>>) -> Batch {
        Batch::Mesh(kind, changes)
    }
}

// === impl Resource ===

impl Resource {
    /// Those that every API server has.
    const BUILT_IN: [Resource; 5] = [
        Resource::Nodes,
        Resource::Pods,
        Resource::Services,
        Resource::EndpointSlices,
        Resource::Leases,
    ];

    pub fn all() -> impl Iterator<Item = Resource> {
        let mesh = MeshKind::ALL.into_iter().map(Resource::Mesh);
        Resource::BUILT_IN.into_iter().chain(mesh)
    }

    /// The definition without which there is no such kind.
    pub fn definition(self) -> Option<String> {
        match self {
            Resource::Mesh(kind) => Some(kind.definition()),
            _ => None,
        }
    }

    /// As in the paths of the API.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Nodes => "nodes",
            Resource::Pods => "pods",
            Resource::Services => "services",
            Resource::EndpointSlices => "endpointslices",
            Resource::Leases => "leases",
            Resource::Mesh(kind) => kind.plural(),
        }
    }

    /// The name of the task that follows it.
    pub(super) fn task(self) -> &'static str {
        match self {
            Resource::Nodes => "watcher-nodes",
            Resource::Pods => "watcher-pods",
            Resource::Services => "watcher-services",
            Resource::EndpointSlices => "watcher-endpointslices",
            Resource::Leases => "watcher-leases",
            Resource::Mesh(kind) => kind.task(),
        }
    }
}
