//! `healthCheckNodePort`: whether this node has endpoints of a Service, for load balancers.
//!
//! As in kube-proxy, the distinct addresses of ready endpoints of this node count, over all ports.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_model::{NodeId, PortId, Selectable as _, ServiceId, ServiceKey};
use evenkeel_topology::consumer::View;
use rustc_hash::FxHashMap;

/// What is answered at a health check port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    pub service: ServiceKey,
    pub port: u16,
    pub local_endpoints: usize,
}

#[derive(Debug, Default)]
pub(super) struct HealthChecks {
    /// The first Service by name has a port.
    by_port: BTreeMap<(u16, ServiceKey), usize>,
    of_service: FxHashMap<ServiceId, (u16, ServiceKey)>,
    services: FxHashMap<PortId, ServiceId>,
}

impl HealthChecks {
    /// A port of a Service, or its endpoints, changed.
    pub(super) fn count(&mut self, id: PortId, view: &View, node: NodeId) {
        let Some(port) = view.port(id) else { return };
        let service = port.service();
        let known = port.service_id();
        let Some(number) = service.frontends.health_check_node_port() else {
            if self.services.get(&id) == Some(&known) {
                self.forget(known);
            }
            return;
        };
        let ports = view.ports_of(known).iter().filter_map(|port| view.port(*port));
        let endpoints = ports.flat_map(evenkeel_topology::consumer::PortView::endpoints);
        let local = endpoints.filter(|e| e.ready() && e.on_node() == Some(node));
        let addresses: BTreeSet<_> = local.map(|endpoint| endpoint.backend.ip).collect();
        let key = (number.get(), service.key.clone());
        if self.of_service.get(&known).is_some_and(|before| *before != key) {
            self.forget(known);
        }
        self.services.insert(id, known);
        self.of_service.insert(known, key.clone());
        self.by_port.insert(key, addresses.len());
    }

    /// A port is gone; its Service has none left, or is counted again by the others.
    pub(super) fn remove(&mut self, id: PortId) {
        if let Some(service) = self.services.remove(&id)
            && !self.services.values().any(|other| *other == service)
        {
            self.forget(service);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = HealthCheck> {
        let mut last = None;
        let first =
            self.by_port.iter().filter(move |((port, _), _)| last.replace(*port) != Some(*port));
        first.map(|((port, service), n)| HealthCheck {
            service: service.clone(),
            port: *port,
            local_endpoints: *n,
        })
    }

    fn forget(&mut self, service: ServiceId) {
        if let Some(key) = self.of_service.remove(&service) {
            self.by_port.remove(&key);
        }
    }
}
