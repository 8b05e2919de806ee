//! One mesh. Nothing in it refers to another, so that no policy reaches into another mesh.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use super::{
    Changes, ProxyPlan, Settings,
    dataplanes::Proxy,
    intern::Held,
    named::Named,
    policies::PolicyEntry,
    selectors::SelectorIndex,
    service::Service,
    services::{ExternalObject, MultiZoneObject, ServiceObject},
    shapes::Shapes,
};
use crate::resource::{Key, Kind, Labels, Resource, Spec};

#[derive(Debug)]
pub(super) struct MeshView {
    pub(super) name: Arc<str>,
    pub(super) settings: Settings,
    pub(super) dataplanes: BTreeMap<Arc<str>, Proxy>,
    /// By the tag `kuma.io/service`, or by the name of a MeshService.
    pub(super) services: FxHashMap<Arc<str>, Service>,
    pub(super) mesh_services: Named<ServiceObject>,
    pub(super) multi_zone: Named<MultiZoneObject>,
    pub(super) external: Named<ExternalObject>,
    pub(super) policies: BTreeMap<(Kind, Arc<str>), Arc<PolicyEntry>>,
    /// MeshServices by the tags of inbounds.
    pub(super) by_tags: SelectorIndex,
    /// MeshMultiZoneServices by the labels of MeshServices.
    pub(super) by_labels: SelectorIndex,
    pub(super) shapes: Shapes,
    pub(super) tags: Held<Labels>,
    pub(super) work: u64,
    /// Whether an inbound was ready before is not known, and assumed.
    pub(super) is_first_read: bool,
}

impl MeshView {
    pub(super) fn new(name: Arc<str>, settings: Settings, is_first_read: bool) -> Self {
        MeshView {
            name,
            settings,
            dataplanes: BTreeMap::new(),
            services: FxHashMap::default(),
            mesh_services: Named::default(),
            multi_zone: Named::default(),
            external: Named::default(),
            policies: BTreeMap::new(),
            by_tags: SelectorIndex::default(),
            by_labels: SelectorIndex::default(),
            shapes: Shapes::default(),
            tags: Held::default(),
            work: 0,
            is_first_read,
        }
    }

    pub(super) fn work(&self) -> u64 {
        self.work
    }

    pub(super) fn proxy_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.dataplanes.keys()
    }

    pub(super) fn apply(&mut self, resource: Resource) -> Changes {
        let Resource { key, display_name, labels, spec } = resource;
        let (kind, name) = (key.kind, key.name);
        let mut changes = Changes::default();
        match spec {
            Spec::Mesh => {}
            Spec::Dataplane(dataplane) => {
                self.apply_dataplane(&name, display_name, labels, dataplane, &mut changes);
            }
            Spec::MeshService(spec) => {
                let object = ServiceObject::new(spec, labels, &display_name);
                self.replace_service(&name, Some((display_name, object)), &mut changes);
            }
            Spec::MeshMultiZoneService(spec) => {
                let object = MultiZoneObject::new(spec, labels);
                self.replace_multi_zone(&name, Some((display_name, object)), &mut changes);
            }
            Spec::MeshExternalService(spec) => {
                let object = ExternalObject::new(&spec, labels);
                self.replace_external(&name, Some((display_name, object)), &mut changes);
            }
            Spec::Policy(policy) => {
                self.replace_policy(kind, name, Some((display_name, policy)), &mut changes);
            }
        }
        changes
    }

    pub(super) fn delete(&mut self, key: &Key) -> Changes {
        let mut changes = Changes::default();
        let name = &key.name;
        match key.kind {
            Kind::Mesh => {}
            Kind::Dataplane => self.delete_dataplane(name, &mut changes),
            Kind::MeshService => self.replace_service(name, None, &mut changes),
            Kind::MeshMultiZoneService => self.replace_multi_zone(name, None, &mut changes),
            Kind::MeshExternalService => self.replace_external(name, None, &mut changes),
            kind => self.replace_policy(kind, name.clone(), None, &mut changes),
        }
        changes
    }

    pub(super) fn proxy(&mut self, name: &Arc<str>) -> Option<ProxyPlan> {
        let outbound = self.outbound_plan(name)?;
        let inbound = self.inbound_plan(name, &outbound)?;
        Some(ProxyPlan { outbound, inbound })
    }
}
