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
/// and consumers read differently: see [`Conditions::is_ready`] and [`crate::Selectable`].
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
