//! A node, as far as zone capacity and endpoint zones need it.

use crate::{NodeId, RegionId, ZoneId};

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
