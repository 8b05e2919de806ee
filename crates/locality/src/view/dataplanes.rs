//! Dataplanes: instances of services, and clients.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::mesh::{EndpointHealth, MeshEndpoint};

use super::{
    Changes, ProxyKey,
    matching::{Candidate, has_all},
    mesh::MeshView,
    service::{Entry, Source},
};
use crate::{
    Client,
    resource::{Dataplane, Inbound, InboundState, Labels, ZONE_TAG},
};

#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) display_name: Arc<str>,
    pub(super) labels: Labels,
    pub(super) dataplane: Arc<Dataplane>,
    /// Of each inbound or of the gateway, with the zone; those of the Dataplane itself if they name it.
    pub(super) tag_sets: Vec<Arc<Labels>>,
    /// Inbounds that were ready once, in order. Like the next field a list, since a set takes ten times the memory for
    /// the one or two that there are.
    was_ready: Vec<SocketAddr>,
    /// The services that its inbounds belong to, in order.
    members: Vec<(Arc<str>, usize)>,
    /// `None` until it is asked for again.
    pub(super) shape: Option<u64>,
}

impl Proxy {
    pub(super) fn candidate<'a>(&'a self, name: &'a str) -> Candidate<'a> {
        Candidate {
            name,
            display_name: &self.display_name,
            labels: &self.labels,
            dataplane: &self.dataplane,
            tag_sets: &self.tag_sets,
        }
    }

    /// Made when it is asked for, since few of all Dataplanes connect to this control plane.
    pub(super) fn client(&self, own_zone: Option<&Arc<str>>) -> Client {
        let mut tags: BTreeMap<Arc<str>, BTreeSet<Arc<str>>> = BTreeMap::new();
        for (key, value) in self.tag_sets.iter().flat_map(|tags| tags.iter()) {
            tags.entry(key.clone()).or_default().insert(value.clone());
        }
        let zone = tags.get(ZONE_TAG).and_then(BTreeSet::first).or(own_zone).cloned();
        Client { zone, tags, labels: self.labels.clone() }
    }

    /// Whether its own plan is that of another: health is for those who call it.
    fn is_client_like(&self, other: &Proxy) -> bool {
        let without_state = |dataplane: &Dataplane| {
            let mut dataplane = dataplane.clone();
            for inbound in &mut dataplane.inbounds {
                inbound.state = InboundState::Ready;
            }
            dataplane
        };
        self.labels == other.labels
            && self.display_name == other.display_name
            && without_state(&self.dataplane) == without_state(&other.dataplane)
    }
}

impl MeshView {
    pub(super) fn apply_dataplane(
        &mut self,
        name: &Arc<str>,
        display_name: Arc<str>,
        labels: Labels,
        dataplane: Arc<Dataplane>,
        changes: &mut Changes,
    ) {
        let tag_sets = self.tag_sets(&dataplane);
        let mut proxy = Proxy {
            display_name,
            labels,
            dataplane,
            tag_sets,
            was_ready: Vec::new(),
            members: Vec::new(),
            shape: None,
        };
        if let Some(old) = self.dataplanes.remove(name) {
            proxy.was_ready = still_ready(&old, &proxy.dataplane);
            proxy.members = old.members.clone();
            let is_same = proxy.is_client_like(&old);
            if is_same {
                proxy.shape = old.shape;
            } else if let Some(shape) = old.shape {
                self.leave_shape(name, shape);
            }
            if !is_same {
                changes.proxies.insert(self.proxy_key(name));
            }
        } else {
            changes.proxies.insert(self.proxy_key(name));
        }
        let was_ready = |inbound: &&Inbound| match inbound.state {
            InboundState::Ready => true,
            // What happened before the first read is not known. If it had never been ready, too much
            // would stay; if it is left out, the threshold loses a part of its endpoints.
            InboundState::NotReady => self.is_first_read,
            InboundState::Ignored => false,
        };
        let ready = proxy.dataplane.inbounds.iter().filter(was_ready);
        let mut was_ready = std::mem::take(&mut proxy.was_ready);
        was_ready.extend(ready.map(|inbound| inbound.advertised));
        was_ready.sort_unstable();
        was_ready.dedup();
        was_ready.shrink_to_fit();
        proxy.was_ready = was_ready;
        self.dataplanes.insert(name.clone(), proxy);
        self.refresh_members(name, changes);
    }

    pub(super) fn delete_dataplane(&mut self, name: &Arc<str>, changes: &mut Changes) {
        let Some(old) = self.dataplanes.remove(name) else { return };
        if let Some(shape) = old.shape {
            self.leave_shape(name, shape);
        }
        changes.proxies.insert(self.proxy_key(name));
        self.replace_members(name, &old.members, BTreeMap::new(), changes);
    }

    /// Finds out again to which services the inbounds of a Dataplane belong.
    pub(super) fn refresh_members(&mut self, name: &Arc<str>, changes: &mut Changes) {
        let Some(proxy) = self.dataplanes.get(name) else { return };
        let new = self.members_of(proxy);
        self.work += new.len() as u64;
        let old = proxy.members.clone();
        let mut members: Vec<_> = new.keys().cloned().collect();
        members.shrink_to_fit();
        self.replace_members(name, &old, new, changes);
        if let Some(proxy) = self.dataplanes.get_mut(name) {
            proxy.members = members;
        }
    }

    fn replace_members(
        &mut self,
        name: &Arc<str>,
        old: &[(Arc<str>, usize)],
        new: BTreeMap<(Arc<str>, usize), Entry>,
        changes: &mut Changes,
    ) {
        let mut changed = BTreeSet::new();
        for (service, index) in old.iter().filter(|member| !new.contains_key(*member)) {
            let source = Source::Inbound(name.clone(), *index);
            if let Some(entries) = self.services.get_mut(service)
                && entries.remove(&source)
            {
                changed.insert(service.clone());
            }
        }
        for ((service, index), entry) in new {
            let entries = self.services.entry(service.clone()).or_default();
            if entries.set(Source::Inbound(name.clone(), index), entry) {
                changed.insert(service);
            }
        }
        for service in changed {
            self.service_changed(&service, changes);
        }
    }

    fn members_of(&self, proxy: &Proxy) -> BTreeMap<(Arc<str>, usize), Entry> {
        let mut members = BTreeMap::new();
        for (index, inbound) in proxy.dataplane.inbounds.iter().enumerate() {
            let Some(tags) = proxy.tag_sets.get(index) else { continue };
            if inbound.state == InboundState::Ignored {
                continue;
            }
            let entry = entry(inbound, tags, &proxy.was_ready);
            let selected = self.by_tags.candidates(tags).filter_map(|key| {
                let (service, object) = self.mesh_services.get(key)?;
                has_all(tags, &object.spec.dataplane_tags).then_some(service)
            });
            for service in selected {
                members.insert((service.clone(), index), entry.clone());
            }
            members.insert((inbound.service(), index), entry);
        }
        members
    }

    fn tag_sets(&mut self, dataplane: &Dataplane) -> Vec<Arc<Labels>> {
        let of_gateway = dataplane.gateway.iter().map(|gateway| &gateway.tags);
        let all = dataplane.inbounds.iter().map(|inbound| &inbound.tags).chain(of_gateway);
        let with_zone = all.map(|tags| match &self.settings.zone {
            Some(zone) if !tags.contains_key(ZONE_TAG) => {
                let mut tags = Labels::clone(tags);
                tags.insert(ZONE_TAG.into(), zone.clone());
                self.tags.intern(tags)
            }
            _ => Arc::clone(tags),
        });
        with_zone.collect()
    }

    pub(super) fn proxy_key(&self, name: &Arc<str>) -> ProxyKey {
        ProxyKey { mesh: self.name.clone(), name: name.clone() }
    }
}

/// Inbounds that were ready, as far as they are still there.
fn still_ready(old: &Proxy, dataplane: &Dataplane) -> Vec<SocketAddr> {
    let kept = dataplane.inbounds.iter().filter(|inbound| inbound.state != InboundState::Ignored);
    let kept = kept.map(|inbound| inbound.advertised);
    kept.filter(|address| old.was_ready.binary_search(address).is_ok()).collect()
}

fn entry(inbound: &Inbound, tags: &Arc<Labels>, was_ready: &[SocketAddr]) -> Entry {
    let health = match inbound.state {
        InboundState::Ready => Some(EndpointHealth::Healthy),
        _ => was_ready
            .binary_search(&inbound.advertised)
            .is_ok()
            .then_some(EndpointHealth::Unhealthy),
    };
    let endpoint = health.map(|health| {
        Arc::new(MeshEndpoint {
            address: inbound.advertised,
            zone: tags.get(ZONE_TAG).cloned(),
            tags: tags.clone(),
            weight: None,
            health,
        })
    });
    Entry {
        endpoint,
        port: inbound.port(),
        port_name: inbound.name.clone(),
        protocol: inbound.protocol,
    }
}
