//! Dataplanes, put where their Pods run: the labels of the Node are tags of its inbounds.

use core::net::IpAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use evenkeel_locality::resource::{Dataplane, Key, Kind, Labels, Resource, Spec};
use evenkeel_model::mesh::Tags;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Located {
    /// As they were written.
    dataplanes: BTreeMap<Key, Resource>,
    by_address: FxHashMap<IpAddr, BTreeSet<Key>>,
    /// Those whose place may be another.
    moved: BTreeSet<Key>,
}

impl Located {
    /// Only Dataplanes are somewhere.
    pub(super) fn remember(&mut self, resource: &Resource) {
        if resource.key.kind != Kind::Dataplane {
            return;
        }
        self.forget(&resource.key);
        if let Some(address) = address(resource) {
            self.by_address.entry(address).or_default().insert(resource.key.clone());
        }
        self.dataplanes.insert(resource.key.clone(), resource.clone());
    }

    pub(super) fn forget(&mut self, key: &Key) {
        let Some(resource) = self.dataplanes.remove(key) else { return };
        let Some(address) = address(&resource) else { return };
        if let Some(keys) = self.by_address.get_mut(&address) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_address.remove(&address);
            }
        }
    }

    /// Something else may be at these addresses.
    pub(super) fn moved(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        let keys = addresses.into_iter().filter_map(|address| self.by_address.get(&address));
        self.moved.extend(keys.flatten().cloned());
    }

    pub(super) fn take_moved(&mut self) -> BTreeSet<Key> {
        mem::take(&mut self.moved)
    }

    /// A Dataplane that is known, with the tags of its place.
    pub(super) fn again(
        &self,
        key: &Key,
        place: impl Fn(IpAddr) -> Option<Tags>,
    ) -> Option<Resource> {
        let resource = self.dataplanes.get(key)?;
        Some(with_tags(resource, place).unwrap_or_else(|| resource.clone()))
    }
}

fn address(resource: &Resource) -> Option<IpAddr> {
    match &resource.spec {
        Spec::Dataplane(dataplane) => dataplane.address,
        _ => None,
    }
}

/// What the Dataplane itself says counts.
fn with_tags(resource: &Resource, place: impl Fn(IpAddr) -> Option<Tags>) -> Option<Resource> {
    let tags = place(address(resource)?)?;
    let Spec::Dataplane(dataplane) = &resource.spec else { return None };
    let add = |own: &mut Arc<Labels>| {
        let own = Arc::make_mut(own);
        for (key, value) in tags.iter() {
            own.entry(key.clone()).or_insert_with(|| value.clone());
        }
    };
    let mut dataplane = Dataplane::clone(dataplane);
    dataplane.inbounds.iter_mut().for_each(|inbound| add(&mut inbound.tags));
    dataplane.gateway.iter_mut().for_each(|gateway| add(&mut gateway.tags));
    Some(Resource { spec: Spec::Dataplane(Arc::new(dataplane)), ..resource.clone() })
}
