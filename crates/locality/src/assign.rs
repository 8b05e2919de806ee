//! From the endpoints of a service to groups with priorities and weights, for one client.
//!
//! Source: Kuma's decision record 031 (locality-aware load balancing). An endpoint of the client's
//! zone has priority 0. It joins the first affinity tag of which it has the client's value, or the
//! rest of the zone, with weight 1. An endpoint of another zone takes the first failover rule that
//! is for the client's zone and accepts the endpoint's; its priority is the rule's position. Without
//! a rule it is left out. What a zone gets is decided once for the zone.
//!
//! With e endpoints in z zones, r rules and t tags: O(e · (t + log e) + z · r). Memory is that of
//! the groups; reasons are one for each zone or tag, never one for each endpoint.

mod duplicates;
mod group;
mod place;
mod reason;
mod topology;
mod zone;

use std::sync::Arc;

use evenkeel_model::mesh::{LoadAssignment, MeshEndpoint};

pub(crate) use self::topology::assign_selected;
pub use self::{
    place::{Client, Place},
    reason::AssignReason,
};
use crate::Strategy;

/// What a client is told about a service, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assigned {
    pub assignment: LoadAssignment,
    /// Envoy must be told that weights of groups count.
    pub locality_weighted: bool,
    /// First of the groups, in their order; then of what was left out.
    pub reasons: Vec<AssignReason>,
}

/// Groups the endpoints for a client. Their order says nothing.
pub fn assign(client: &Client, endpoints: &[Arc<MeshEndpoint>], strategy: &Strategy) -> Assigned {
    assign_at(&Place::of(client, strategy), endpoints, strategy)
}

/// Groups the endpoints for all clients at a place. The place must be one of this strategy.
pub fn assign_at(place: &Place, endpoints: &[Arc<MeshEndpoint>], strategy: &Strategy) -> Assigned {
    let (groups, reasons) = group::groups(place, endpoints, strategy);
    let overprovisioning_factor = match strategy {
        Strategy::OwnZoneFirst | Strategy::AllAlike | Strategy::Topology { .. } => None,
        Strategy::Ranked(ranking) => Some(ranking.overprovisioning_factor),
    };
    Assigned {
        assignment: LoadAssignment { groups, overprovisioning_factor },
        locality_weighted: strategy.locality_weighted(),
        reasons,
    }
}
