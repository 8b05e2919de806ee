//! Services, and the objects that describe them: which endpoints they have, what is known of them.

use core::net::SocketAddr;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU16,
    sync::Arc,
};

use evenkeel_model::mesh::{EndpointHealth, MeshEndpoint};

use super::{
    Changes, ServiceKey,
    matching::{Facts, PlainFacts, PortFacts, has_all},
    mesh::MeshView,
    service::{ProtocolCounts, Service},
};
use crate::{
    TargetKind,
    resource::{
        DISPLAY_NAME, Labels, MeshExternalService, MeshMultiZoneService, MeshService, SERVICE_TAG,
        ServicePort, TargetPort,
    },
};

#[derive(Debug, PartialEq)]
pub(super) struct ServiceObject {
    pub(super) spec: MeshService,
    labels: Labels,
}

#[derive(Debug, PartialEq)]
pub(super) struct MultiZoneObject {
    spec: MeshMultiZoneService,
    labels: Labels,
    /// Keys of the MeshServices that it selects.
    members: BTreeSet<Arc<str>>,
}

#[derive(Debug, PartialEq)]
pub(super) struct ExternalObject {
    labels: Labels,
    port: PortFacts,
    endpoints: Vec<Arc<MeshEndpoint>>,
}

impl ServiceObject {
    pub(super) fn new(spec: MeshService, labels: Labels, display_name: &Arc<str>) -> Self {
        ServiceObject { spec, labels: with_display_name(labels, display_name) }
    }
}

impl MultiZoneObject {
    pub(super) fn new(spec: MeshMultiZoneService, labels: Labels) -> Self {
        MultiZoneObject { spec, labels, members: BTreeSet::new() }
    }
}

impl ExternalObject {
    pub(super) fn new(spec: &MeshExternalService, labels: Labels) -> Self {
        let endpoint = |address: &SocketAddr| {
            Arc::new(MeshEndpoint {
                address: *address,
                zone: None,
                tags: Arc::default(),
                weight: None,
                health: EndpointHealth::Healthy,
            })
        };
        let port = PortFacts { port: spec.port, name: None, protocol: Some(spec.protocol) };
        ExternalObject { labels, port, endpoints: spec.endpoints.iter().map(endpoint).collect() }
    }
}

fn with_display_name(mut labels: Labels, display_name: &Arc<str>) -> Labels {
    labels.entry(DISPLAY_NAME.into()).or_insert_with(|| display_name.clone());
    labels
}

impl MeshView {
    pub(super) fn replace_service(
        &mut self,
        key: &Arc<str>,
        new: Option<(Arc<str>, ServiceObject)>,
        changes: &mut Changes,
    ) {
        if new.as_ref() == self.mesh_services.get(key) {
            return;
        }
        let mut services = BTreeSet::new();
        let mut multi_zone = BTreeSet::new();
        if let Some((name, old)) = self.mesh_services.remove(key) {
            self.by_tags.remove(key, &old.spec.dataplane_tags);
            multi_zone.extend(self.multi_zone_of(&old.labels));
            services.insert(name);
        }
        let mut dataplanes: BTreeSet<Arc<str>> = BTreeSet::new();
        if let Some((name, object)) = new {
            self.by_tags.insert(key, &object.spec.dataplane_tags);
            multi_zone.extend(self.multi_zone_of(&object.labels));
            dataplanes.extend(self.selected_by(&object.spec.dataplane_tags));
            services.insert(name.clone());
            self.mesh_services.insert(key.clone(), name, object);
        }
        let known = services.iter().filter_map(|name| self.services.get(name));
        dataplanes.extend(known.flat_map(|service| service.dataplanes().cloned()));
        for dataplane in dataplanes {
            self.refresh_members(&dataplane, changes);
        }
        for name in &services {
            self.service_changed(name, changes);
        }
        for of_zones in multi_zone {
            self.refresh_multi_zone(key, &of_zones, changes);
        }
    }

    /// Dataplanes with inbounds that have these tags. Without a service among them, every Dataplane
    /// is looked at.
    fn selected_by(&mut self, tags: &Labels) -> Vec<Arc<str>> {
        let service = tags.get(SERVICE_TAG).filter(|service| &***service != "*");
        let candidates: Vec<&Arc<str>> = match service {
            Some(service) => {
                self.services.get(service).into_iter().flat_map(Service::dataplanes).collect()
            }
            None => self.dataplanes.keys().collect(),
        };
        self.work += candidates.len() as u64;
        let is_selected = |name: &&&Arc<str>| {
            let proxy = self.dataplanes.get(&***name);
            proxy.is_some_and(|proxy| proxy.tag_sets.iter().any(|set| has_all(set, tags)))
        };
        candidates.iter().filter(is_selected).map(|name| (*name).clone()).collect()
    }

    /// Keys of the MeshMultiZoneServices that select a MeshService with these labels.
    fn multi_zone_of(&self, labels: &Labels) -> Vec<Arc<str>> {
        let candidates = self.by_labels.candidates(labels);
        let selecting = candidates.filter(|key| {
            let object = self.multi_zone.get(key);
            object.is_some_and(|(_, object)| has_all(labels, &object.spec.match_labels))
        });
        selecting.cloned().collect()
    }

    fn refresh_multi_zone(&mut self, member: &Arc<str>, key: &Arc<str>, changes: &mut Changes) {
        let labels = self.mesh_services.get(member).map(|(_, object)| &object.labels);
        let Some((name, object)) = self.multi_zone.get(key) else { return };
        let is_member = labels.is_some_and(|labels| has_all(labels, &object.spec.match_labels));
        let name = name.clone();
        if let Some(object) = self.multi_zone.get_mut(key) {
            match is_member {
                true => object.members.insert(member.clone()),
                false => object.members.remove(member),
            };
        }
        self.destination_changed(&self.key_of(TargetKind::MeshMultiZoneService, &name), changes);
    }

    pub(super) fn replace_multi_zone(
        &mut self,
        key: &Arc<str>,
        new: Option<(Arc<str>, MultiZoneObject)>,
        changes: &mut Changes,
    ) {
        let new = new.map(|(name, mut object)| {
            self.work += 1;
            let selected = self.mesh_services.iter();
            let selected =
                selected.filter(|(_, service)| has_all(&service.labels, &object.spec.match_labels));
            object.members = selected.map(|(key, _)| key.clone()).collect();
            (name, object)
        });
        if new.as_ref() == self.multi_zone.get(key) {
            return;
        }
        let mut names = BTreeSet::new();
        if let Some((name, old)) = self.multi_zone.remove(key) {
            self.by_labels.remove(key, &old.spec.match_labels);
            names.insert(name);
        }
        if let Some((name, object)) = new {
            self.by_labels.insert(key, &object.spec.match_labels);
            names.insert(name.clone());
            self.multi_zone.insert(key.clone(), name, object);
        }
        for name in names {
            self.destination_changed(
                &self.key_of(TargetKind::MeshMultiZoneService, &name),
                changes,
            );
        }
    }

    pub(super) fn replace_external(
        &mut self,
        key: &Arc<str>,
        new: Option<(Arc<str>, ExternalObject)>,
        changes: &mut Changes,
    ) {
        if new.as_ref() == self.external.get(key) {
            return;
        }
        let mut names: BTreeSet<Arc<str>> = BTreeSet::new();
        names.extend(self.external.remove(key).map(|(name, _)| name));
        if let Some((name, object)) = new {
            names.insert(name.clone());
            self.external.insert(key.clone(), name, object);
        }
        for name in names {
            self.destination_changed(&self.key_of(TargetKind::MeshExternalService, &name), changes);
        }
    }

    /// Instances of a service changed, or the objects that describe it.
    pub(super) fn service_changed(&mut self, name: &Arc<str>, changes: &mut Changes) {
        self.destination_changed(&self.key_of(TargetKind::MeshService, name), changes);
        let mut multi_zone = BTreeSet::new();
        for object in self.mesh_services.all(name) {
            let selecting = self.multi_zone_of(&object.labels);
            let known = selecting.iter().filter_map(|key| self.multi_zone.get(key));
            multi_zone.extend(known.map(|(name, _)| name.clone()));
        }
        for of_zones in multi_zone {
            let key = self.key_of(TargetKind::MeshMultiZoneService, &of_zones);
            self.destination_changed(&key, changes);
        }
        let is_empty = self.services.get(name).is_some_and(Service::is_empty);
        if is_empty {
            self.services.remove(name);
        }
    }

    pub(super) fn key_of(&self, kind: TargetKind, name: &Arc<str>) -> ServiceKey {
        ServiceKey { mesh: self.name.clone(), kind, name: name.clone() }
    }

    /// What is known of a destination besides its endpoints.
    pub(super) fn facts_of(&self, key: &ServiceKey) -> Facts {
        match key.kind {
            TargetKind::MeshMultiZoneService => match self.multi_zone.first(&key.name) {
                Some(object) => Facts {
                    exists: true,
                    protocol: self.protocols_of_members(object).common(),
                    ports: ports_of(&object.spec.ports).collect(),
                    labels: vec![object.labels.clone()],
                    plain: None,
                },
                None => Facts::default(),
            },
            TargetKind::MeshExternalService => match self.external.first(&key.name) {
                Some(object) => Facts {
                    exists: true,
                    protocol: object.port.protocol,
                    ports: vec![object.port.clone()],
                    labels: vec![object.labels.clone()],
                    plain: None,
                },
                None => Facts::default(),
            },
            _ => {
                let objects = || self.mesh_services.all(&key.name);
                let service = self.services.get(&key.name);
                let plain = service.and_then(PlainFacts::of);
                let protocol = service.and_then(|service| service.protocols().common());
                let of_objects = objects().map(|object| object.labels.clone());
                Facts {
                    exists: objects().next().is_some(),
                    protocol: protocol.or(plain.as_ref().map(|plain| plain.protocol)),
                    ports: objects().flat_map(|object| ports_of(&object.spec.ports)).collect(),
                    labels: of_objects.chain(plain.as_ref().map(PlainFacts::labels)).collect(),
                    plain,
                }
            }
        }
    }

    fn protocols_of_members(&self, object: &MultiZoneObject) -> ProtocolCounts {
        let mut counts = ProtocolCounts::default();
        for service in self.services_of(object) {
            if let Some(service) = self.services.get(service) {
                counts.add(service.protocols());
            }
        }
        counts
    }

    fn services_of<'a>(&'a self, object: &'a MultiZoneObject) -> BTreeSet<&'a Arc<str>> {
        let members = object.members.iter().filter_map(|key| self.mesh_services.get(key));
        members.map(|(name, _)| name).collect()
    }

    /// The endpoints behind a key, without any grouping.
    pub(super) fn endpoints_of(
        &self,
        key: &ServiceKey,
        port: Option<NonZeroU16>,
        subset: &Labels,
    ) -> Vec<Arc<MeshEndpoint>> {
        match key.kind {
            TargetKind::MeshExternalService => {
                let object = self.external.first(&key.name);
                let has_port =
                    |object: &&ExternalObject| port.is_none_or(|port| object.port.port == port);
                object.filter(has_port).map(|object| object.endpoints.clone()).unwrap_or_default()
            }
            TargetKind::MeshMultiZoneService => {
                let Some(object) = self.multi_zone.first(&key.name) else { return Vec::new() };
                // An instance may belong to several of the services.
                let mut endpoints: BTreeMap<SocketAddr, Arc<MeshEndpoint>> = BTreeMap::new();
                for service in self.services_of(object) {
                    for endpoint in self.endpoints_of_service(service, port, subset) {
                        endpoints.entry(endpoint.address).or_insert(endpoint);
                    }
                }
                endpoints.into_values().collect()
            }
            _ => self.endpoints_of_service(&key.name, port, subset),
        }
    }

    fn endpoints_of_service(
        &self,
        name: &Arc<str>,
        port: Option<NonZeroU16>,
        subset: &Labels,
    ) -> Vec<Arc<MeshEndpoint>> {
        let Some(service) = self.services.get(name) else { return Vec::new() };
        let ports = || self.mesh_services.all(name).flat_map(|object| &object.spec.ports);
        let targets: Option<Vec<&TargetPort>> = match port {
            // Without ports there is nothing to choose.
            Some(port) if ports().next().is_some() => {
                Some(ports().filter(|p| p.port == port).map(|p| &p.target).collect())
            }
            _ => None,
        };
        service.endpoints(targets.as_deref(), subset).cloned().collect()
    }
}

fn ports_of(ports: &[ServicePort]) -> impl Iterator<Item = PortFacts> {
    ports.iter().map(|port| PortFacts {
        port: port.port,
        name: port.name.clone(),
        protocol: port.protocol,
    })
}
