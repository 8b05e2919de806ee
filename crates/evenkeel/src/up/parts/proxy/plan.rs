//! Which namespaces, addresses and servers there should be. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
};

use evenkeel_apiserver::OUTAGE_UNTIL;
use evenkeel_model::label;
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    discovery::v1::EndpointSlice,
};
use kube::ResourceExt as _;

/// The longest name of a Node that fits into the name of a namespace, which is a file's.
const LONGEST: usize = 240;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// By name.
    pub(super) nodes: BTreeMap<String, Ipv4Addr>,
    /// The Nodes whose network is cut: those with an outage.
    pub(super) cut: BTreeSet<String>,
    /// By uid.
    pub(super) pods: BTreeMap<String, PodPlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodPlan {
    pub(super) identity: Identity,
    pub(super) address: Ipv4Addr,
    /// Not the Node's.
    pub(super) is_own_address: bool,
    pub(super) ports: BTreeSet<Port>,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pod: String,
    pub(super) namespace: String,
    pub(super) node: String,
    /// Empty if the Node has none.
    pub(super) zone: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Port {
    Http(u16),
    Udp(u16),
}

/// A Node has a namespace once it has an IPv4 address of its own. A Pod has servers from the moment
/// it has an address until it is gone or has ended: for the ports of its containers, and those at
/// which an EndpointSlice sends traffic to it.
pub(super) fn plan(nodes: &[Node], pods: &[Pod], slices: &[EndpointSlice]) -> Plan {
    let has_outage = |node: &&Node| node.annotations().contains_key(OUTAGE_UNTIL);
    let cut = nodes.iter().filter(has_outage).map(Node::name_any).collect();
    let mut plan = Plan { nodes: addresses(nodes), cut, pods: BTreeMap::new() };
    let zones: BTreeMap<&str, &str> = nodes.iter().filter_map(zone).collect();
    let sliced = sliced_ports(slices);
    for pod in pods {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
        let Some(node_address) = plan.nodes.get(node) else { continue };
        let Some(address) = running_at(pod) else { continue };
        let identity = Identity {
            pod: pod.name_any(),
            namespace: pod.namespace().unwrap_or_default(),
            node: node.to_owned(),
            zone: zones.get(node).map_or(String::new(), |zone| (*zone).to_owned()),
        };
        let mut ports = container_ports(pod);
        ports.extend(sliced.get(&address).into_iter().flatten());
        let is_own_address = address != *node_address;
        let one = PodPlan { identity, address, is_own_address, ports };
        plan.pods.insert(pod.uid().unwrap_or_default(), one);
    }
    plan
}

/// The first Node with an address has it.
fn addresses(nodes: &[Node]) -> BTreeMap<String, Ipv4Addr> {
    let mut taken = BTreeSet::new();
    let mut addresses = BTreeMap::new();
    let mut sorted: Vec<&Node> = nodes.iter().collect();
    sorted.sort_by_key(|node| node.creation_timestamp().map(|time| time.0));
    for node in sorted {
        let name = node.name_any();
        let Some(address) = internal_address(node) else { continue };
        if name.len() > LONGEST || !taken.insert(address) {
            tracing::warn!(node = name, %address, "no network namespace for this Node: its address is in use or its name is too long");
            continue;
        }
        addresses.insert(name, address);
    }
    addresses
}

fn internal_address(node: &Node) -> Option<Ipv4Addr> {
    let all = node.status.as_ref()?.addresses.iter().flatten();
    let internal = all.filter(|one| one.type_ == "InternalIP");
    internal.filter_map(|one| one.address.parse().ok()).next()
}

fn zone(node: &Node) -> Option<(&str, &str)> {
    Some((node.metadata.name.as_deref()?, node.labels().get(label::ZONE)?.as_str()))
}

fn running_at(pod: &Pod) -> Option<Ipv4Addr> {
    let status = pod.status.as_ref()?;
    let ips = status.pod_ips.iter().flatten().map(|one| one.ip.as_str());
    let address = ips.chain(status.pod_ip.as_deref()).find_map(|ip| ip.parse().ok())?;
    (status.phase.as_deref() == Some("Running")).then_some(address)
}

fn container_ports(pod: &Pod) -> BTreeSet<Port> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports.filter_map(|port| Port::read(port.protocol.as_deref(), port.container_port)).collect()
}

fn sliced_ports(slices: &[EndpointSlice]) -> BTreeMap<Ipv4Addr, BTreeSet<Port>> {
    let mut by_address: BTreeMap<Ipv4Addr, BTreeSet<Port>> = BTreeMap::new();
    for slice in slices {
        let ports = slice.ports.iter().flatten();
        let ports = ports.filter_map(|port| Port::read(port.protocol.as_deref(), port.port?));
        let ports: Vec<Port> = ports.collect();
        let addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses);
        for address in addresses.filter_map(|address| address.parse().ok()) {
            by_address.entry(address).or_default().extend(&ports);
        }
    }
    by_address
}

impl Port {
    /// `None` for SCTP and for what is no port.
    fn read(protocol: Option<&str>, number: i32) -> Option<Port> {
        let number = u16::try_from(number).ok().filter(|number| *number > 0)?;
        match protocol.unwrap_or("TCP") {
            "TCP" => Some(Port::Http(number)),
            "UDP" => Some(Port::Udp(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn of<T: DeserializeOwned>(values: impl IntoIterator<Item = Value>) -> Vec<T> {
        values.into_iter().map(|value| serde_json::from_value(value).unwrap()).collect()
    }

    fn node(name: &str, address: &str) -> Value {
        let addresses = json!([{"type": "Hostname", "address": name}, {"type": "InternalIP", "address": address}]);
        json!({
            "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "zone-a"}},
            "status": {"addresses": addresses},
        })
    }

    fn pod(name: &str, phase: &str, ip: &str) -> Value {
        let ports = json!([{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP"}]);
        json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"nodeName": "node-a1", "containers": [{"name": "c", "ports": ports}]},
            "status": {"phase": phase, "podIP": ip, "podIPs": [{"ip": ip}]},
        })
    }

    fn planned(nodes: &[Value], pods: &[Value], slices: &[Value]) -> Plan {
        plan(&of(nodes.to_vec()), &of(pods.to_vec()), &of(slices.to_vec()))
    }

    #[test]
    fn a_running_pod_has_servers_for_its_ports_and_those_of_its_slices() {
        let slice = json!({
            "metadata": {"name": "s"}, "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.244.0.1"]}],
            "ports": [{"port": 9090, "protocol": "TCP"}, {"port": 9, "protocol": "SCTP"}],
        });
        let plan = planned(
            &[node("node-a1", "172.16.0.1")],
            &[pod("web", "Running", "10.244.0.1")],
            &[slice],
        );
        let web = &plan.pods["web"];
        assert_eq!(web.ports, [Port::Http(8080), Port::Http(9090), Port::Udp(53)].into());
        assert!(web.is_own_address);
        assert_eq!((web.identity.node.as_str(), web.identity.zone.as_str()), ("node-a1", "zone-a"));
    }

    #[test]
    fn a_pod_that_does_not_run_or_whose_node_is_unknown_has_none() {
        let a1 = [node("node-a1", "172.16.0.1")];
        for (phase, ip) in [("Pending", "10.244.0.1"), ("Succeeded", "10.244.0.1"), ("Running", "")]
        {
            assert!(planned(&a1, &[pod("web", phase, ip)], &[]).pods.is_empty(), "{phase} {ip}");
        }
        let other = [node("node-b1", "172.16.0.2")];
        assert!(planned(&other, &[pod("web", "Running", "10.244.0.1")], &[]).pods.is_empty());
    }

    #[test]
    fn a_pod_in_the_host_network_adds_no_address() {
        let a1 = [node("node-a1", "172.16.0.1")];
        assert!(
            !planned(&a1, &[pod("web", "Running", "172.16.0.1")], &[]).pods["web"].is_own_address
        );
    }

    #[test]
    fn a_node_with_an_outage_is_cut_and_keeps_its_pods() {
        let mut lost = node("node-a1", "172.16.0.1");
        lost["metadata"]["annotations"] = json!({OUTAGE_UNTIL: "2026-01-01T00:00:00Z"});
        let pods = [pod("web", "Running", "10.244.0.1")];
        let plan = planned(&[lost, node("node-a2", "172.16.0.2")], &pods, &[]);
        assert_eq!(plan.cut, ["node-a1".to_owned()].into());
        assert_eq!((plan.nodes.len(), plan.pods.len()), (2, 1));
    }

    #[test]
    fn an_address_belongs_to_one_node() {
        let nodes =
            [node("node-a1", "172.16.0.1"), node("node-a2", "172.16.0.1"), node("node-a3", "::1")];
        let plan = planned(&nodes, &[], &[]);
        assert_eq!(plan.nodes.keys().collect::<Vec<_>>(), ["node-a1"]);
    }
}
