//! Common parts of the cases: nodes, slices and endpoints as written there, and their conversion.

use std::collections::BTreeMap;

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, Few, Hints, Node, Slice, Topology, label,
};
use evenkeel_topology::{Capacity, Draft, NoHints, Role, Settings, measure};
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct NodeCase {
    name: String,
    zone: Option<String>,
    cpu_milli: Option<u64>,
    ready: Option<bool>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleCase {
    Create,
    Update,
    Unchanged,
}

#[derive(Deserialize)]
pub(super) struct SliceCase<E> {
    pub name: String,
    pub role: RoleCase,
    #[serde(default = "Vec::new")]
    pub endpoints: Vec<E>,
}

/// An endpoint without hints, with the address given as text.
pub(super) fn endpoint(
    topology: &mut Topology,
    address: &str,
    (zone, node): (Option<&str>, Option<&str>),
    conditions: Conditions,
) -> Endpoint {
    Endpoint {
        addresses: Few::One(self::address(address)),
        conditions,
        hostname: None,
        target: None,
        node: node.map(|name| topology.nodes.intern(name)),
        zone: zone.map(|name| topology.zones.intern(name)),
        hints: None,
    }
}

pub(super) fn address(text: &str) -> Address {
    match text.parse() {
        Ok(ip) => Address::Ip(ip),
        Err(_) => Address::Name(text.into()),
    }
}

pub(super) fn hints(topology: &mut Topology, zones: &[String], nodes: &[String]) -> Hints {
    Hints {
        zones: zones.iter().map(|zone| topology.zones.intern(zone)).collect(),
        nodes: nodes.iter().map(|node| topology.nodes.intern(node)).collect(),
    }
}

pub(super) fn zone_names(topology: &Topology, endpoint: &Endpoint) -> Vec<String> {
    let zones = endpoint.zone_hints().iter();
    zones.map(|&zone| topology.zones.name(zone).to_string()).collect()
}

pub(super) fn node_names(topology: &Topology, endpoint: &Endpoint) -> Vec<String> {
    let nodes = endpoint.node_hints().iter();
    nodes.map(|&node| topology.nodes.name(node).to_string()).collect()
}

pub(super) fn slice(name: &str, address_type: AddressType, endpoints: Vec<Endpoint>) -> Slice {
    Slice {
        name: name.into(),
        address_type,
        ports: Vec::new(),
        endpoints,
        owner: None,
        labels: BTreeMap::new(),
        shares: None,
    }
}

/// The slices of a case, each endpoint made by `endpoint`.
pub(super) fn slices<E>(
    cases: &[SliceCase<E>],
    address_type: AddressType,
    topology: &mut Topology,
    endpoint: impl Fn(&E, &mut Topology) -> Endpoint,
) -> Vec<Slice> {
    let one = |case: &SliceCase<E>| {
        let endpoints = case.endpoints.iter().map(|e| endpoint(e, topology)).collect();
        slice(&case.name, address_type, endpoints)
    };
    cases.iter().map(one).collect()
}

pub(super) fn drafts<'a, E>(cases: &[SliceCase<E>], slices: &'a [Slice]) -> Vec<Draft<'a>> {
    cases.iter().zip(slices).map(|(case, slice)| draft(case.role, slice)).collect()
}

fn draft(role: RoleCase, slice: &Slice) -> Draft<'_> {
    Draft { role: role.into(), slice: std::borrow::Cow::Borrowed(slice) }
}

pub(super) fn nodes(topology: &mut Topology, cases: &[NodeCase]) -> Vec<Node> {
    cases.iter().map(|case| case.node(topology)).collect()
}

/// `None` as the nodes: there was no list.
pub(super) fn capacity(topology: &Topology, nodes: Option<&[Node]>) -> Result<Capacity, NoHints> {
    measure(nodes.ok_or(NoHints::NodesUnknown)?, topology, &Settings::kubernetes())
}

pub(super) fn address_type(text: &str) -> AddressType {
    match text {
        "IPv4" => AddressType::IPv4,
        "IPv6" => AddressType::IPv6,
        _ => AddressType::Fqdn,
    }
}

impl NodeCase {
    fn node(&self, topology: &mut Topology) -> Node {
        let zone = self.zone.as_deref().filter(|zone| !zone.is_empty());
        Node {
            id: topology.nodes.intern(&self.name),
            zone: zone.map(|zone| topology.zones.intern(zone)),
            region: None,
            cpu_milli: self.cpu_milli.unwrap_or(0),
            ready: self.ready == Some(true),
            control_plane: [label::CONTROL_PLANE, label::MASTER]
                .iter()
                .any(|role| self.labels.contains_key(*role)),
        }
    }
}

impl From<RoleCase> for Role {
    fn from(role: RoleCase) -> Self {
        match role {
            RoleCase::Create => Role::Create,
            RoleCase::Update => Role::Update,
            RoleCase::Unchanged => Role::Unchanged,
        }
    }
}

/// The name of a role in the cases.
pub(super) fn role_name(role: Role) -> &'static str {
    match role {
        Role::Create => "create",
        Role::Update => "update",
        Role::Unchanged => "unchanged",
    }
}
