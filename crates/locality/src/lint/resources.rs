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

/// The strategies of all meshes, and the zones in which there is something.
#[derive(Debug, Default)]
pub struct Strategies {
    /// That of Dataplanes that name none.
    zone: Option<Arc<str>>,
    /// By the place in `to`.
    by_key: BTreeMap<Key, Vec<(usize, LocalityAwareness)>>,
    /// By mesh and Dataplane.
    zones: BTreeMap<Arc<str>, BTreeMap<Arc<str>, ZoneSet>>,
}

/// Checks all strategies, in the order of their keys. The zones known are those of the mesh's Dataplanes;
/// `zone` is that of Dataplanes that name none.
pub fn lint_resources<'a>(
    resources: impl IntoIterator<Item = &'a Resource>,
    zone: Option<&Arc<str>>,
    compat: Compat,
) -> Vec<FoundIn> {
    let mut strategies = Strategies::new(zone.cloned());
    resources.into_iter().for_each(|resource| strategies.apply(resource));
    strategies.findings(compat)
}

// === impl Strategies ===

impl Strategies {
    pub fn new(zone: Option<Arc<str>>) -> Self {
        Self { zone, ..Self::default() }
    }

    /// Adds a resource, or replaces the one with its key.
    pub fn apply(&mut self, resource: &Resource) {
        let Resource { key, spec, .. } = resource;
        match spec {
            Spec::Policy(policy) if key.kind == Kind::MeshLoadBalancingStrategy => {
                let to = policy.to.iter().enumerate();
                let to = to.filter_map(|(index, item)| Some((index, awareness(&item.conf)?)));
                self.by_key.insert(key.clone(), to.collect());
            }
            Spec::Dataplane(dataplane) => {
                let mut zones = zones_of(dataplane);
                if zones.is_empty() {
                    zones.extend(self.zone.clone());
                }
                let of_mesh = self.zones.entry(key.mesh.clone()).or_default();
                of_mesh.insert(key.name.clone(), zones);
            }
            _ => {}
        }
    }

    pub fn delete(&mut self, key: &Key) {
        self.by_key.remove(key);
        if key.kind == Kind::Dataplane
            && let Some(of_mesh) = self.zones.get_mut(&key.mesh)
        {
            of_mesh.remove(&key.name);
            if of_mesh.is_empty() {
                self.zones.remove(&key.mesh);
            }
        }
    }

    /// In the order of keys.
    pub fn findings(&self, compat: Compat) -> Vec<FoundIn> {
        let mut zones: BTreeMap<&str, ZoneSet> = BTreeMap::new();
        let mut found = Vec::new();
        for (key, items) in &self.by_key {
            let zones = zones.entry(&key.mesh).or_insert_with(|| self.zones(&key.mesh));
            for (to, awareness) in items {
                let findings = lint(awareness, zones, compat).into_iter();
                let found_in = |finding| FoundIn { policy: key.clone(), to: *to, finding };
                found.extend(findings.map(found_in));
            }
        }
        found
    }

    fn zones(&self, mesh: &str) -> ZoneSet {
        self.zones.get(mesh).into_iter().flat_map(BTreeMap::values).flatten().cloned().collect()
    }
}

fn awareness(conf: &serde_json::Value) -> Option<LocalityAwareness> {
    let path = FieldPath::root("localityAwareness");
    LocalityAwareness::decode(conf.get("localityAwareness")?, path, &mut Errors::default())
}

/// All zones that it names, of which there is one as a rule.
fn zones_of(dataplane: &Dataplane) -> ZoneSet {
    let inbounds = dataplane.inbounds.iter().map(|inbound| &inbound.tags);
    let tags = inbounds.chain(dataplane.gateway.iter().map(|gateway| &gateway.tags));
    tags.filter_map(|tags| tags.get(ZONE_TAG)).cloned().collect()
}
