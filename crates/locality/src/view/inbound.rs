//! The inbounds of a proxy: each is a listener that forwards to the workload.

use core::net::SocketAddr;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evenkeel_model::mesh::{
    Cluster, ClusterEndpoints, Direction, Listener, LoadBalancer, MeshProtocol, ProxyConfig, Route,
    RouteAction, RouteMatch, RouteTable, Split, Traffic,
};

use super::{OutboundPlan, PlanReason, mesh::MeshView, name, plan::CONNECT_TIMEOUT};
use crate::resource::Inbound;

/// What one proxy alone is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InboundPlan {
    /// In the order of the Dataplane's inbounds.
    pub config: ProxyConfig,
    pub reasons: Vec<PlanReason>,
}

impl MeshView {
    pub(super) fn inbound_plan(
        &mut self,
        name: &Arc<str>,
        outbound: &OutboundPlan,
    ) -> Option<InboundPlan> {
        let dataplane = self.dataplanes.get(name)?.dataplane.clone();
        let mut plan = InboundPlan::default();
        let mut listening: BTreeMap<SocketAddr, Arc<str>> = BTreeMap::new();
        for inbound in &dataplane.inbounds {
            let (address, service) = (inbound.listen, inbound.service());
            if let Some(kept) = listening.get(&address) {
                let (left_out, kept) = (service, kept.clone());
                plan.reasons.push(PlanReason::AddressTaken { address, left_out, kept });
                continue;
            }
            let name = name::inbound(address);
            if outbound.assignments.binary_search_by(|(other, _)| other.cmp(&name)).is_ok() {
                plan.reasons.push(PlanReason::ClusterNameTaken { cluster: name });
                continue;
            }
            listening.insert(address, service);
            self.add_inbound(inbound, &name, &mut plan.config);
        }
        for other in &outbound.config.listeners {
            if let Some(kept) = listening.get(&other.address) {
                let (address, left_out, kept) = (other.address, other.name.clone(), kept.clone());
                plan.reasons.push(PlanReason::AddressTaken { address, left_out, kept });
            }
        }
        Some(plan)
    }

    fn add_inbound(&mut self, inbound: &Inbound, name: &Arc<str>, config: &mut ProxyConfig) {
        let split = Split { clusters: vec![(name.clone(), 1)], hash_source_ip: false };
        let traffic = match inbound.protocol {
            MeshProtocol::Tcp => Traffic::Tcp(split),
            protocol => {
                let table = self.shapes.routes.intern(to_workload(name, split));
                config.routes.push(table);
                Traffic::Http { route_table: name.clone(), protocol }
            }
        };
        config.clusters.push(self.shapes.clusters.intern(workload(inbound, name)));
        config.listeners.push(self.shapes.listeners.intern(Listener {
            name: name.clone(),
            address: inbound.listen,
            direction: Direction::Inbound,
            traffic,
        }));
    }
}

fn to_workload(name: &Arc<str>, split: Split) -> RouteTable {
    // None, as in Kuma: how long a request may take is for its client to say.
    let timeout = Some(Duration::ZERO);
    let action = RouteAction::Forward { split, hash_policies: Vec::new(), timeout };
    let route = Route { matches: RouteMatch::default(), action };
    RouteTable { name: name.clone(), routes: vec![route] }
}

fn workload(inbound: &Inbound, name: &Arc<str>) -> Cluster {
    Cluster {
        name: name.clone(),
        protocol: inbound.protocol,
        connect_timeout: CONNECT_TIMEOUT,
        endpoints: ClusterEndpoints::Fixed(inbound.workload),
        load_balancer: LoadBalancer::default(),
        locality_weighted: false,
        panic_threshold: None,
        health_checks: Vec::new(),
        outlier_detection: None,
        limits: None,
    }
}
