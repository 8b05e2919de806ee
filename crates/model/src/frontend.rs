//! The addresses at which clients reach a Service, and what holds for connections to them.
//!
//! Ports are with the Service ([`crate::ServicePort`], node ports included), traffic policies are
//! its [`crate::Exposure`]. Most Services have a cluster IP and nothing else, so all else is behind
//! one pointer.

use core::net::IpAddr;
use std::{fmt, num::NonZeroU16};

use serde::Serialize;

use crate::Few;

/// The frontends of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontends {
    /// One for each address family, the primary first. None for headless Services.
    pub cluster_ips: Few<IpAddr>,
    rare: Option<Box<RareFrontends>>,
}

/// What few Services have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RareFrontends {
    pub external_ips: Vec<IpAddr>,
    /// Those of `status.loadBalancer.ingress` that have an IP address.
    pub load_balancer: Vec<LoadBalancerIp>,
    /// `spec.loadBalancerSourceRanges`: who may use the load-balancer IPs. `None`: everybody. Ranges
    /// that can't be read are left out, so that an empty list is nobody.
    pub source_ranges: Option<Vec<Cidr>>,
    /// `spec.sessionAffinity: ClientIP`.
    pub affinity: Option<ClientIpAffinity>,
    /// The node port at which load balancers ask whether this node has local endpoints.
    pub health_check_node_port: Option<NonZeroU16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoadBalancerIp {
    pub ip: IpAddr,
    pub mode: IpMode,
}

/// `status.loadBalancer.ingress[].ipMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub enum IpMode {
    /// Traffic arrives with the load-balancer IP as its destination: nodes handle that address.
    #[default]
    #[serde(rename = "VIP")]
    Vip,
    /// Traffic arrives at a node or a Pod: nodes leave the address alone.
    Proxy,
}

/// Connections of one client IP go to one endpoint, until there was none for this long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClientIpAffinity {
    pub timeout_seconds: u32,
}

/// A range of addresses, such as `10.0.0.0/8`. Bits behind the prefix are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

// === impl Frontends ===

impl Frontends {
    pub fn new(cluster_ips: Few<IpAddr>, rare: RareFrontends) -> Self {
        let rare = (rare != RareFrontends::default()).then(|| Box::new(rare));
        Frontends { cluster_ips, rare }
    }

    /// What this Service has beside cluster IPs, if it has anything.
    pub fn rare(&self) -> Option<&RareFrontends> {
        self.rare.as_deref()
    }

    pub fn external_ips(&self) -> &[IpAddr] {
        self.rare().map_or(&[], |rare| &rare.external_ips)
    }

    pub fn load_balancer(&self) -> &[LoadBalancerIp] {
        self.rare().map_or(&[], |rare| &rare.load_balancer)
    }

    /// Who may use the load-balancer IPs; `None`: everybody.
    pub fn source_ranges(&self) -> Option<&[Cidr]> {
        self.rare()?.source_ranges.as_deref()
    }

    pub fn affinity(&self) -> Option<ClientIpAffinity> {
        self.rare()?.affinity
    }

    pub fn health_check_node_port(&self) -> Option<NonZeroU16> {
        self.rare()?.health_check_node_port
    }
}

// === impl ClientIpAffinity ===

impl Default for ClientIpAffinity {
    /// Kubernetes' default: three hours.
    fn default() -> Self {
        ClientIpAffinity { timeout_seconds: 10_800 }
    }
}

// === impl Cidr ===

impl Cidr {
    /// The range that `ip` is in. `None`: the prefix is longer than an address.
    pub fn new(ip: IpAddr, prefix: u8) -> Option<Self> {
        let network = match ip {
            IpAddr::V4(ip) => {
                let host = 32u8.checked_sub(prefix)?;
                let mask = u32::MAX.checked_shl(host.into()).unwrap_or(0);
                IpAddr::V4((ip.to_bits() & mask).into())
            }
            IpAddr::V6(ip) => {
                let host = 128u8.checked_sub(prefix)?;
                let mask = u128::MAX.checked_shl(host.into()).unwrap_or(0);
                IpAddr::V6((ip.to_bits() & mask).into())
            }
        };
        Some(Cidr { network, prefix })
    }

    pub fn network(self) -> IpAddr {
        self.network
    }

    pub fn prefix(self) -> u8 {
        self.prefix
    }

    pub fn contains(self, ip: IpAddr) -> bool {
        Cidr::new(ip, self.prefix).is_some_and(|range| range.network == self.network)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(ip: &str, prefix: u8) -> Option<Cidr> {
        Cidr::new(ip.parse().unwrap(), prefix)
    }

    #[test]
    fn a_range_keeps_the_bits_of_its_prefix_only() {
        for (ip, prefix, expected) in [
            ("10.1.2.3", 8, Some("10.0.0.0/8")),
            ("10.1.2.3", 32, Some("10.1.2.3/32")),
            ("10.1.2.3", 0, Some("0.0.0.0/0")),
            ("10.1.2.3", 33, None),
            ("fd00::1:2", 112, Some("fd00::1:0/112")),
            ("fd00::1", 0, Some("::/0")),
            ("fd00::1", 129, None),
        ] {
            let found = cidr(ip, prefix).map(|range| range.to_string());
            assert_eq!(found.as_deref(), expected, "{ip}/{prefix}");
        }
    }

    #[test]
    fn a_range_contains_addresses_of_its_family_only() {
        let range = cidr("10.1.0.0", 16).unwrap();
        assert!(range.contains("10.1.255.1".parse().unwrap()));
        assert!(!range.contains("10.2.0.1".parse().unwrap()));
        assert!(!cidr("0.0.0.0", 0).unwrap().contains("::1".parse().unwrap()));
    }

    #[test]
    fn a_service_with_a_cluster_ip_only_has_nothing_on_the_heap() {
        let ip: IpAddr = "10.0.0.1".parse().unwrap();
        let frontends = Frontends::new(Few::One(ip), RareFrontends::default());
        assert_eq!(frontends.rare(), None);
        assert_eq!(frontends.affinity(), None);
    }
}
