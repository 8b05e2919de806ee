//! The nouns that every part of Evenkeel shares: zones and nodes, endpoints and slices, Services,
//! Pods, and the selection a client ends up with.
//!
//! What passes between two crates lives here, already checked: ports are numbers, conditions are
//! known or said to be unknown, zones and nodes are ids. What does *not* live here: API objects
//! (crate `k8s`), decisions (crate `topology` and its sisters), and anything with a clock, a socket
//! or a task.
//!
//! ```text
//!   Service ──selects──► Pod ──becomes──► Endpoint ──is kept in──► Slice
//!      │                  │ runs on          │ hints: for which zones, for which nodes
//!      │                  ▼                  ▼
//!      └─ policy        Node ──in──► Zone   Candidate ──select──► Selection
//! ```

mod backend;
mod candidate;
mod endpoint;
mod few;
mod frontend;
mod ids;
pub mod labels;
pub mod mesh;
mod names;
mod node;
mod pod;
pub mod quantity;
mod reason;
mod report;
mod seen;
mod selection;
mod service;
mod slice;
mod snapshot;
mod zone_shares;

pub use crate::{
    backend::Backend,
    candidate::{Candidate, Selectable},
    endpoint::{Address, Conditions, Endpoint, Hints, Target},
    few::Few,
    frontend::{Cidr, ClientIpAffinity, Frontends, IpMode, LoadBalancerIp, RareFrontends},
    ids::{Id, NodeId, PodId, PortId, RegionId, ServiceId, ZoneId},
    names::{Names, Topology},
    node::{Node, OwnNode},
    pod::{ContainerPort, Pod, PodPhase},
    reason::{Reason, WithMessage, harmless},
    report::{ProxyException, ProxyReport, Revision, SeenReport, Watermark, report_interval},
    seen::{Condition, Gone, SeenPod, SeenService, SeenSlice, Version, Watched},
    selection::{HintsIgnored, Path, Routing, Rule, Selection, Share, SharesUnusable, Viewpoint},
    service::{
        Exposure, Protocol, Service, ServiceKey, ServicePort, TargetPort, TrafficPolicy, label,
    },
    slice::{AddressType, EndpointPort, Slice},
    snapshot::{
        Autoscaler, EventNote, LabelValues, PodCause, PodProblem, Revisions, ServiceState, Snapshot,
    },
    zone_shares::{MOST_SHARES_BYTES, PARTS, ShareRow, SharesAnnotation, SharesError, ZoneShares},
};
