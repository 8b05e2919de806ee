//! Where clients reach a Service port, and what holds for each of these places.

use core::net::IpAddr;
use std::{num::NonZeroU16, sync::Arc};

use evenkeel_model::{Cidr, IpMode, Protocol, Service, ServiceKey, ServicePort, TrafficPolicy};

use crate::{By, Family, Key};

/// A place at which clients reach a Service port. No two ports can have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Frontend {
    Address { ip: IpAddr, protocol: Protocol, port: u16 },
    NodePort { family: Family, protocol: Protocol, port: u16 },
}

/// A Service port in one address family, as far as rules depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSpec {
    pub name: Arc<PortName>,
    pub frontends: Vec<FrontendSpec>,
    /// `internalTrafficPolicy: Local`.
    pub internal_local: bool,
    /// Session affinity: its timeout in seconds.
    pub affinity: Option<u32>,
}

/// Orders ports that want the same frontend: the first has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortName {
    pub service: ServiceKey,
    pub port: Arc<str>,
    pub protocol: Protocol,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontendSpec {
    pub frontend: Frontend,
    pub kind: Kind,
    /// Who may use it; `None`: everybody.
    pub allowed: Option<Vec<Cidr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ClusterIp,
    /// External IP, load-balancer IP or node port.
    External {
        /// `externalTrafficPolicy: Local`.
        local: bool,
    },
}

// === impl Frontend ===

impl Frontend {
    pub fn family(self) -> Family {
        match self {
            Frontend::Address { ip, .. } => Family::of(ip),
            Frontend::NodePort { family, .. } => family,
        }
    }

    pub fn protocol(self) -> Protocol {
        match self {
            Frontend::Address { protocol, .. } | Frontend::NodePort { protocol, .. } => protocol,
        }
    }

    pub fn by(self) -> By {
        match self {
            Frontend::Address { .. } => By::Address,
            Frontend::NodePort { .. } => By::NodePort,
        }
    }

    pub fn key(self) -> Key {
        match self {
            Frontend::Address { ip, protocol, port } => {
                Key::new().address(ip).protocol(protocol).port(port)
            }
            Frontend::NodePort { protocol, port, .. } => Key::new().protocol(protocol).port(port),
        }
    }
}

// === impl PortSpec ===

impl PortSpec {
    /// The port of a Service that a proxy serves. `node_ip` is the node's own address: where it may
    /// use a load-balancer IP, so may connections that have that IP as their source.
    pub fn of(
        service: &Service,
        port: &ServicePort,
        family: Family,
        node_ip: Option<IpAddr>,
    ) -> PortSpec {
        let name = PortName {
            service: service.key.clone(),
            port: Arc::clone(&port.name),
            protocol: port.protocol,
        };
        let at = |ip| Frontend::Address { ip, protocol: port.protocol, port: port.port };
        let mut frontends = Vec::new();
        let mut add = |frontend, kind, allowed| {
            let is_new = |known: &FrontendSpec| known.frontend != frontend;
            if frontends.iter().all(is_new) {
                frontends.push(FrontendSpec { frontend, kind, allowed });
            }
        };
        let of_family = |ip: &&IpAddr| Family::of(**ip) == family;
        for ip in service.frontends.cluster_ips.iter().filter(of_family) {
            add(at(*ip), Kind::ClusterIp, None);
        }
        let external =
            Kind::External { local: service.exposure.external == Some(TrafficPolicy::Local) };
        for (ip, allowed) in load_balancer_ips(service, family, node_ip) {
            add(at(ip), external, allowed);
        }
        for ip in service.frontends.external_ips().iter().filter(of_family) {
            add(at(*ip), external, None);
        }
        if let Some(node_port) = port.node_port.map(NonZeroU16::get) {
            let (protocol, port) = (port.protocol, node_port);
            add(Frontend::NodePort { family, protocol, port }, external, None);
        }
        // Most have one, and there are many.
        frontends.shrink_to_fit();
        PortSpec {
            name: Arc::new(name),
            frontends,
            internal_local: service.exposure.internal == TrafficPolicy::Local,
            affinity: service.frontends.affinity().map(|affinity| affinity.timeout_seconds),
        }
    }
}

/// With who may use them. Ranges of the other family let nobody in; a range of all addresses lets
/// everybody in.
fn load_balancer_ips(
    service: &Service,
    family: Family,
    node_ip: Option<IpAddr>,
) -> Vec<(IpAddr, Option<Vec<Cidr>>)> {
    let frontends = &service.frontends;
    let of_family = |ip: &IpAddr| Family::of(*ip) == family;
    let on_nodes = frontends.load_balancer().iter().filter(|ip| ip.mode == IpMode::Vip);
    let ips: Vec<IpAddr> = on_nodes.map(|ip| ip.ip).filter(of_family).collect();
    let allowed = frontends.source_ranges().and_then(|ranges| {
        let ranges: Vec<Cidr> =
            ranges.iter().copied().filter(|range| of_family(&range.network())).collect();
        if ranges.iter().any(|range| range.prefix() == 0) {
            return None;
        }
        let lets_node_in = |node: IpAddr| ranges.iter().any(|range| range.contains(node));
        let mut allowed = widest(&ranges);
        if node_ip.is_some_and(lets_node_in) {
            let own =
                ips.iter().filter_map(|ip| Cidr::new(*ip, if ip.is_ipv4() { 32 } else { 128 }));
            allowed = widest(&allowed.into_iter().chain(own).collect::<Vec<_>>());
        }
        Some(allowed)
    });
    ips.into_iter().map(|ip| (ip, allowed.clone())).collect()
}

/// Without ranges that lie in others: sets can't hold both.
fn widest(ranges: &[Cidr]) -> Vec<Cidr> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| (range.prefix(), range.network()));
    let mut widest: Vec<Cidr> = Vec::with_capacity(sorted.len());
    for range in sorted {
        if !widest.iter().any(|wide| wide.contains(range.network())) {
            widest.push(range);
        }
    }
    widest.sort_unstable();
    widest
}
