//! The resources of a mesh as they are written, made into checked types.
//!
//! Two layouts: Kuma's universal one (`type`, `mesh`, `name`, with the specification under `spec` or
//! beside them) and that of custom resources (`apiVersion: kuma.io/v1alpha1`, `metadata`, `spec`).
//! Files may have either, and the forms of the decision record too: `to` as one object, `defaults`,
//! `rules` as one object, `backendRef`. Time is linear in the size of the input.

mod backend;
mod breaker;
mod dataplane;
mod external_service;
mod header;
mod health_check;
mod mesh_service;
mod multi_zone_service;
mod policy;
mod route;
mod scalar;
mod strings;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Serialize, Serializer};
use serde_json::Value;

pub use self::{
    backend::BackendRef,
    breaker::BreakerConf,
    dataplane::{Dataplane, Gateway, Inbound, InboundState, Outbound},
    external_service::MeshExternalService,
    health_check::HealthCheckConf,
    mesh_service::{MeshService, ServicePort, TargetPort},
    multi_zone_service::MeshMultiZoneService,
    policy::{Policy, ToItem},
    route::{RouteConf, RouteRule, RuleMatches},
    strings::Strings,
};
use crate::{Compat, FieldError};

/// The tag that names the service of an inbound.
pub const SERVICE_TAG: &str = "kuma.io/service";
/// The tag that names the zone of an inbound.
pub const ZONE_TAG: &str = "kuma.io/zone";
/// The tag that names the protocol of an inbound.
pub const PROTOCOL_TAG: &str = "kuma.io/protocol";

/// The label that names a resource where it was made.
pub const DISPLAY_NAME: &str = "kuma.io/display-name";

/// The label or tag that names the namespace of what an object is about.
pub const NAMESPACE: &str = "k8s.kuma.io/namespace";

/// From where a resource comes, which decides what it may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file: either layout, and the forms of the decision record.
    File,
    /// A custom resource of an API server: Kuma's schema only.
    Custom,
}

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Mesh,
    Dataplane,
    MeshService,
    MeshMultiZoneService,
    MeshExternalService,
    MeshHttpRoute,
    MeshTcpRoute,
    MeshHealthCheck,
    MeshCircuitBreaker,
    MeshLoadBalancingStrategy,
}

/// Names a resource among those of all meshes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Key {
    pub mesh: Arc<str>,
    pub kind: Kind,
    /// With a namespace it is `name.namespace`.
    pub name: Arc<str>,
}

/// Labels or tags, by key.
pub type Labels = BTreeMap<Arc<str>, Arc<str>>;

/// A checked resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    pub key: Key,
    /// Without a namespace, or the one that it has where it was made: what references name.
    pub display_name: Arc<str>,
    pub labels: Labels,
    pub spec: Spec,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// Its name is all that counts.
    Mesh,
    /// Shared, since who reads resources keeps the last good ones too, and there are many.
    Dataplane(Arc<Dataplane>),
    MeshService(MeshService),
    MeshMultiZoneService(MeshMultiZoneService),
    MeshExternalService(MeshExternalService),
    Policy(Policy),
}

/// Reads a resource of any kind.
pub fn parse(value: &Value, form: Form, compat: Compat) -> Result<Resource, Vec<FieldError>> {
    header::parse(value, form, compat)
}

// === impl Kind ===

impl Kind {
    pub const ALL: [(&'static str, Kind); 10] = [
        ("Mesh", Kind::Mesh),
        ("Dataplane", Kind::Dataplane),
        ("MeshService", Kind::MeshService),
        ("MeshMultiZoneService", Kind::MeshMultiZoneService),
        ("MeshExternalService", Kind::MeshExternalService),
        ("MeshHTTPRoute", Kind::MeshHttpRoute),
        ("MeshTCPRoute", Kind::MeshTcpRoute),
        ("MeshHealthCheck", Kind::MeshHealthCheck),
        ("MeshCircuitBreaker", Kind::MeshCircuitBreaker),
        ("MeshLoadBalancingStrategy", Kind::MeshLoadBalancingStrategy),
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

// === impl Key ===

impl Key {
    pub fn new(kind: Kind, mesh: &str, name: &str) -> Self {
        Key { mesh: mesh.into(), kind, name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { mesh, kind, name } = self;
        write!(f, "{kind} {mesh}/{name}")
    }
}
