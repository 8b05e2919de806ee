//! The addresses at which a node serves node ports.

use core::net::IpAddr;

use evenkeel_model::{Cidr, OwnNode};

/// `--nodeport-addresses`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodePortAddresses {
    /// The Node's first address of each family, as its status has it. Where the status has none, all.
    #[default]
    Primary,
    /// Every address of the node.
    All,
    /// The node's addresses in these ranges.
    Ranges(Vec<Cidr>),
}

impl NodePortAddresses {
    /// `local`: the addresses of the node's interfaces. Loopback addresses never serve node ports:
    /// the kernel drops what comes back from an endpoint to one.
    pub fn resolve(&self, local: &[IpAddr], own: Option<&OwnNode>) -> Vec<IpAddr> {
        let local = || local.iter().copied().filter(|ip| !ip.is_loopback());
        let own = own.map_or(&[][..], |own| &own.addresses);
        let mut ips: Vec<IpAddr> = match self {
            NodePortAddresses::Primary if !own.is_empty() => {
                let first = |is_v4: bool| own.iter().copied().find(|ip| ip.is_ipv4() == is_v4);
                [first(true), first(false)].into_iter().flatten().collect()
            }
            NodePortAddresses::Primary | NodePortAddresses::All => local().collect(),
            NodePortAddresses::Ranges(ranges) => {
                local().filter(|ip| ranges.iter().any(|range| range.contains(*ip))).collect()
            }
        };
        ips.sort_unstable();
        ips.dedup();
        ips
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_the_setting() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let local = ["127.0.0.1", "10.0.0.5", "192.168.1.5", "::1", "fd00::5"].map(ip);
        let own = OwnNode {
            addresses: ["10.0.0.5", "10.0.0.6", "fd00::5"].map(ip).to_vec(),
            ..OwnNode::default()
        };
        let range = NodePortAddresses::Ranges(vec![Cidr::new(ip("192.168.0.0"), 16).unwrap()]);
        let all = ["10.0.0.5", "192.168.1.5", "fd00::5"].as_slice();
        for (setting, own, expected) in [
            (NodePortAddresses::Primary, Some(&own), &["10.0.0.5", "fd00::5"][..]),
            (NodePortAddresses::Primary, None, all),
            (NodePortAddresses::Primary, Some(&OwnNode::default()), all),
            (NodePortAddresses::All, Some(&own), all),
            (range, Some(&own), &["192.168.1.5"]),
        ] {
            let expected: Vec<IpAddr> = expected.iter().map(|text| ip(text)).collect();
            assert_eq!(setting.resolve(&local, own), expected, "{setting:?}");
        }
    }
}
