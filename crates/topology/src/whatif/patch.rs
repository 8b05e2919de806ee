//! The merge patch that puts a policy into force.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Service, label};
use serde::Serialize;

use crate::{Gates, Policy};

/// A JSON merge patch of a Service, in the form of a partial object. `None` removes what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    pub api_version: &'static str,
    pub kind: &'static str,
    pub metadata: PatchMeta,
    pub spec: PatchSpec,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatchMeta {
    pub name: Arc<str>,
    pub namespace: Arc<str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<&'static str, Option<&'static str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchSpec {
    pub traffic_distribution: Option<&'static str>,
}

/// The patch that makes `policy` hold for `service`: annotations that would beat it are removed.
pub fn patch(service: &Service, policy: Policy, gates: Gates) -> Patch {
    let in_the_way =
        [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE, label::TRAFFIC_DISTRIBUTION];
    let mut annotations: BTreeMap<&'static str, Option<&'static str>> = in_the_way
        .into_iter()
        .filter(|name| service.annotations.contains_key(*name))
        .map(|name| (name, None))
        .collect();
    if policy == Policy::Auto {
        annotations.insert(label::TOPOLOGY_MODE, Some("Auto"));
    }
    let traffic_distribution = match policy {
        Policy::None | Policy::Auto => None,
        Policy::PreferSameZone if gates.prefer_same_traffic_distribution => Some("PreferSameZone"),
        Policy::PreferSameZone => Some("PreferClose"),
        Policy::PreferSameNode => Some("PreferSameNode"),
    };
    Patch {
        api_version: "v1",
        kind: "Service",
        metadata: PatchMeta {
            name: Arc::clone(&service.key.name),
            namespace: Arc::clone(&service.key.namespace),
            annotations,
        },
        spec: PatchSpec { traffic_distribution },
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
        patched.traffic_distribution = self.spec.traffic_distribution.map(Arc::from);
        patched
    }
}
