//! The endpoints of a cluster as one client sees them: in priorities and weighted groups.

use core::net::SocketAddr;
use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

/// Tags of an endpoint or of a client, by key.
pub type Tags = Arc<BTreeMap<Arc<str>, Arc<str>>>;

/// The endpoints of a cluster for all clients at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadAssignment {
    /// Ordered by zone directly followed by sub-zone, as text, then by priority.
    pub groups: Vec<Group>,
    /// Percent. Envoy takes 140 if it is not sent.
    pub overprovisioning_factor: Option<NonZeroU32>,
}

/// Endpoints of one priority that share a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// 0 is used first.
    pub priority: u32,
    /// Compared with the other groups of its priority; not sent if `None`.
    pub weight: Option<NonZeroU32>,
    /// `None`: the group is sent without a locality.
    pub zone: Option<Arc<str>>,
    pub sub_zone: Arc<str>,
    /// Ordered by address as text, then by port.
    pub endpoints: Vec<Arc<MeshEndpoint>>,
}

/// One instance of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshEndpoint {
    pub address: SocketAddr,
    /// `None` if nothing says where it is.
    pub zone: Option<Arc<str>>,
    pub tags: Tags,
    /// Its part of the group's traffic, compared with the group's other endpoints; 1 if `None`.
    pub weight: Option<NonZeroU32>,
    pub health: EndpointHealth,
}

/// What is known of an endpoint's health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndpointHealth {
    #[default]
    Healthy,
    /// Counted, but sent no traffic as long as others are healthy.
    Unhealthy,
    /// About to end: neither counted nor sent new requests.
    Draining,
    /// Sent traffic only when too few others are healthy.
    Degraded,
}

impl MeshEndpoint {
    /// The value of a tag.
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags.get(key).map(|value| &**value)
    }
}
