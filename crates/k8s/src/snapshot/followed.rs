//! A snapshot that follows a cluster.
//!
//! ```text
//!   watches ──► take ──┐
//!   lists ──► beside ──┴─► tables, members ─► touched Services ─► snapshot: their states anew, all
//!                                                                 others shared with the one before
//! ```
//!
//! A change costs what belongs to the Services that it touches: their slices and Pods. Nodes are shown as
//! they were at the last [`renew_nodes`](Followed::renew_nodes), since all Services depend on them. A
//! snapshot costs one pointer for each Service, and a copy of the nodes, of names and of reports.
//!
//! What can't be converted counts as gone, and spoils nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

use evenkeel_model::{
    LabelValues, Node, NodeId, SeenReport, ServiceKey, ServiceState, Snapshot, Topology,
};

use super::{
    autoscalers::Autoscalers,
    entry::{NodeEntry, PodEntry, ServiceEntry, SliceEntry},
    events::{self, Events},
    members::Members,
    pod_labels, reports, revisions,
    table::{Changed, Table},
};
use crate::{Objects, watch::Batch};

/// What is known of a cluster, and the snapshot that was last made of it.
#[derive(Debug, Default)]
pub struct Followed {
    names: Topology,
    nodes: Table<NodeEntry>,
    services: Table<ServiceEntry>,
    slices: Table<SliceEntry>,
    pods: Table<PodEntry>,
    /// By Service, whether it is there or not.
    slices_of: BTreeMap<ServiceKey, BTreeSet<Arc<str>>>,
    members: Members,
    events: Events,
    scalers: Autoscalers,
    reports: Vec<SeenReport>,
    shown: Shown,
    touched: BTreeSet<ServiceKey>,
    /// Namespaces where Pods came, went or have other labels.
    relabelled: BTreeSet<Arc<str>>,
    has_other_nodes: bool,
    has_other_reports: bool,
}

/// What the last snapshot was made of.
#[derive(Debug, Default)]
struct Shown {
    /// Sorted by name.
    nodes: Vec<Node>,
    cordoned: Vec<NodeId>,
    states: BTreeMap<ServiceKey, Arc<ServiceState>>,
    orphans: BTreeSet<ServiceKey>,
    /// By namespace, the Services with a selector that matches no Pod.
    unmatched: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Of those namespaces.
    pod_labels: BTreeMap<Arc<str>, Arc<LabelValues>>,
}

// === impl Followed ===

impl Followed {
    /// What a watch of Nodes, Services, EndpointSlices or Pods tells.
    pub fn take(&mut self, batch: Batch) {
        match batch {
            Batch::Nodes(batch) => batch.into_iter().for_each(|seen| {
                let seen = seen.read(|node| {
                    let (converted, _) = node.seen(&mut self.names);
                    let entry = NodeEntry { node: converted, cordoned: node.is_cordoned() };
                    Ok((ServiceKey::new("", node.name()), entry))
                });
                let changed = seen.map(|seen| self.nodes.watch(seen));
                self.has_other_nodes |= changed.is_some_and(|changed| !changed.is_empty());
            }),
            Batch::Services(batch) => batch.into_iter().for_each(|seen| {
                let seen = seen.read(|service| {
                    let entry = ServiceEntry::from(service.seen());
                    Ok((entry.service.key.clone(), entry))
                });
                let changed = seen.map(|seen| self.services.watch(seen));
                changed.into_iter().flatten().for_each(|changed| self.service_changed(changed));
            }),
            Batch::Slices(batch) => batch.into_iter().for_each(|seen| {
                let seen = seen.read(|slice| {
                    let seen = slice.seen(&mut self.names).map_err(|_| slice.gone())?;
                    let entry = SliceEntry::new(seen, slice.trigger_time());
                    Ok((entry.key.clone(), entry))
                });
                let changed = seen.map(|seen| self.slices.watch(seen));
                changed.into_iter().flatten().for_each(|changed| self.slice_changed(changed));
            }),
            Batch::Pods(batch) => batch.into_iter().for_each(|seen| {
                let seen = seen.read(|pod| {
                    let seen = pod.seen(&mut self.names).map_err(|_| pod.gone())?;
                    let entry = PodEntry::new(seen.pod, seen.labels, pod);
                    Ok((entry.key(), entry))
                });
                let changed = seen.map(|seen| self.pods.watch(seen));
                changed.into_iter().flatten().for_each(|changed| self.pod_changed(changed));
            }),
            Batch::Leases(_) | Batch::Mesh(..) => {}
        }
    }

    /// What no watch tells: Events, autoscalers and the reports of proxies.
    pub fn beside(&mut self, objects: &Objects) {
        let (events, scalers) = (mem::take(&mut self.events), mem::take(&mut self.scalers));
        let reports = mem::take(&mut self.reports);
        self.put_beside(objects);
        let keys = events.keys().chain(self.events.keys());
        let differing = keys.filter(|key| events.get(*key) != self.events.get(*key));
        self.touched.extend(differing.cloned());
        if scalers != self.scalers {
            self.touched.extend(self.services.iter().map(|(key, _)| key.clone()));
        }
        let told = |reports: &[SeenReport]| -> Vec<_> {
            reports.iter().map(|seen| seen.report.clone()).collect()
        };
        self.has_other_reports |= told(&reports) != told(&self.reports);
    }

    /// The first lists of Nodes, Services and EndpointSlices are complete.
    pub fn is_listed(&self) -> bool {
        self.nodes.is_listed() && self.services.is_listed() && self.slices.is_listed()
    }

    pub fn has_pods(&self) -> bool {
        self.pods.is_listed()
    }

    /// The next snapshot may differ, even if Nodes are shown as they were.
    pub fn has_changed(&self) -> bool {
        let is_shown = |namespace: &Arc<str>| self.shown.unmatched.contains_key(namespace);
        self.has_other_reports || !self.touched.is_empty() || self.relabelled.iter().any(is_shown)
    }

    /// Nodes differ from those that are shown.
    pub fn has_other_nodes(&self) -> bool {
        self.has_other_nodes
    }

    /// Shows the Nodes as they are.
    pub fn renew_nodes(&mut self) {
        self.has_other_nodes = false;
        let names = &self.names.nodes;
        let mut entries: Vec<&NodeEntry> = self.nodes.iter().map(|(_, entry)| entry).collect();
        entries.sort_unstable_by_key(|entry| names.name(entry.node.id));
        let cordoned = entries.iter().filter(|entry| entry.cordoned).map(|entry| entry.node.id);
        self.shown.cordoned = cordoned.collect();
        self.shown.nodes = entries.into_iter().map(|entry| entry.node.clone()).collect();
    }

    /// `read_at`: now, in seconds since 1970, if this is a cluster's state.
    pub fn snapshot(&mut self, read_at: Option<i64>) -> Snapshot {
        for key in mem::take(&mut self.touched) {
            self.renew(&key);
        }
        for namespace in mem::take(&mut self.relabelled) {
            self.renew_labels(namespace);
        }
        self.has_other_reports = false;
        Snapshot {
            topology: self.names.clone(),
            nodes: self.shown.nodes.clone(),
            services: self.shown.states.values().cloned().collect(),
            orphans: self.shown.orphans.iter().cloned().collect(),
            cordoned: self.shown.cordoned.clone(),
            has_pods: self.has_pods() || !self.pods.is_empty(),
            pod_labels: self.shown.pod_labels.clone(),
            reports: self.reports.clone(),
            read_at,
        }
    }

    pub(super) fn names_mut(&mut self) -> &mut Topology {
        &mut self.names
    }

    pub(super) fn put_node(&mut self, name: &str, entry: NodeEntry) {
        self.nodes.put(ServiceKey::new("", name), entry);
    }

    pub(super) fn put_service(&mut self, entry: ServiceEntry) {
        let changed = self.services.put(entry.service.key.clone(), entry);
        changed.into_iter().for_each(|changed| self.service_changed(changed));
    }

    pub(super) fn put_slice(&mut self, entry: SliceEntry) {
        let changed = self.slices.put(entry.key.clone(), entry);
        changed.into_iter().for_each(|changed| self.slice_changed(changed));
    }

    pub(super) fn put_pod(&mut self, entry: PodEntry) {
        let changed = self.pods.put(entry.key(), entry);
        changed.into_iter().for_each(|changed| self.pod_changed(changed));
    }

    pub(super) fn put_beside(&mut self, objects: &Objects) {
        self.events = events::by_service(&objects.events);
        self.scalers = Autoscalers::new(&objects.autoscalers);
        self.reports = reports::reports(&objects.leases);
    }

    fn service_changed(&mut self, (key, old): Changed<ServiceEntry>) {
        let Followed { services, pods, members, .. } = self;
        let new = services.get(&key).map(|entry| &entry.service);
        let old = old.as_ref().map(|entry| &entry.service);
        if old.map(|old| &old.selector) != new.map(|new| &new.selector) {
            old.into_iter().for_each(|old| members.remove_service(old));
            let labels = |pod: &ServiceKey| pods.get(pod).map(|entry| &entry.labels);
            new.into_iter().for_each(|new| members.add_service(new, labels));
        }
        self.touched.insert(key);
    }

    fn slice_changed(&mut self, (key, old): Changed<SliceEntry>) {
        if let Some(service) = old.and_then(|old| old.service)
            && let Some(names) = self.slices_of.get_mut(&service)
        {
            names.remove(&key.name);
            if names.is_empty() {
                self.slices_of.remove(&service);
            }
            self.touched.insert(service);
        }
        if let Some(service) = self.slices.get(&key).and_then(|new| new.service.clone()) {
            self.slices_of.entry(service.clone()).or_default().insert(key.name);
            self.touched.insert(service);
        }
    }

    fn pod_changed(&mut self, (key, old): Changed<PodEntry>) {
        let Followed { services, pods, members, touched, .. } = self;
        let service = |key: &ServiceKey| services.get(key).map(|entry| &entry.service);
        let new = pods.get(&key);
        let is_labelled_anew = old.as_ref().map(|old| &old.labels) != new.map(|new| &new.labels);
        if let Some(old) = old {
            touched.extend(members.remove_pod(&key, &old.labels, service));
        }
        if let Some(new) = new {
            touched.extend(members.add_pod(&key, &new.labels, service));
        }
        if is_labelled_anew {
            self.relabelled.insert(key.namespace);
        }
    }

    /// The state of a Service. One that is as it was stays the same object.
    fn renew(&mut self, key: &ServiceKey) {
        let state = self.state(key);
        let has_slices = || self.slices_of(key).any(|entry| !entry.deleting);
        let is_orphan = state.is_none() && has_slices();
        let is_unmatched =
            |state: &ServiceState| state.service.selector.is_some() && state.pods.is_empty();
        let is_unmatched = state.as_ref().is_some_and(is_unmatched);
        let Shown { states, orphans, .. } = &mut self.shown;
        if is_orphan {
            orphans.insert(key.clone());
        } else {
            orphans.remove(key);
        }
        match state {
            None => drop(states.remove(key)),
            Some(state) if states.get(key).is_some_and(|known| **known == state) => {}
            Some(state) => drop(states.insert(key.clone(), Arc::new(state))),
        }
        self.set_unmatched(key, is_unmatched);
    }

    fn state(&self, key: &ServiceKey) -> Option<ServiceState> {
        let ServiceEntry { service, version } = self.services.get(key)?;
        let slices = self.slices_of(key);
        let versions = slices.clone().map(|entry| (Some(&*entry.version), entry.changed));
        let shown = slices.filter(|entry| !entry.deleting).map(|entry| entry.slice.clone());
        let pods = self.members.pods_of(key);
        let pods = pods.filter_map(|name| self.pods.get(&in_namespace_of(key, name)));
        let mut autoscaler = None;
        pods.clone().for_each(|entry| self.scalers.pick(&entry.workloads, &mut autoscaler));
        Some(ServiceState {
            revisions: revisions::of(Some(version), versions),
            slices: shown.collect(),
            pods: pods.clone().map(|entry| entry.pod.clone()).collect(),
            pod_problems: pods.filter_map(|entry| entry.problem.clone()).collect(),
            events: events::about(&self.events, service),
            autoscaler,
            service: service.clone(),
        })
    }

    /// Sorted by name.
    fn slices_of<'s>(
        &'s self,
        key: &'s ServiceKey,
    ) -> impl Iterator<Item = &'s SliceEntry> + Clone {
        let names = self.slices_of.get(key).into_iter().flatten();
        names.filter_map(|name| self.slices.get(&in_namespace_of(key, name)))
    }

    fn set_unmatched(&mut self, key: &ServiceKey, is_unmatched: bool) {
        let Shown { unmatched, .. } = &mut self.shown;
        let ServiceKey { namespace, name } = key;
        if is_unmatched {
            let names = unmatched.entry(Arc::clone(namespace)).or_default();
            if names.insert(Arc::clone(name)) && names.len() == 1 {
                self.relabelled.insert(Arc::clone(namespace));
            }
        } else if let Some(names) = unmatched.get_mut(namespace) {
            names.remove(name);
            if names.is_empty() {
                unmatched.remove(namespace);
                self.shown.pod_labels.remove(namespace);
            }
        }
    }

    /// O(Pods of the namespace), where a selector matches none of them.
    fn renew_labels(&mut self, namespace: Arc<str>) {
        let Shown { unmatched, pod_labels, .. } = &mut self.shown;
        let names = self.members.pods_in(&namespace);
        let mut pods = names
            .filter_map(|name| {
                self.pods.get(&ServiceKey::new(Arc::clone(&namespace), Arc::clone(name)))
            })
            .peekable();
        if !unmatched.contains_key(&namespace) || pods.peek().is_none() {
            pod_labels.remove(&namespace);
            return;
        }
        let labels = pod_labels::of(pods.flat_map(|entry| &entry.labels));
        if pod_labels.get(&namespace).is_none_or(|known| **known != labels) {
            pod_labels.insert(namespace, Arc::new(labels));
        }
    }
}

fn in_namespace_of(key: &ServiceKey, name: &Arc<str>) -> ServiceKey {
    ServiceKey { namespace: Arc::clone(&key.namespace), name: Arc::clone(name) }
}
