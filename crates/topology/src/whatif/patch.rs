//! The merge patch that sets a policy.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Service, label};
use serde::Serialize;

use crate::{Gates, Policy};

/// A JSON merge patch of a Service: only what changes. A null removes what is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Patch {
    #[serde(skip_serializing_if = "PatchMeta::is_empty")]
    pub metadata: PatchMeta,
    #[serde(skip_serializing_if = "PatchSpec::is_empty")]
    pub spec: PatchSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PatchMeta {
    pub annotations: BTreeMap<&'static str, Option<&'static str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchSpec {
    /// `None`: left as it is. `Some(None)`: removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_distribution: Option<Option<&'static str>>,
}

/// The patch that sets `policy` on `service`: annotations that would override it are removed.
pub fn patch(service: &Service, policy: Policy, gates: Gates) -> Patch {
    let overriding =
        [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE, label::TRAFFIC_DISTRIBUTION];
    let mut annotations: BTreeMap<&'static str, Option<&'static str>> = overriding
        .into_iter()
        .filter(|name| service.annotations.contains_key(*name))
        .map(|name| (name, None))
        .collect();
    match policy {
        Policy::Auto => annotations.insert(label::TOPOLOGY_MODE, Some("Auto")),
        _ if !Policy::KUBERNETES.contains(&policy) => {
            annotations.insert(label::TRAFFIC_DISTRIBUTION, Some(policy.as_str()))
        }
        _ => None,
    };
    let value = match policy {
        Policy::None
        | Policy::Auto
        | Policy::Balanced
        | Policy::PreferSameRegion
        | Policy::PreferSameZoneThenRegion
        | Policy::RequireSameZone => None,
        Policy::PreferSameZone if gates.prefer_same_traffic_distribution => Some("PreferSameZone"),
        Policy::PreferSameZone => Some("PreferClose"),
        Policy::PreferSameNode => Some("PreferSameNode"),
    };
    let changes = service.traffic_distribution.as_deref() != value;
    Patch {
        metadata: PatchMeta { annotations },
        spec: PatchSpec { traffic_distribution: changes.then_some(value) },
    }
}

// === impl Patch ===

impl Patch {
    /// The Service once it is patched.
    pub fn apply(&self, service: &Service) -> Service {
        let mut patched = service.clone();
        for (name, value) in &self.metadata.annotations {
            match value {
                Some(value) => patched.annotations.insert((*name).into(), (*value).into()),
                None => patched.annotations.remove(*name),
            };
        }
        if let Some(value) = self.spec.traffic_distribution {
            patched.traffic_distribution = value.map(Arc::from);
        }
        patched
    }
}

// === impl PatchMeta, PatchSpec ===

impl PatchMeta {
    fn is_empty(&self) -> bool {
        self.annotations.is_empty()
    }
}

impl PatchSpec {
    fn is_empty(&self) -> bool {
        self.traffic_distribution.is_none()
    }
}
