//! What the parts of a view are called.

use std::{
    fmt,
    hash::{Hash, Hasher},
    num::NonZeroU16,
    sync::Arc,
};

use serde::Serialize;

use crate::{Place, Strategy, TargetKind, resource::Labels};

/// A proxy: a Dataplane of a mesh.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProxyKey {
    pub mesh: Arc<str>,
    pub name: Arc<str>,
}

/// A destination of traffic within a mesh.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ServiceKey {
    pub mesh: Arc<str>,
    /// MeshService, MeshMultiZoneService or MeshExternalService.
    pub kind: TargetKind,
    pub name: Arc<str>,
}

/// All that an assignment depends on besides the endpoints: clusters with equal keys have equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssignmentKey {
    pub service: ServiceKey,
    /// A port of a MeshService that has ports.
    pub port: Option<NonZeroU16>,
    /// What the instances of a split must have; empty for all of the service.
    pub subset: Labels,
    pub strategy: Arc<StrategyInForce>,
    pub place: Place,
}

/// A strategy with its identity. Strategies that decide alike are equal.
#[derive(Debug)]
pub struct StrategyInForce {
    strategy: Strategy,
    text: Box<str>,
}

// === impl ProxyKey ===

impl ProxyKey {
    pub fn new(mesh: &str, name: &str) -> Self {
        ProxyKey { mesh: mesh.into(), name: name.into() }
    }
}

impl fmt::Display for ProxyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.mesh, self.name)
    }
}

// === impl ServiceKey ===

impl ServiceKey {
    pub fn new(mesh: &str, kind: TargetKind, name: &str) -> Self {
        ServiceKey { mesh: mesh.into(), kind, name: name.into() }
    }
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.mesh, self.name)
    }
}

// === impl StrategyInForce ===

impl StrategyInForce {
    pub(super) fn new(strategy: Strategy) -> Self {
        // The derived form names every field, so that equal texts are equal strategies.
        let text = format!("{strategy:?}").into();
        StrategyInForce { strategy, text }
    }

    pub fn strategy(&self) -> &Strategy {
        &self.strategy
    }
}

impl PartialEq for StrategyInForce {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.text == other.text
    }
}

impl Eq for StrategyInForce {}

impl Hash for StrategyInForce {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}
