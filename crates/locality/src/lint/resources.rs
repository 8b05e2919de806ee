//! The policies of all meshes, checked.

use std::{collections::BTreeMap, sync::Arc};

use serde::Serialize;

use super::{Finding, lint};
use crate::{
    Compat, Errors, FieldPath,
    resource::{Dataplane, Key, Kind, Resource, Spec, ZONE_TAG},
    strategy::{LocalityAwareness, ZoneSet},
};

/// A finding, and the item of `to` in which it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundIn {
    pub policy: Key,
    pub to: usize,
    pub finding: Finding,
}

/// Checks all strategies, in their order. The zones known are those of the mesh's Dataplanes;
/// `zone` is that of Dataplanes that name none.
pub fn lint_resources<'a>(
    resources: impl IntoIterator<Item = &'a Resource> + Clone,
    zone: Option<&Arc<str>>,
    compat: Compat,
) -> Vec<FoundIn> {
    let mut zones: BTreeMap<&str, ZoneSet> = BTreeMap::new();
    for Resource { key, spec, .. } in resources.clone() {
        if let Spec::Dataplane(dataplane) = spec {
            let of_mesh = zones.entry(&key.mesh).or_default();
            let named = zones_of(dataplane);
            let default = zone.filter(|_| named.is_empty()).cloned();
            of_mesh.extend(named.into_iter().chain(default));
        }
    }
    let mut found = Vec::new();
    for Resource { key, spec, .. } in resources {
        let Spec::Policy(policy) = spec else { continue };
        if key.kind != Kind::MeshLoadBalancingStrategy {
            continue;
        }
        let none = ZoneSet::new();
        let zones = zones.get(&*key.mesh).unwrap_or(&none);
        for (to, item) in policy.to.iter().enumerate() {
            let Some(awareness) = item.conf.get("localityAwareness") else { continue };
            let path = FieldPath::root("localityAwareness");
            let awareness = LocalityAwareness::decode(awareness, path, &mut Errors::default());
            let findings = awareness.map(|awareness| lint(&awareness, zones, compat));
            let findings = findings.into_iter().flatten();
            found.extend(findings.map(|finding| FoundIn { policy: key.clone(), to, finding }));
        }
    }
    found
}

/// All zones that it names, of which there is one as a rule.
fn zones_of(dataplane: &Dataplane) -> ZoneSet {
    let inbounds = dataplane.inbounds.iter().map(|inbound| &inbound.tags);
    let tags = inbounds.chain(dataplane.gateway.iter().map(|gateway| &gateway.tags));
    tags.filter_map(|tags| tags.get(ZONE_TAG)).cloned().collect()
}
