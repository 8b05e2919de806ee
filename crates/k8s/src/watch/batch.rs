//! The kinds that can be followed, and the changes of them.

use std::fmt::Debug;

use evenkeel_model::{Gone, Watched};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::watched;

/// A kind that can be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    Nodes,
    Pods,
    Services,
    EndpointSlices,
    /// Those with the reports of proxies.
    Leases,
}

/// Changes that a watch received, in order.
#[derive(Debug)]
pub enum Batch {
    Nodes(Vec<Watched<watched::Node>>),
    Pods(Vec<Watched<watched::Pod>>),
    Services(Vec<Watched<watched::Service>>),
    Slices(Vec<Watched<watched::EndpointSlice>>),
    Leases(Vec<Watched<watched::Lease>>),
}

/// A batch, and when its first change was read from the connection.
#[derive(Debug)]
pub struct Received {
    pub at: Instant,
    pub batch: Batch,
}

/// What a watch has to know of its kind.
pub(super) trait Followed:
    kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static
{
    const RESOURCE: Resource;

    fn gone(&self) -> Gone;
    fn batch(changes: Vec<Watched<Self>>) -> Batch;
}

macro_rules! followed {
    ($($kind:ident is $resource:ident in $batch:ident;)*) => {$(
        impl Followed for watched::$kind {
            const RESOURCE: Resource = Resource::$resource;

            fn gone(&self) -> Gone {
                watched::$kind::gone(self)
            }

            fn batch(changes: Vec<Watched<Self>>) -> Batch {
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

// === impl Resource ===

impl Resource {
    pub const ALL: [Resource; 5] = [
        Resource::Nodes,
        Resource::Pods,
        Resource::Services,
        Resource::EndpointSlices,
        Resource::Leases,
    ];

    /// As in the paths of the API.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Nodes => "nodes",
            Resource::Pods => "pods",
            Resource::Services => "services",
            Resource::EndpointSlices => "endpointslices",
            Resource::Leases => "leases",
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
        }
    }
}
