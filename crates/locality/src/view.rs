//! The resources of all meshes as an index, and what each proxy is told.
//!
//! ```text
//!   Dataplane ──inbounds──► services ──endpoints──► assignment(key): once for each place
//!       │                      │ protocol, which splits are empty
//!       ▼                      ▼
//!     shape ─────────────► OutboundPlan: once for all proxies alike ──► proxy(key)
//!       ▲ policies that are for the client
//! ```
//!
//! A proxy's *shape* is what its plan depends on: the policies that are for it, its outbounds, and its
//! place. Proxies of one shape share one plan. A plan records what it was made from besides: facts
//! of services (protocol, ports, labels) and splits that are empty or not. A change is compared with
//! these records, so that it costs what it touches: a Dataplane its own inbounds and the services
//! that they belong to, a policy the proxies that it is for.
//!
//! An endpoint that was ready and is not is unhealthy; one that was never ready is left out. Whether
//! it was ready is known only to a view that has seen it. So that a restart loses nothing, what is not ready
//! in the first read of all resources counts as once ready, see [`View::first_read`].

mod changes;
mod dataplanes;
mod in_force;
mod inbound;
pub(crate) mod intern;
mod key;
mod matching;
mod merge;
mod mesh;
mod name;
mod named;
mod plain;
mod plan;
mod policies;
mod reason;
mod selectors;
mod service;
mod services;
mod shapes;
mod split;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::mesh::{PlainService, ProxyConfig};

use self::mesh::MeshView;
pub use self::{
    changes::Changes,
    in_force::InForce,
    inbound::InboundPlan,
    key::{AssignmentKey, ProxyKey, ServiceKey, StrategyInForce},
    merge::{Merged, merge},
    plan::OutboundPlan,
    reason::PlanReason,
};
use crate::{
    Assigned, Compat,
    resource::{Key, Policy, Resource},
};

/// What holds for the whole control plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// That of Dataplanes that name none.
    pub zone: Option<Arc<str>>,
    pub compat: Compat,
}

/// The resources of all meshes.
#[derive(Debug, Default)]
pub struct View {
    settings: Settings,
    meshes: BTreeMap<Arc<str>, MeshView>,
    is_first_read: bool,
}

/// What one proxy is told.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyPlan {
    /// Shared by all proxies alike.
    pub outbound: Arc<OutboundPlan>,
    pub inbound: InboundPlan,
}

impl View {
    pub fn new(settings: Settings) -> Self {
        View { settings, meshes: BTreeMap::new(), is_first_read: false }
    }

    /// A view whose resources have been there before: until [`View::end_first_read`], what is not ready
    /// counts as once ready.
    pub fn first_read(settings: Settings) -> Self {
        View { is_first_read: true, ..View::new(settings) }
    }

    /// All resources have been read. From now on, what appears and is not ready was never ready.
    pub fn end_first_read(&mut self) {
        self.is_first_read = false;
        self.meshes.values_mut().for_each(|mesh| mesh.is_first_read = false);
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds a resource, or replaces the one with its key.
    pub fn apply(&mut self, resource: Resource) -> Changes {
        self.mesh(&resource.key.mesh.clone()).apply(resource)
    }

    pub fn delete(&mut self, key: &Key) -> Changes {
        match self.meshes.get_mut(&key.mesh) {
            Some(mesh) => mesh.delete(key),
            None => Changes::default(),
        }
    }

    /// A port of a Service of Kubernetes is a service of the mesh, or no longer. Its instances stand
    /// beside Dataplanes with inbounds of that service.
    pub fn set_plain(
        &mut self,
        mesh: &Arc<str>,
        service: &Arc<str>,
        plain: Option<PlainService>,
    ) -> Changes {
        self.mesh(mesh).set_plain(service, plain)
    }

    /// What a proxy is told; `None` if there is no such Dataplane.
    pub fn proxy(&mut self, key: &ProxyKey) -> Option<ProxyPlan> {
        self.meshes.get_mut(&key.mesh)?.proxy(&key.name)
    }

    /// The endpoints of a cluster, for all clients at the key's place.
    pub fn assignment(&self, key: &AssignmentKey) -> Assigned {
        let mesh = self.meshes.get(&key.service.mesh);
        mesh.map(|mesh| mesh.assigned(key)).unwrap_or_default()
    }

    /// The keys of all Dataplanes, in their order.
    pub fn proxies(&self) -> impl Iterator<Item = ProxyKey> {
        self.meshes.iter().flat_map(|(mesh, view)| {
            view.proxy_names().map(|name| ProxyKey { mesh: mesh.clone(), name: name.clone() })
        })
    }

    /// The policies of all meshes, in the order of their keys.
    pub fn policies(&self) -> impl Iterator<Item = (Key, &Policy)> {
        self.meshes.iter().flat_map(|(mesh, view)| {
            view.policies.iter().map(|((kind, name), entry)| {
                let key = Key { mesh: mesh.clone(), kind: *kind, name: name.clone() };
                (key, &entry.policy)
            })
        })
    }

    /// How many inbounds, endpoints, policies, splits and proxies were looked at so far: what the
    /// work was, independent of the machine.
    pub fn work(&self) -> u64 {
        self.meshes.values().map(MeshView::work).sum()
    }

    fn mesh(&mut self, name: &Arc<str>) -> &mut MeshView {
        let mesh = self.meshes.entry(name.clone());
        mesh.or_insert_with(|| {
            MeshView::new(name.clone(), self.settings.clone(), self.is_first_read)
        })
    }
}

impl ProxyPlan {
    /// All clusters, listeners and route tables, without endpoints.
    pub fn config(&self) -> ProxyConfig {
        let ProxyPlan { outbound, inbound } = self;
        let mut config = inbound.config.clone();
        config.clusters.extend(outbound.config.clusters.iter().cloned());
        let own: BTreeSet<_> = config.listeners.iter().map(|listener| listener.address).collect();
        let listeners = outbound.config.listeners.iter();
        config.listeners.extend(listeners.filter(|l| !own.contains(&l.address)).cloned());
        config.routes.extend(outbound.config.routes.iter().cloned());
        config
    }

    /// The clusters that are sent by endpoint discovery, by name.
    pub fn assignments(&self) -> &[(Arc<str>, Arc<AssignmentKey>)] {
        &self.outbound.assignments
    }

    /// What of the plan is not as written.
    pub fn reasons(&self) -> impl Iterator<Item = &PlanReason> {
        self.inbound.reasons.iter().chain(&self.outbound.reasons)
    }
}
