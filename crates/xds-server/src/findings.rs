//! What is valid in a strategy and yet hardly meant, for the strategies in force.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_locality::{
    Compat, Errors, FieldPath, Finding, lint,
    resource::{Key, Kind, Resource, Spec, ZONE_TAG},
    strategy::LocalityAwareness,
};

/// The strategies of all meshes, and the zones that their Dataplanes name.
#[derive(Debug, Default)]
pub(crate) struct Strategies {
    /// By the place in `to`.
    by_key: BTreeMap<Key, Vec<(usize, LocalityAwareness)>>,
    /// By mesh and Dataplane.
    zones: BTreeMap<Arc<str>, ZonesByName>,
}

type ZonesByName = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

/// A finding, and where it was made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) policy: Key,
    pub(crate) to: usize,
    pub(crate) finding: Finding,
}

// === impl Strategies ===

impl Strategies {
    pub(crate) fn apply(&mut self, resource: &Resource) {
        match &resource.spec {
            Spec::Policy(policy) if resource.key.kind == Kind::MeshLoadBalancingStrategy => {
                let read = |conf: &serde_json::Value| {
                    let awareness = conf.get("localityAwareness")?;
                    let path = FieldPath::root("localityAwareness");
                    LocalityAwareness::decode(awareness, path, &mut Errors::default())
                };
                let to = policy.to.iter().enumerate();
                let to = to.filter_map(|(index, to)| Some((index, read(&to.conf)?))).collect();
                self.by_key.insert(resource.key.clone(), to);
            }
            Spec::Dataplane(dataplane) => {
                let inbounds = dataplane.inbounds.iter().map(|inbound| &inbound.tags);
                let tags = inbounds.chain(dataplane.gateway.iter().map(|gateway| &gateway.tags));
                let zones = tags.filter_map(|tags| tags.get(ZONE_TAG)).cloned().collect();
                let of_mesh = self.zones.entry(resource.key.mesh.clone()).or_default();
                of_mesh.insert(resource.key.name.clone(), zones);
            }
            _ => {}
        }
    }

    pub(crate) fn delete(&mut self, key: &Key) {
        self.by_key.remove(key);
        if key.kind == Kind::Dataplane
            && let Some(of_mesh) = self.zones.get_mut(&key.mesh)
        {
            of_mesh.remove(&key.name);
        }
    }

    /// The zones of a mesh.
    pub(crate) fn zones(&self, mesh: &str) -> BTreeSet<Arc<str>> {
        self.zones.get(mesh).into_iter().flat_map(BTreeMap::values).flatten().cloned().collect()
    }

    pub(crate) fn findings(&self, compat: Compat) -> Vec<Found> {
        let mut zones: BTreeMap<&str, BTreeSet<Arc<str>>> = BTreeMap::new();
        let mut found = Vec::new();
        for (key, items) in &self.by_key {
            let zones = zones.entry(&key.mesh).or_insert_with(|| self.zones(&key.mesh));
            for (to, awareness) in items {
                let findings = lint(awareness, zones, compat).into_iter();
                found.extend(findings.map(|finding| Found {
                    policy: key.clone(),
                    to: *to,
                    finding,
                }));
            }
        }
        found
    }
}
