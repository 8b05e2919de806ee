//! One network endpoint of a Service, and the part of it that selection looks at.

use core::net::IpAddr;
use std::{fmt, sync::Arc};

use crate::{Few, NodeId, ZoneId};

/// Where an endpoint listens. Slices of type `FQDN` carry names, all others carry addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    Ip(IpAddr),
    Name(Arc<str>),
}

/// The object behind an endpoint, nearly always a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub kind: Arc<str>,
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
}

/// What is known of an endpoint's state. `None` means that the slice doesn't say, which producers
/// and consumers read differently: see [`Conditions::is_ready`] and [`Candidate::new`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conditions {
    pub ready: Option<bool>,
    pub serving: Option<bool>,
    pub terminating: Option<bool>,
}

/// For which zones and nodes an endpoint is meant. Present but empty is not the same as absent:
/// Kubernetes writes a slice to remove the former.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    pub zones: Few<ZoneId>,
    pub nodes: Few<NodeId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub addresses: Few<Address>,
    pub conditions: Conditions,
    pub hostname: Option<Arc<str>>,
    pub target: Option<Arc<Target>>,
    pub node: Option<NodeId>,
    pub zone: Option<ZoneId>,
    pub hints: Option<Hints>,
}

/// An endpoint as a consumer sees it: only what selection needs, so that thousands fit into cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    zone_hint: Option<ZoneId>,
    node_hint: Option<NodeId>,
    /// All hints, where there are several of a kind; no controller gives such today.
    several: Option<Box<Hints>>,
    pub node: Option<NodeId>,
    pub ready: bool,
    /// Not ready, but still answering while it ends: used when nothing is ready.
    pub serving_terminating: bool,
}

// === impl Address ===

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(ip) => ip.fmt(f),
            Address::Name(name) => name.fmt(f),
        }
    }
}

// === impl Conditions ===

impl Conditions {
    pub const READY: Conditions =
        Conditions { ready: Some(true), serving: Some(true), terminating: Some(false) };

    /// Ready as producers of hints count it: unknown is not ready.
    pub fn is_ready(self) -> bool {
        self.ready == Some(true)
    }
}

// === impl Hints ===

impl Hints {
    pub fn zone(zone: ZoneId) -> Self {
        Hints { zones: Few::One(zone), nodes: Few::None }
    }
}

// === impl Endpoint ===

impl Endpoint {
    pub fn is_ready(&self) -> bool {
        self.conditions.is_ready()
    }

    /// The zones this endpoint is hinted for.
    pub fn zone_hints(&self) -> &[ZoneId] {
        self.hints.as_ref().map_or(&[], |h| h.zones.as_slice())
    }

    /// The nodes this endpoint is hinted for.
    pub fn node_hints(&self) -> &[NodeId] {
        self.hints.as_ref().map_or(&[], |h| h.nodes.as_slice())
    }

    /// The first address, which is the only one consumers use.
    pub fn address(&self) -> Option<&Address> {
        self.addresses.as_slice().first()
    }
}

// === impl Candidate ===

impl Candidate {
    /// A consumer reads an unknown `ready` as true, an unknown `serving` as `ready`, and an
    /// unknown `terminating` as false (the EndpointSlice API says so).
    pub fn new(conditions: Conditions, node: Option<NodeId>, hints: Option<&Hints>) -> Self {
        let ready = conditions.ready.unwrap_or(true);
        let serving = conditions.serving.unwrap_or(ready);
        let terminating = conditions.terminating.unwrap_or(false);
        let first = |hints: &Hints| (hints.zones.first().copied(), hints.nodes.first().copied());
        let (zone_hint, node_hint) = hints.map_or((None, None), first);
        let several =
            |h: &&Hints| matches!((&h.zones, &h.nodes), (Few::Many(_), _) | (_, Few::Many(_)));
        Candidate {
            zone_hint,
            node_hint,
            several: hints.filter(several).map(|hints| Box::new(hints.clone())),
            node,
            ready,
            serving_terminating: serving && terminating,
        }
    }

    /// The zones this endpoint is hinted for.
    pub fn zone_hints(&self) -> &[ZoneId] {
        match &self.several {
            Some(hints) => hints.zones.as_slice(),
            None => self.zone_hint.as_slice(),
        }
    }

    /// The nodes this endpoint is hinted for.
    pub fn node_hints(&self) -> &[NodeId] {
        match &self.several {
            Some(hints) => hints.nodes.as_slice(),
            None => self.node_hint.as_slice(),
        }
    }

    #[inline]
    pub fn has_zone_hint(&self) -> bool {
        self.zone_hint.is_some()
    }

    #[inline]
    pub fn has_node_hint(&self) -> bool {
        self.node_hint.is_some()
    }

    #[inline]
    pub fn is_for_zone(&self, zone: ZoneId) -> bool {
        self.zone_hint == Some(zone)
            || self.several.as_ref().is_some_and(|hints| hints.zones.contains(&zone))
    }

    #[inline]
    pub fn is_for_node(&self, node: NodeId) -> bool {
        self.node_hint == Some(node)
            || self.several.as_ref().is_some_and(|hints| hints.nodes.contains(&node))
    }

    pub fn is_usable(&self) -> bool {
        self.ready || self.serving_terminating
    }
}

impl From<&Endpoint> for Candidate {
    fn from(endpoint: &Endpoint) -> Self {
        Candidate::new(endpoint.conditions, endpoint.node, endpoint.hints.as_ref())
    }
}
