//! Services of Kubernetes: instances that come from EndpointSlices, and the topology that the Service
//! has of its own.
//!
//! Where a policy of the mesh ranks endpoints, their health is what Dataplanes have: one that was
//! ready and is not is unhealthy, one never ready is left out, one about to end drains. Where none
//! does, the Service's own selection decides, and only what it selects is sent. A change costs the
//! number of the Service's endpoints.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU16,
    sync::Arc,
};

use evenkeel_model::{
    HintsIgnored, Rule,
    mesh::{EndpointHealth, Instance, InstanceState, MeshEndpoint, PlainService},
};

use super::{
    AssignmentKey, Changes,
    matching::has_all,
    mesh::MeshView,
    service::{Entry, Plain, Service, Source},
};
use crate::{
    Assigned, Strategy,
    assign::assign_selected,
    assign_at,
    resource::{Labels, ZONE_TAG},
};

impl MeshView {
    /// Sets, replaces or removes the Service of Kubernetes that a service is.
    pub(super) fn set_plain(&mut self, name: &Arc<str>, new: Option<PlainService>) -> Changes {
        let mut changes = Changes::default();
        let known = self.services.get_mut(name).and_then(|service| service.plain.take());
        if known.as_ref().map(|plain| &plain.service) == new.as_ref() {
            if let (Some(plain), Some(service)) = (known, self.services.get_mut(name)) {
                service.plain = Some(plain);
            }
            return changes;
        }
        let n_old = known.as_ref().map_or(0, |plain| plain.service.instances.len());
        let new = new.map(|service| self.with_history(service, known));
        let entries = new.as_ref().map(|plain| self.entries_of(plain)).unwrap_or_default();
        self.work += (n_old + entries.len()) as u64;
        let service = self.services.entry(name.clone()).or_default();
        for index in entries.len()..n_old {
            service.remove(&Source::Plain(index));
        }
        for (index, entry) in entries.into_iter().enumerate() {
            service.set(Source::Plain(index), entry);
        }
        service.plain = new;
        self.service_changed(name, &mut changes);
        changes
    }

    fn with_history(&self, service: PlainService, known: Option<Plain>) -> Plain {
        let before = known.map(|plain| plain.was_ready).unwrap_or_default();
        let was_ready = |instance: &&Instance| match instance.state {
            InstanceState::Ready => true,
            // As with Dataplanes: what happened before the first read is not known.
            InstanceState::Terminating { serving: true } => true,
            InstanceState::NotReady | InstanceState::Terminating { .. } => {
                self.is_first_read || before.contains(&instance.address)
            }
        };
        let was_ready = service.instances.iter().filter(was_ready).map(|instance| instance.address);
        let was_ready: BTreeSet<_> = was_ready.collect();
        Plain { service, was_ready }
    }

    fn entries_of(&mut self, plain: &Plain) -> Vec<Entry> {
        let Plain { service, was_ready } = plain;
        let instances = service.instances.iter();
        let entry = |instance: &Instance| {
            let was_ready = was_ready.contains(&instance.address);
            let health = match instance.state {
                InstanceState::Ready => Some(EndpointHealth::Healthy),
                InstanceState::NotReady => was_ready.then_some(EndpointHealth::Unhealthy),
                InstanceState::Terminating { .. } => was_ready.then_some(EndpointHealth::Draining),
            };
            Entry {
                endpoint: health.map(|health| self.endpoint(instance, health)),
                port: NonZeroU16::new(instance.address.port()),
                port_name: service.port_name.clone(),
                protocol: service.protocol,
            }
        };
        instances.map(entry).collect()
    }

    fn endpoint(&mut self, instance: &Instance, health: EndpointHealth) -> Arc<MeshEndpoint> {
        let zone = instance.tags.get(ZONE_TAG).or(self.settings.zone.as_ref()).cloned();
        let tags = match (&zone, instance.tags.get(ZONE_TAG)) {
            (Some(zone), None) => {
                let mut tags = Labels::clone(&instance.tags);
                tags.insert(ZONE_TAG.into(), zone.clone());
                self.tags.intern(tags)
            }
            _ => instance.tags.clone(),
        };
        Arc::new(MeshEndpoint { address: instance.address, zone, tags, weight: None, health })
    }

    /// The endpoints of a cluster for clients at the key's place.
    pub(super) fn assigned(&self, key: &AssignmentKey) -> Assigned {
        let service = self.services.get(&key.service.name);
        if let (Strategy::Topology { .. }, Some(service)) = (key.strategy.strategy(), service)
            && let Some(plain) = &service.plain
        {
            return by_topology(key, service, &plain.service);
        }
        let endpoints = self.endpoints_of(&key.service, key.port, &key.subset);
        assign_at(&key.place, &endpoints, key.strategy.strategy())
    }
}

/// The endpoints that the Service's topology selects for the place.
fn by_topology(key: &AssignmentKey, service: &Service, plain: &PlainService) -> Assigned {
    let (zone, node) = (key.place.zone(), key.place.node());
    let selection = plain.selections.of(zone.map(|z| &**z), node.map(|n| &**n));
    let of = |index: usize| {
        let endpoint = by_topology_zone(service.instance(index)?);
        has_all(&endpoint.tags, &key.subset).then_some(endpoint)
    };
    let selected = selection.shares.iter();
    let selected = selected.filter_map(|share| Some((of(share.endpoint as usize)?, share.weight)));
    let selected: Vec<_> = selected.collect();
    let is_ready = |index: &usize| plain.instances[*index].state == InstanceState::Ready;
    let ready = (0..plain.instances.len()).filter(is_ready).filter_map(of);
    let ready: Vec<Arc<MeshEndpoint>> = ready.collect();
    let mut n_ready: BTreeMap<Option<Arc<str>>, usize> = BTreeMap::new();
    for endpoint in &ready {
        *n_ready.entry(endpoint.zone.clone()).or_default() += 1;
    }
    // A part of the Service that is nowhere near: no traffic is lost for that, unless it must stay.
    let may_leave =
        matches!(selection.rule, Rule::SameNode | Rule::SameZone | Rule::ZoneShares | Rule::All(_));
    if selected.is_empty() && may_leave {
        let all = ready.into_iter().map(|endpoint| (endpoint, 1));
        return assign_selected(all, Rule::All(HintsIgnored::NoneForZone), &n_ready);
    }
    assign_selected(selected, selection.rule, &n_ready)
}

/// Groups are zones in the sense of Kubernetes, whatever the mesh calls a zone.
fn by_topology_zone(endpoint: &Arc<MeshEndpoint>) -> Arc<MeshEndpoint> {
    match endpoint.tags.get(evenkeel_model::label::ZONE) {
        Some(zone) if endpoint.zone.as_ref() != Some(zone) => {
            let zone = Some(zone.clone());
            Arc::new(MeshEndpoint { zone, ..MeshEndpoint::clone(endpoint) })
        }
        _ => endpoint.clone(),
    }
}
