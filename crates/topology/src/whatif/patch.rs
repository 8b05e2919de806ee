//! The merge patch that sets a policy.

use std::collections::BTreeMap;

use evenkeel_model::{Service, label};

use crate::{
    Gates, Policy,
    patch::{Patch, PatchMeta, PatchSpec},
};

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
        Policy::PreferSameZone if gates.prefer_same_traffic_distribution => Some("PreferSameZone"),
        Policy::PreferSameZone => Some("PreferClose"),
        Policy::PreferSameNode => Some("PreferSameNode"),
        _ => None,
    };
    let changes = service.traffic_distribution.as_deref() != value;
    Patch {
        metadata: PatchMeta { annotations },
        spec: PatchSpec { traffic_distribution: changes.then_some(value), ..PatchSpec::default() },
    }
}
