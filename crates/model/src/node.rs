//! A node, as far as zone capacity, endpoint zones and its proxy need it.

use core::net::IpAddr;
use std::sync::Arc;

use crate::{Cidr, NodeId, RegionId, ZoneId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: NodeId,
    /// From the label `topology.kubernetes.io/zone`; an empty label is no zone.
    pub zone: Option<ZoneId>,
    /// From the label `topology.kubernetes.io/region`; an empty label is no region.
    pub region: Option<RegionId>,
    /// Allocatable CPU in thousandths of a core; 0 when the node does not report it.
    pub cpu_milli: u64,
    /// The Ready condition is true. Unknown and missing count as not ready.
    pub ready: bool,
    /// Carries a control-plane role label, with any value.
    pub control_plane: bool,
}

/// What the proxy of a node must know of its Node beside its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnNode {
    pub uid: Arc<str>,
    /// Of type InternalIP, then ExternalIP, in the order of the status.
    pub addresses: Vec<IpAddr>,
    /// `spec.podCIDRs`.
    pub pod_ranges: Vec<Cidr>,
    /// It is being deleted, or the cluster autoscaler is about to: load balancers must stop using it.
    pub is_leaving: bool,
}
