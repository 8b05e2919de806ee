//! Hints for `trafficDistribution`: each endpoint is meant for its own zone, and under
//! PreferSameNode for its own node too.
//!
//! Source: KEP-4444, "EndpointSlice Controller Implementation". Hints are given to ready endpoints
//! only; a stale hint on one that is not ready does no harm and forces no write. O(endpoints).

use evenkeel_model::{Endpoint, Few, Hints};

use crate::{Draft, Role};

/// Gives every ready endpoint the hints of its own zone or node. An unchanged slice becomes an update
/// only when one of its ready endpoints has other hints.
pub fn assign(drafts: &mut [Draft<'_>], node_hints: bool) {
    for draft in drafts {
        let wrong = |e: &Endpoint| e.is_ready() && !has_own_place(e, node_hints);
        if draft.role == Role::Unchanged && !draft.slice.endpoints.iter().any(wrong) {
            continue;
        }
        for endpoint in draft.change() {
            if endpoint.is_ready() {
                endpoint.hints = own_place(endpoint, node_hints);
            }
        }
    }
}

/// The desired hints of `endpoint`.
pub fn own_place(endpoint: &Endpoint, node_hints: bool) -> Option<Hints> {
    let hints = Hints {
        zones: endpoint.zone.into_iter().collect(),
        nodes: endpoint.node.filter(|_| node_hints).into_iter().collect(),
    };
    (!hints.zones.is_empty() || !hints.nodes.is_empty()).then_some(hints)
}

/// Whether the hints name just the endpoint's own place. Hints that are present but empty are as
/// good as none.
fn has_own_place(endpoint: &Endpoint, node_hints: bool) -> bool {
    let wanted_node = endpoint.node.filter(|_| node_hints);
    let (zones, nodes) = match &endpoint.hints {
        Some(hints) => (&hints.zones, &hints.nodes),
        None => (&Few::None, &Few::None),
    };
    zones.as_slice() == endpoint.zone.as_slice() && nodes.as_slice() == wanted_node.as_slice()
}
