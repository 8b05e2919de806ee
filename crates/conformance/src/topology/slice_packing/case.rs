//! The format of a case, and its conversion to the model.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{
    AddressType, Conditions, ContainerPort, Endpoint, EndpointPort, Exposure, Frontends, Pod,
    PodPhase, Protocol, Service, ServiceKey, ServicePort, Slice, Target, TargetPort, Topology,
    label,
};
use evenkeel_topology::Settings;
use serde::Deserialize;
use serde_json::Value;

use crate::topology::world::{self, NodeCase};

#[derive(Deserialize)]
pub(in crate::topology) struct Case {
    pub(super) max_endpoints_per_slice: usize,
    pub(super) steps: Vec<Step>,
}

#[derive(Deserialize)]
pub(super) struct Step {
    pub service: ServiceCase,
    pub nodes: Vec<NodeCase>,
    pub pods: Vec<PodCase>,
    #[serde(default)]
    pub hints_already_enabled: bool,
    #[serde(default)]
    pub existing_slices: Vec<ExistingCase>,
    pub expect: Expect,
}

#[derive(Deserialize)]
pub(super) struct Expect {
    pub error: bool,
    pub accept: Vec<Value>,
    #[serde(default)]
    pub endpoints: Vec<Value>,
    #[serde(default)]
    pub endpoint_hints_vary: bool,
    pub slice_labels: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ServiceCase {
    name: String,
    namespace: String,
    cluster_ip: String,
    ip_families: Option<Vec<String>>,
    ports: Vec<ServicePortCase>,
    publish_not_ready_addresses: bool,
    traffic_distribution: Option<String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    deleting: bool,
}

#[derive(Deserialize)]
struct ServicePortCase {
    name: String,
    port: u16,
    target_port: TargetPortCase,
    protocol: String,
    app_protocol: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TargetPortCase {
    Number(u16),
    Name(String),
}

#[derive(Deserialize)]
pub(super) struct PodCase {
    name: String,
    uid: Option<String>,
    ips: Option<Vec<String>>,
    node: Option<String>,
    #[serde(default)]
    ready: bool,
    #[serde(default)]
    terminating: bool,
    phase: Option<String>,
    hostname: Option<String>,
    subdomain: Option<String>,
    #[serde(default)]
    container_ports: Vec<ContainerPortCase>,
}

#[derive(Deserialize)]
struct ContainerPortCase {
    name: String,
    port: u16,
    protocol: String,
    #[serde(default)]
    in_sidecar: bool,
    #[serde(default)]
    in_plain_init: bool,
}

#[derive(Deserialize)]
pub(super) struct ExistingCase {
    name: String,
    address_type: String,
    ports: Option<Vec<PortCase>>,
    #[serde(default)]
    not_owned: bool,
    labels: Option<BTreeMap<String, String>>,
    endpoints: Option<Vec<ExistingEndpointCase>>,
}

#[derive(Deserialize)]
struct PortCase {
    name: String,
    port: Option<u16>,
    protocol: String,
    app_protocol: Option<String>,
}

#[derive(Deserialize)]
struct ExistingEndpointCase {
    addresses: Vec<String>,
    pod: Option<String>,
    ready: Option<bool>,
    serving: Option<bool>,
    terminating: Option<bool>,
    zone: Option<String>,
    node: Option<String>,
    #[serde(default)]
    hint_zones: Vec<String>,
    #[serde(default)]
    hint_nodes: Vec<String>,
}

const OWN_UID: &str = "uid of the Service";
const NAMESPACE: &str = "ns";

impl ServiceCase {
    pub(super) fn service(&self) -> Service {
        let headless = self.cluster_ip == "None" || self.cluster_ip.is_empty();
        let families = match &self.ip_families {
            Some(families) => families.iter().map(|f| world::address_type(f)).collect(),
            None if headless => vec![AddressType::IPv4, AddressType::IPv6],
            None if self.cluster_ip.contains(':') => vec![AddressType::IPv6],
            None => vec![AddressType::IPv4],
        };
        Service {
            key: ServiceKey::new(&*self.namespace, &*self.name),
            uid: OWN_UID.into(),
            labels: arcs(&self.labels),
            annotations: arcs(&self.annotations),
            selector: Some(BTreeMap::new()),
            opted_in: false,
            ports: self.ports.iter().map(ServicePortCase::port).collect(),
            families,
            headless,
            cluster_ip_none: self.cluster_ip == "None",
            external_name: false,
            publish_not_ready: self.publish_not_ready_addresses,
            traffic_distribution: self.traffic_distribution.as_deref().map(Into::into),
            exposure: Exposure::default(),
            frontends: Frontends::default(),
            deleting: self.deleting,
        }
    }
}

impl ServicePortCase {
    fn port(&self) -> ServicePort {
        ServicePort {
            name: (&*self.name).into(),
            port: self.port,
            target: match &self.target_port {
                TargetPortCase::Number(number) => TargetPort::Number(*number),
                TargetPortCase::Name(name) => TargetPort::Name((&**name).into()),
            },
            protocol: protocol(&self.protocol),
            app_protocol: self.app_protocol.as_deref().map(Into::into),
            node_port: None,
        }
    }
}

impl PodCase {
    pub(super) fn pod(&self, topology: &mut Topology) -> Pod {
        let named =
            |name: &Option<String>| name.as_deref().filter(|n| !n.is_empty()).map(Into::into);
        let node = self.node.as_deref().filter(|n| !n.is_empty());
        let main = self.container_ports.iter().filter(|p| !p.in_sidecar && !p.in_plain_init);
        let sidecars = self.container_ports.iter().filter(|p| p.in_sidecar);
        let ips = self.ips.iter().flatten();
        Pod {
            namespace: NAMESPACE.into(),
            name: (&*self.name).into(),
            uid: self.uid.as_deref().unwrap_or(&self.name).into(),
            ips: ips.map(|ip| ip.parse().expect("an address in the case")).collect(),
            node: node.map(|n| topology.nodes.intern(n)),
            phase: match self.phase.as_deref() {
                Some("Succeeded") => PodPhase::Succeeded,
                Some("Failed") => PodPhase::Failed,
                Some("Pending") => PodPhase::Pending,
                Some("Unknown") => PodPhase::Unknown,
                _ => PodPhase::Running,
            },
            ready: self.ready,
            terminating: self.terminating,
            hostname: named(&self.hostname),
            subdomain: named(&self.subdomain),
            ports: main.chain(sidecars).map(ContainerPortCase::port).collect(),
            confined: false,
            daemon_set: false,
        }
    }
}

impl ContainerPortCase {
    fn port(&self) -> ContainerPort {
        ContainerPort {
            name: (&*self.name).into(),
            port: self.port,
            protocol: protocol(&self.protocol),
        }
    }
}

impl ExistingCase {
    pub(super) fn slice(&self, topology: &mut Topology, settings: &Settings) -> Slice {
        let endpoints = self.endpoints.iter().flatten();
        let endpoints = endpoints.map(|e| e.endpoint(topology)).collect();
        let mut slice =
            world::slice(&self.name, world::address_type(&self.address_type), endpoints);
        slice.owner = Some(if self.not_owned { "another uid" } else { OWN_UID }.into());
        slice.ports = self.ports.iter().flatten().map(PortCase::port).collect();
        slice.labels = match &self.labels {
            Some(labels) => arcs(labels),
            None => [
                (label::SERVICE_NAME.into(), "web".into()),
                (label::MANAGED_BY.into(), Arc::clone(&settings.controller_name)),
            ]
            .into(),
        };
        slice
    }
}

impl PortCase {
    fn port(&self) -> EndpointPort {
        EndpointPort {
            name: (&*self.name).into(),
            protocol: protocol(&self.protocol),
            port: self.port,
            app_protocol: self.app_protocol.as_deref().map(Into::into),
        }
    }
}

impl ExistingEndpointCase {
    fn endpoint(&self, topology: &mut Topology) -> Endpoint {
        let conditions =
            Conditions { ready: self.ready, serving: self.serving, terminating: self.terminating };
        let place = (self.zone.as_deref(), self.node.as_deref());
        let hinted = !self.hint_zones.is_empty() || !self.hint_nodes.is_empty();
        let hints = hinted.then(|| world::hints(topology, &self.hint_zones, &self.hint_nodes));
        let first = world::endpoint(topology, &self.addresses[0], place, conditions);
        Endpoint {
            addresses: self.addresses.iter().map(|a| world::address(a)).collect(),
            target: self.pod.as_deref().map(|name| {
                Arc::new(Target {
                    kind: "Pod".into(),
                    namespace: NAMESPACE.into(),
                    name: name.into(),
                    uid: name.into(),
                })
            }),
            hints,
            ..first
        }
    }
}

fn protocol(text: &str) -> Protocol {
    match text {
        "UDP" => Protocol::Udp,
        "SCTP" => Protocol::Sctp,
        _ => Protocol::Tcp,
    }
}

fn arcs(map: &BTreeMap<String, String>) -> BTreeMap<Arc<str>, Arc<str>> {
    map.iter().map(|(k, v)| ((&**k).into(), (&**v).into())).collect()
}
