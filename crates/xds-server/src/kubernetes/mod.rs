//! Services, EndpointSlices, Pods and Nodes of a cluster, as destinations of a mesh.
//!
//! ```text
//!   Services, slices ─► View (topology::consumer) ─► ports that changed ─┐
//!   Pods: labels of an endpoint, address of a Dataplane ─────────────────┼─► PlainService ─► Update
//!   Nodes: zone, region, hostname, configured labels ────────────────────┘
//!   Dataplanes ─► tags of the Node on which they run ──────────────────────► Update
//! ```
//!
//! Each TCP port of a Service is a service of the mesh, named as Kuma does (`NAME_NAMESPACE_svc_PORT`).
//! Endpoints have the labels of their Pod and of its Node as tags, those of the Node first, since a Pod does not
//! decide where it runs. A change costs the endpoints of the ports that it concerns; Nodes with other labels cost
//! one look at all ports together. Nothing is told before the first list of every kind is complete. No clock, no task, no I/O.

mod instances;
mod located;
mod nodes;
mod origin;
mod pods;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::{
    Gone, NodeId, PortId, SeenService, SeenSlice, Selectable, ServiceKey, Topology, Watched, label,
    mesh::{PlainService, Tags},
};
use evenkeel_topology::consumer::{ChangeKind, PortView, View};
use rustc_hash::FxHashMap;

use self::{
    instances::{Made, Making, Tagged},
    located::Located,
    nodes::Nodes,
    origin::Origin,
    pods::Pods,
};
pub(crate) use self::{nodes::SeenNode, pods::PodFacts};
use crate::engine::Update;

/// The label of a Service that names its mesh.
const MESH_LABEL: &str = "kuma.io/mesh";

/// How the objects of a cluster become part of a mesh.
#[derive(Clone, Debug)]
pub struct KubernetesSettings {
    /// The mesh of Services that name none.
    pub mesh: Arc<str>,
    /// The labels of Nodes that endpoints have as tags, besides zone, region and hostname.
    pub node_labels: BTreeSet<Arc<str>>,
    /// Whose annotations count, and which gates are on.
    pub topology: evenkeel_topology::Settings,
}

impl Default for KubernetesSettings {
    fn default() -> Self {
        KubernetesSettings {
            mesh: "default".into(),
            node_labels: BTreeSet::new(),
            topology: evenkeel_topology::Settings::default(),
        }
    }
}

/// A port under its name in a mesh.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InMesh {
    mesh: Arc<str>,
    name: Arc<str>,
}

/// A port that was told.
#[derive(Debug)]
struct Told {
    in_mesh: InMesh,
    /// Sorted.
    pods: Vec<ServiceKey>,
    tagged: Tagged,
}

/// Which first lists are complete.
#[derive(Clone, Copy, Debug, Default)]
struct Listed {
    services: bool,
    slices: bool,
    pods: bool,
    nodes: bool,
}

#[derive(Debug)]
pub(crate) struct Kubernetes {
    settings: KubernetesSettings,
    /// The zone of the control plane; without it an endpoint's zone is that of its Node.
    zone: Option<Arc<str>>,
    names: Topology,
    view: View<Origin>,
    nodes: Nodes,
    pods: Pods,
    located: Located,
    listed: Listed,
    told: FxHashMap<PortId, Told>,
    /// The ports that have an endpoint of a Pod.
    by_pod: FxHashMap<ServiceKey, BTreeSet<PortId>>,
    /// Nodes whose labels changed.
    changed_nodes: BTreeSet<NodeId>,
    /// Ports to look at although no endpoint of them changed.
    stale: BTreeSet<PortId>,
}

// === impl Kubernetes ===

impl Kubernetes {
    pub(crate) fn new(settings: KubernetesSettings, zone: Option<Arc<str>>) -> Self {
        Kubernetes {
            view: View::new(settings.topology.clone()),
            nodes: Nodes::new(&settings.node_labels),
            settings,
            zone,
            names: Topology::default(),
            pods: Pods::default(),
            located: Located::default(),
            listed: Listed::default(),
            told: FxHashMap::default(),
            by_pod: FxHashMap::default(),
            changed_nodes: BTreeSet::new(),
            stale: BTreeSet::new(),
        }
    }

    /// Names of zones and nodes, for objects that are converted.
    pub(crate) fn names_mut(&mut self) -> &mut Topology {
        &mut self.names
    }

    /// The labels of Nodes that count.
    pub(crate) fn node_labels(&self) -> &BTreeSet<Arc<str>> {
        self.nodes.labels()
    }

    /// Everything that there is has been read.
    pub(crate) fn is_synced(&self) -> bool {
        let Listed { services, slices, pods, nodes } = self.listed;
        services && slices && pods && nodes
    }

    pub(crate) fn service(&mut self, seen: Watched<SeenService>) {
        self.listed.services |= matches!(seen, Watched::Complete);
        self.view.watch_service(seen);
    }

    pub(crate) fn slice(&mut self, seen: Watched<SeenSlice>) {
        self.listed.slices |= matches!(seen, Watched::Complete);
        self.view.watch_slice(seen);
    }

    pub(crate) fn pod(&mut self, seen: Watched<PodFacts>) {
        self.listed.pods |= matches!(seen, Watched::Complete);
        for pod in self.pods.watch(seen) {
            self.stale.extend(self.by_pod.get(&pod.key).into_iter().flatten());
            self.located.moved(pod.addresses);
        }
    }

    pub(crate) fn node(&mut self, seen: Watched<SeenNode>) {
        self.listed.nodes |= matches!(seen, Watched::Complete);
        self.changed_nodes.extend(self.nodes.watch(seen, &self.names));
    }

    /// One look at everything, however many Nodes have changed.
    fn follow_nodes(&mut self) {
        let changed = std::mem::take(&mut self.changed_nodes);
        if changed.is_empty() {
            return;
        }
        self.located.moved(self.pods.addresses_on(&changed));
        let is_there = |id: &PortId| {
            let endpoints = self.view.port(*id).into_iter().flat_map(PortView::endpoints);
            let mut on = endpoints.filter_map(|endpoint| endpoint.on_node());
            on.any(|node| changed.contains(&node))
        };
        self.stale.extend(self.told.keys().copied().filter(is_there));
    }

    /// Puts Dataplanes where their Pods are.
    pub(crate) fn locate(&mut self, updates: &mut [Update]) {
        for update in updates {
            match update {
                Update::Apply(resource) => {
                    self.located.remember(resource);
                    if let Some(there) = self.located.again(&resource.key, |ip| self.place(ip)) {
                        **resource = there;
                    }
                }
                Update::Delete(key) => self.located.forget(key),
                Update::Plain { .. } => {}
            }
        }
    }

    /// What follows from all that was seen, since this was last asked for.
    pub(crate) fn take(&mut self) -> Vec<Update> {
        if !self.is_synced() {
            return Vec::new();
        }
        self.follow_nodes();
        let mut changed: BTreeMap<InMesh, Option<PlainService>> = BTreeMap::new();
        for id in self.changed_ports() {
            let (before, made) = self.make(id);
            // A port that has another name now may have left its old one to another.
            if let Some(before) = before {
                changed.entry(before).or_default();
            }
            if let Some((in_mesh, service)) = made {
                changed.insert(in_mesh, Some(service));
            }
        }
        let plain = |(InMesh { mesh, name }, service): (InMesh, Option<PlainService>)| {
            Update::Plain { mesh, name, service: service.map(Box::new) }
        };
        let mut updates: Vec<Update> = changed.into_iter().map(plain).collect();
        let moved = self.located.take_moved();
        let again = |resource| Update::Apply(Box::new(resource));
        updates.extend(
            moved.iter().filter_map(|key| self.located.again(key, |ip| self.place(ip)).map(again)),
        );
        updates
    }

    /// Those that are gone first, so that their names are free.
    fn changed_ports(&mut self) -> Vec<PortId> {
        let mut stale = std::mem::take(&mut self.stale);
        let changes = self.view.changes();
        let (mut gone, mut there) = (Vec::new(), Vec::new());
        for change in changes.ports() {
            stale.remove(&change.id);
            match change.kind {
                ChangeKind::Removed => gone.push(change.id),
                ChangeKind::Added(_) | ChangeKind::Changed { .. } => there.push(change.id),
            }
        }
        drop(changes);
        gone.into_iter().chain(there).chain(stale).collect()
    }

    /// The name that a port had, and what it is now.
    fn make(&mut self, id: PortId) -> (Option<InMesh>, Option<(InMesh, PlainService)>) {
        let (before, old_pods, tagged) = match self.told.remove(&id) {
            Some(Told { in_mesh, pods, tagged }) => (Some(in_mesh), pods, tagged),
            None => (None, Vec::new(), Tagged::default()),
        };
        let making = Making {
            names: &self.names,
            nodes: &self.nodes,
            pods: &self.pods,
            zone: self.zone.as_ref(),
        };
        let port = self.view.port(id);
        let made = port.and_then(|port| making.service(port, &self.settings.topology, &tagged));
        let Some(Made { service, pods, tagged }) = made else {
            self.index(id, &old_pods, &[]);
            return (before, None);
        };
        let labels = port.map(|port| &port.service().labels);
        let mesh = labels.and_then(|labels| labels.get(MESH_LABEL)).unwrap_or(&self.settings.mesh);
        let name = PlainService::mesh_name(&service.name, &service.namespace, service.port);
        let in_mesh = InMesh { mesh: Arc::clone(mesh), name };
        self.index(id, &old_pods, &pods);
        self.told.insert(id, Told { in_mesh: in_mesh.clone(), pods, tagged });
        (before, Some((in_mesh, service)))
    }

    /// Both sorted.
    fn index(&mut self, id: PortId, old: &[ServiceKey], new: &[ServiceKey]) {
        for pod in old.iter().filter(|pod| new.binary_search(pod).is_err()) {
            if let Some(ports) = self.by_pod.get_mut(pod) {
                ports.remove(&id);
                if ports.is_empty() {
                    self.by_pod.remove(pod);
                }
            }
        }
        for pod in new.iter().filter(|pod| old.binary_search(pod).is_err()) {
            self.by_pod.entry(pod.clone()).or_default().insert(id);
        }
    }

    /// The labels of the Node at whose Pod this address is.
    fn place(&self, ip: core::net::IpAddr) -> Option<Tags> {
        let tags = self.nodes.tags(self.pods.node_at(ip)?)?;
        match (&self.zone, tags.get(label::ZONE)) {
            (None, Some(zone)) => {
                let mut tags = BTreeMap::clone(tags);
                tags.insert(evenkeel_locality::resource::ZONE_TAG.into(), Arc::clone(zone));
                Some(Arc::new(tags))
            }
            _ => Some(Arc::clone(tags)),
        }
    }
}

/// An object without a namespace, or one that is gone.
fn key(Gone { namespace, name, .. }: &Gone) -> ServiceKey {
    ServiceKey { namespace: Arc::clone(namespace), name: Arc::clone(name) }
}
