//! A cluster at one moment, grouped by Service: what `explain` and `plan` look at.

use std::sync::Arc;

use crate::{Node, Pod, Service, ServiceKey, Slice, Topology};

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

/// One Service with all that belongs to it.
#[derive(Clone, Debug)]
pub struct ServiceState {
    pub service: Service,
    /// The slices labelled with its name, by whomever they are written, sorted by name.
    pub slices: Vec<Slice>,
    /// The Pods its selector picks, sorted by name. Empty when Pods were not given.
    pub pods: Vec<Pod>,
    pub events: Vec<EventNote>,
    pub autoscaler: Option<Autoscaler>,
}

#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub topology: Topology,
    /// Sorted by name.
    pub nodes: Vec<Node>,
    /// Sorted by namespace and name.
    pub services: Vec<ServiceState>,
    /// Slices that name a Service which is not here.
    pub orphans: Vec<ServiceKey>,
}

// === impl ServiceState ===

impl ServiceState {
    /// A Service with nothing else known about it.
    pub fn new(service: Service) -> Self {
        ServiceState {
            service,
            slices: Vec::new(),
            pods: Vec::new(),
            events: Vec::new(),
            autoscaler: None,
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    pub fn service(&self, key: &ServiceKey) -> Option<&ServiceState> {
        let found = self.services.binary_search_by(|s| s.service.key.cmp(key));
        found.ok().map(|index| &self.services[index])
    }
}
