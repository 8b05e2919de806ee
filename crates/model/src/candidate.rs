//! Endpoints as a consumer sees them.

use std::sync::Arc;

use crate::{Conditions, Endpoint, Few, Hints, NodeId, ZoneId};

/// What a consumer asks of an endpoint when it selects. It reads an unknown `ready` as true, an
/// unknown `serving` as `ready`, and an unknown `terminating` as false: the EndpointSlice API says
/// so, for consumers.
pub trait Selectable {
    fn ready(&self) -> bool;
    /// Still answering while it ends: used when nothing is ready.
    fn serving_terminating(&self) -> bool;
    fn on_node(&self) -> Option<NodeId>;
    /// The zone it is in; [`ZoneId::EMPTY`] if the slice names none.
    fn zone(&self) -> ZoneId;
    fn has_zone_hint(&self) -> bool;
    fn has_node_hint(&self) -> bool;
    fn is_for_zone(&self, zone: ZoneId) -> bool;
    fn is_for_node(&self, node: NodeId) -> bool;
    /// The zones it is hinted for.
    fn zone_hints(&self) -> &[ZoneId];
    /// The nodes it is hinted for.
    fn node_hints(&self) -> &[NodeId];

    /// Of use at all: ready, or still serving.
    fn is_usable(&self) -> bool {
        self.ready() || self.serving_terminating()
    }
}

/// An endpoint as a consumer sees it: only what selection needs, so that thousands fit into cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    zone_hint: Option<ZoneId>,
    node_hint: Option<NodeId>,
    /// All hints, where there are several of a kind, as with PreferSameRegion.
    several: Option<Arc<Hints>>,
    node: Option<NodeId>,
    zone: ZoneId,
    ready: bool,
    serving_terminating: bool,
}

// === impl Candidate ===

impl Candidate {
    pub fn new(
        conditions: Conditions,
        node: Option<NodeId>,
        zone: Option<ZoneId>,
        hints: Option<&Hints>,
    ) -> Self {
        let ready = conditions.ready.unwrap_or(true);
        let serving = conditions.serving.unwrap_or(ready);
        let first = |hints: &Hints| (hints.zones.first().copied(), hints.nodes.first().copied());
        let (zone_hint, node_hint) = hints.map_or((None, None), first);
        let several =
            |h: &&Hints| matches!((&h.zones, &h.nodes), (Few::Many(_), _) | (_, Few::Many(_)));
        Candidate {
            zone_hint,
            node_hint,
            several: hints.filter(several).map(|hints| Arc::new(hints.clone())),
            node,
            zone: zone.unwrap_or(ZoneId::EMPTY),
            ready,
            serving_terminating: serving && conditions.terminating == Some(true),
        }
    }

    /// Equal to the candidate that `endpoint` would become, without making it.
    #[inline]
    pub fn is_like(&self, endpoint: &Endpoint) -> bool {
        let Candidate { zone_hint, node_hint, several, node, zone, ready, serving_terminating } =
            self;
        let hints = endpoint.hints.as_ref();
        let same_hints = match (several, hints) {
            (Some(several), Some(hints)) => **several == *hints,
            (Some(_), None) => false,
            (None, hints) => {
                // Only where neither list has several items is the first all there is.
                let none = (Few::None, Few::None);
                let (zones, nodes) = hints.map_or((&none.0, &none.1), |h| (&h.zones, &h.nodes));
                is_just(zones, *zone_hint) && is_just(nodes, *node_hint)
            }
        };
        same_hints
            && *node == endpoint.node
            && *zone == endpoint.zone()
            && *ready == endpoint.ready()
            && *serving_terminating == endpoint.serving_terminating()
    }
}

#[inline]
fn is_just<T: PartialEq + Copy>(few: &Few<T>, item: Option<T>) -> bool {
    match few {
        Few::None => item.is_none(),
        Few::One(only) => item == Some(*only),
        Few::Many(_) => false,
    }
}

impl Selectable for Candidate {
    #[inline]
    fn ready(&self) -> bool {
        self.ready
    }
    #[inline]
    fn serving_terminating(&self) -> bool {
        self.serving_terminating
    }
    #[inline]
    fn on_node(&self) -> Option<NodeId> {
        self.node
    }
    #[inline]
    fn zone(&self) -> ZoneId {
        self.zone
    }
    #[inline]
    fn has_zone_hint(&self) -> bool {
        self.zone_hint.is_some()
    }
    #[inline]
    fn has_node_hint(&self) -> bool {
        self.node_hint.is_some()
    }
    #[inline]
    fn is_for_zone(&self, zone: ZoneId) -> bool {
        self.zone_hint == Some(zone)
            || self.several.as_ref().is_some_and(|hints| hints.zones.contains(&zone))
    }
    #[inline]
    fn is_for_node(&self, node: NodeId) -> bool {
        self.node_hint == Some(node)
            || self.several.as_ref().is_some_and(|hints| hints.nodes.contains(&node))
    }
    fn zone_hints(&self) -> &[ZoneId] {
        match &self.several {
            Some(hints) => hints.zones.as_slice(),
            None => self.zone_hint.as_slice(),
        }
    }
    fn node_hints(&self) -> &[NodeId] {
        match &self.several {
            Some(hints) => hints.nodes.as_slice(),
            None => self.node_hint.as_slice(),
        }
    }
}

impl From<&Endpoint> for Candidate {
    fn from(endpoint: &Endpoint) -> Self {
        let Endpoint { conditions, node, zone, hints, .. } = endpoint;
        Candidate::new(*conditions, *node, *zone, hints.as_ref())
    }
}

// === impl Endpoint ===

impl Selectable for Endpoint {
    #[inline]
    fn ready(&self) -> bool {
        self.conditions.ready.unwrap_or(true)
    }
    #[inline]
    fn serving_terminating(&self) -> bool {
        self.conditions.serving.unwrap_or(self.ready()) && self.conditions.terminating == Some(true)
    }
    #[inline]
    fn on_node(&self) -> Option<NodeId> {
        self.node
    }
    #[inline]
    fn zone(&self) -> ZoneId {
        self.zone.unwrap_or(ZoneId::EMPTY)
    }
    #[inline]
    fn has_zone_hint(&self) -> bool {
        self.hints.as_ref().is_some_and(|hints| !hints.zones.is_empty())
    }
    #[inline]
    fn has_node_hint(&self) -> bool {
        self.hints.as_ref().is_some_and(|hints| !hints.nodes.is_empty())
    }
    #[inline]
    fn is_for_zone(&self, zone: ZoneId) -> bool {
        self.hints.as_ref().is_some_and(|hints| hints.zones.contains(&zone))
    }
    #[inline]
    fn is_for_node(&self, node: NodeId) -> bool {
        self.hints.as_ref().is_some_and(|hints| hints.nodes.contains(&node))
    }
    fn zone_hints(&self) -> &[ZoneId] {
        Endpoint::zone_hints(self)
    }
    fn node_hints(&self) -> &[NodeId] {
        Endpoint::node_hints(self)
    }
}
