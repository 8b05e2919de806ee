//! A cluster at one moment, grouped by Service: what `explain` and `plan` look at.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{Node, NodeId, Pod, Revision, SeenReport, Service, ServiceKey, Slice, Topology};

/// An Event about a Service, newest last in its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNote {
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub warning: bool,
}

/// An autoscaler of the workload behind a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autoscaler {
    pub name: Arc<str>,
    pub min_replicas: u32,
    pub max_replicas: u32,
}

/// A Pod that is not ready, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodProblem {
    pub pod: Arc<str>,
    pub cause: PodCause,
}

/// Why a Pod is not ready, as its status reports it. Messages may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodCause {
    /// The scheduler found no node.
    Unschedulable { message: Arc<str> },
    /// Scheduled, and not started yet.
    Pending,
    /// A container can't start, as with `ImagePullBackOff` or `CrashLoopBackOff`.
    ContainerWaiting { container: Arc<str>, reason: Arc<str>, message: Arc<str> },
    /// It runs, and its readiness is not reported.
    NotReady { message: Arc<str> },
    /// It ended with an error, or was evicted.
    Failed { reason: Arc<str>, message: Arc<str> },
}

/// The values of each label key.
pub type LabelValues = BTreeMap<Arc<str>, BTreeSet<Arc<str>>>;

/// The states of a Service and its slices, for comparison with what proxies report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions {
    pub service: Revision,
    /// The newest of its slices; `None`: there are none.
    pub slices: Option<Revision>,
    /// When the change happened that the newest slice was written for, in seconds since 1970.
    pub changed: Option<i64>,
}

/// One Service with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceState {
    pub service: Service,
    /// The slices labelled with its name, by whomever they are written, sorted by name.
    pub slices: Vec<Slice>,
    /// The Pods its selector picks, sorted by name. Empty when Pods were not given.
    pub pods: Vec<Pod>,
    /// Those of its Pods that are not ready, sorted by name.
    pub pod_problems: Vec<PodProblem>,
    pub events: Vec<EventNote>,
    pub autoscaler: Option<Autoscaler>,
    /// `None`: not all of them are known and can be compared.
    pub revisions: Option<Revisions>,
}

#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub topology: Topology,
    /// Sorted by name.
    pub nodes: Vec<Node>,
    /// Sorted by namespace and name. Shared with the snapshots before and after, where nothing about the
    /// Service differs.
    pub services: Vec<Arc<ServiceState>>,
    /// Slices that name a Service which is not here.
    pub orphans: Vec<ServiceKey>,
    /// Nodes with `spec.unschedulable`, in the order of `nodes`.
    pub cordoned: Vec<NodeId>,
    /// Pods were read: a Service without Pods has none, instead of none being known.
    pub has_pods: bool,
    /// By namespace, the labels of Pods where some selector matches none.
    pub pod_labels: BTreeMap<Arc<str>, Arc<LabelValues>>,
    /// What the proxies of nodes report, by the name of the node.
    pub reports: Vec<SeenReport>,
    /// When all of this was read from a cluster, in seconds since 1970. `None`: it is from files, so
    /// nothing in it is old or new.
    pub read_at: Option<i64>,
}

// === impl ServiceState ===

impl ServiceState {
    /// A Service with nothing else known about it.
    pub fn new(service: Service) -> Self {
        ServiceState {
            service,
            slices: Vec::new(),
            pods: Vec::new(),
            pod_problems: Vec::new(),
            events: Vec::new(),
            autoscaler: None,
            revisions: None,
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    pub fn states(&self) -> impl Iterator<Item = &ServiceState> {
        self.services.iter().map(|state| &**state)
    }

    pub fn service(&self, key: &ServiceKey) -> Option<&ServiceState> {
        let found = self.services.binary_search_by(|s| s.service.key.cmp(key));
        found.ok().map(|index| &*self.services[index])
    }
}
