//! The sets and maps of a table. Their number does not depend on the number of Services.

use crate::{
    Family,
    Type::{self, Address, Index, Port, Protocol, Scratch},
};

/// How frontends are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum By {
    /// By address, protocol and port: cluster IPs, external IPs and load-balancer IPs.
    Address,
    /// By protocol and port, at every node-port address.
    NodePort,
}

/// Which endpoints of a frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    Main,
    /// Those on this node, for traffic from outside the cluster under `externalTrafficPolicy: Local`.
    Outside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetId {
    /// Frontend → what happens to its connections.
    Services(By, Lane),
    /// Frontend, index → endpoint.
    Endpoints(By, Lane),
    /// Frontend, slot → rank of a zone. A zone has as many slots as its share asks for.
    ZoneSlots(By),
    /// Frontend, rank of a zone → chain that picks one of its endpoints.
    Zones(By),
    /// Frontend, index → id of an endpoint, for Services with session affinity.
    StickySlots(By, Lane),
    /// Frontend, id → endpoint.
    Pinned(By, Lane),
    /// Client, frontend → id of the endpoint that the client's connections go to. The kernel writes it.
    Affinity(By),
    /// Frontends whose clients are hidden behind the node's address.
    Masquerade(By),
    /// Frontends with `externalTrafficPolicy: Local`.
    OutsideLocal(By),
    /// Frontends that only some source ranges may use.
    Firewall,
    /// Frontend, source range.
    SourceRanges,
    ClusterIps,
    NodePortIps,
    /// Endpoint, the same endpoint: connections of Pods of this node to themselves.
    Hairpin,
    /// Frontend, endpoint's address → counter of the endpoint's zone.
    Counters(By),
}

/// What a set holds beside its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// It is no map.
    None,
    Verdict,
    Backend,
    Scratch,
    Counter,
}

/// The most clients with session affinity that are remembered, in each family and for each way
/// frontends are told apart. Further ones are served without affinity.
pub const MOST_AFFINITIES: u32 = 262_144;

// === impl SetId ===

impl SetId {
    pub const ALL: [SetId; 27] = {
        use By::{Address, NodePort};
        use Lane::{Main, Outside};
        [
            SetId::Services(Address, Main),
            SetId::Services(Address, Outside),
            SetId::Services(NodePort, Main),
            SetId::Services(NodePort, Outside),
            SetId::Endpoints(Address, Main),
            SetId::Endpoints(Address, Outside),
            SetId::Endpoints(NodePort, Main),
            SetId::Endpoints(NodePort, Outside),
            SetId::ZoneSlots(Address),
            SetId::ZoneSlots(NodePort),
            SetId::Zones(Address),
            SetId::Zones(NodePort),
            SetId::StickySlots(Address, Main),
            SetId::StickySlots(Address, Outside),
            SetId::StickySlots(NodePort, Main),
            SetId::StickySlots(NodePort, Outside),
            SetId::Pinned(Address, Main),
            SetId::Pinned(Address, Outside),
            SetId::Pinned(NodePort, Main),
            SetId::Pinned(NodePort, Outside),
            SetId::Affinity(Address),
            SetId::Affinity(NodePort),
            SetId::Masquerade(Address),
            SetId::Masquerade(NodePort),
            SetId::OutsideLocal(Address),
            SetId::OutsideLocal(NodePort),
            SetId::Firewall,
        ]
    };

    /// Those that are not by frontend.
    pub const MORE: [SetId; 6] = [
        SetId::SourceRanges,
        SetId::ClusterIps,
        SetId::NodePortIps,
        SetId::Hairpin,
        SetId::Counters(By::Address),
        SetId::Counters(By::NodePort),
    ];

    pub fn all() -> impl Iterator<Item = SetId> {
        SetId::ALL.into_iter().chain(SetId::MORE)
    }

    pub fn name(self) -> &'static str {
        use By::{Address, NodePort};
        use Lane::{Main, Outside};
        match self {
            SetId::Services(Address, Main) => "services",
            SetId::Services(Address, Outside) => "outside-services",
            SetId::Services(NodePort, Main) => "nodeports",
            SetId::Services(NodePort, Outside) => "outside-nodeports",
            SetId::Endpoints(Address, Main) => "endpoints",
            SetId::Endpoints(Address, Outside) => "outside-endpoints",
            SetId::Endpoints(NodePort, Main) => "nodeport-endpoints",
            SetId::Endpoints(NodePort, Outside) => "outside-nodeport-endpoints",
            SetId::ZoneSlots(Address) => "zone-slots",
            SetId::ZoneSlots(NodePort) => "nodeport-zone-slots",
            SetId::Zones(Address) => "zones",
            SetId::Zones(NodePort) => "nodeport-zones",
            SetId::StickySlots(Address, Main) => "sticky-slots",
            SetId::StickySlots(Address, Outside) => "outside-sticky-slots",
            SetId::StickySlots(NodePort, Main) => "nodeport-sticky-slots",
            SetId::StickySlots(NodePort, Outside) => "outside-nodeport-sticky-slots",
            SetId::Pinned(Address, Main) => "pinned",
            SetId::Pinned(Address, Outside) => "outside-pinned",
            SetId::Pinned(NodePort, Main) => "nodeport-pinned",
            SetId::Pinned(NodePort, Outside) => "outside-nodeport-pinned",
            SetId::Affinity(Address) => "affinity",
            SetId::Affinity(NodePort) => "nodeport-affinity",
            SetId::Masquerade(Address) => "masquerade-services",
            SetId::Masquerade(NodePort) => "masquerade-nodeports",
            SetId::OutsideLocal(Address) => "local-services",
            SetId::OutsideLocal(NodePort) => "local-nodeports",
            SetId::Firewall => "firewall",
            SetId::SourceRanges => "source-ranges",
            SetId::ClusterIps => "cluster-ips",
            SetId::NodePortIps => "nodeport-ips",
            SetId::Hairpin => "hairpin",
            SetId::Counters(Address) => "zone-counters",
            SetId::Counters(NodePort) => "nodeport-zone-counters",
        }
    }

    pub fn from_name(name: &str) -> Option<SetId> {
        SetId::all().find(|set| set.name() == name)
    }

    /// The fields of its keys.
    pub fn key(self, family: Family) -> &'static [Type] {
        use By::NodePort;
        match self {
            SetId::Services(By::Address, _)
            | SetId::Masquerade(By::Address)
            | SetId::OutsideLocal(By::Address)
            | SetId::Firewall => &[Address, Protocol, Port],
            SetId::Services(NodePort, _)
            | SetId::Masquerade(NodePort)
            | SetId::OutsideLocal(NodePort) => &[Protocol, Port],
            SetId::Endpoints(By::Address, _)
            | SetId::ZoneSlots(By::Address)
            | SetId::StickySlots(By::Address, _) => &[Address, Protocol, Port, Index],
            SetId::Endpoints(NodePort, _)
            | SetId::ZoneSlots(NodePort)
            | SetId::StickySlots(NodePort, _) => &[Protocol, Port, Index],
            SetId::Zones(By::Address) | SetId::Pinned(By::Address, _) => {
                &[Address, Protocol, Port, Scratch]
            }
            SetId::Zones(NodePort) | SetId::Pinned(NodePort, _) => &[Protocol, Port, Scratch],
            // For IPv6 a hash: nft 1.0.6 can't write maps from packets with keys above 16 bytes.
            SetId::Affinity(_) if family == Family::Ipv6 => &[Index],
            SetId::Affinity(By::Address) => &[Address, Address, Protocol, Port],
            SetId::Affinity(NodePort) => &[Address, Protocol, Port],
            SetId::SourceRanges | SetId::Counters(By::Address) => {
                &[Address, Protocol, Port, Address]
            }
            SetId::Counters(NodePort) => &[Protocol, Port, Address],
            SetId::ClusterIps | SetId::NodePortIps => &[Address],
            SetId::Hairpin => &[Address, Address],
        }
    }

    pub fn data(self) -> DataType {
        match self {
            SetId::Services(..) | SetId::Zones(_) => DataType::Verdict,
            SetId::Endpoints(..) | SetId::Pinned(..) => DataType::Backend,
            SetId::ZoneSlots(_) | SetId::StickySlots(..) | SetId::Affinity(_) => DataType::Scratch,
            SetId::Counters(_) => DataType::Counter,
            _ => DataType::None,
        }
    }

    /// Its last field is a range.
    pub fn has_ranges(self) -> bool {
        self == SetId::SourceRanges
    }

    /// Packets change it, and its elements expire.
    pub fn is_dynamic(self) -> bool {
        matches!(self, SetId::Affinity(_))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_set_has_a_name_of_its_own() {
        let names: BTreeSet<_> = SetId::all().map(SetId::name).collect();
        assert_eq!(names.len(), SetId::all().count());
        assert!(SetId::all().all(|set| SetId::from_name(set.name()) == Some(set)));
    }
}
