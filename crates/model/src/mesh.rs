//! What a client of a mesh is told: listeners, routes, clusters, and the endpoints of each cluster.
//!
//! ```text
//!   Listener ──► RouteTable ──► Split ──► Cluster ──► LoadAssignment ──► Group ──► MeshEndpoint
//!       └──── (TCP) ──────────────►
//! ```
//!
//! The crate `locality` decides, the crate `xds` encodes. All lists are in the order in which they are
//! sent, so that equal decisions give equal bytes.

mod assignment;
mod cluster;
mod listener;
mod plain;
mod route;

pub use self::{
    assignment::{EndpointHealth, Group, LoadAssignment, MeshEndpoint, Tags},
    cluster::{
        Cluster, ClusterEndpoints, ConnectionLimits, FailurePercentage, HashKey, HashPolicy,
        HealthCheck, HealthCheckKind, LeastRequest, LoadBalancer, Maglev, MeshProtocol,
        OutlierDetection, RingHash, RingHashFunction, SuccessRate,
    },
    listener::{Direction, Listener, Traffic},
    plain::{Instance, InstanceState, PlainService, Selections},
    route::{
        HeaderMatch, PathMatch, QueryMatch, Route, RouteAction, RouteMatch, RouteTable, Split,
        ValueMatch,
    },
};

/// Everything that one proxy is sent, without the endpoints of its clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyConfig {
    pub clusters: Vec<std::sync::Arc<Cluster>>,
    pub listeners: Vec<std::sync::Arc<Listener>>,
    pub routes: Vec<std::sync::Arc<RouteTable>>,
}
