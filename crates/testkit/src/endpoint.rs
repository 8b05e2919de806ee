//! Pods, and the endpoints and slices they become.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Hints, NodeId, Pod, PodPhase,
    Service, Slice, Target, TargetPort, ZoneId, label,
};
use evenkeel_topology::Settings;

/// A ready Pod with an address of each family. The serial number makes them unique.
///
/// # Panics
/// With a serial number above 65535.
pub fn pod(name: &str, node: NodeId, serial: usize) -> Pod {
    let serial = u16::try_from(serial).expect("fewer than 65536 Pods");
    let [high, low] = serial.to_be_bytes();
    Pod {
        namespace: "default".into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        ips: vec![
            IpAddr::V4(Ipv4Addr::new(10, 0, high, low)),
            IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, serial)),
        ],
        node: Some(node),
        phase: PodPhase::Running,
        ready: true,
        terminating: false,
        hostname: None,
        subdomain: None,
        ports: Vec::new(),
        confined: false,
        daemon_set: false,
    }
}

/// The endpoint of a Pod on a node of `zone`.
pub fn endpoint(
    pod: &Pod,
    family: AddressType,
    zone: Option<ZoneId>,
    hints: Option<Hints>,
) -> Endpoint {
    let of_family = |ip: &&IpAddr| ip.is_ipv4() == (family == AddressType::IPv4);
    let addresses = pod.ips.iter().filter(of_family);
    Endpoint {
        addresses: addresses.map(|ip| Address::Ip(*ip)).collect(),
        conditions: Conditions {
            ready: Some(pod.ready && !pod.terminating),
            serving: Some(pod.ready),
            terminating: Some(pod.terminating),
        },
        hostname: None,
        target: Some(Arc::new(Target {
            kind: "Pod".into(),
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        })),
        node: pod.node,
        zone,
        hints,
    }
}

/// A slice of the Service, as the controller would have written it.
pub fn slice(
    service: &Service,
    name: &str,
    family: AddressType,
    endpoints: Vec<Endpoint>,
) -> Slice {
    let numbered = |target: &TargetPort| match target {
        TargetPort::Number(number) => Some(*number),
        TargetPort::Name(_) => None,
    };
    let ports = service.ports.iter().map(|port| EndpointPort {
        name: port.name.clone(),
        protocol: port.protocol,
        port: numbered(&port.target),
        app_protocol: port.app_protocol.clone(),
    });
    let manager = Settings::default().controller_name;
    let own = [
        (label::SERVICE_NAME.into(), service.key.name.clone()),
        (label::MANAGED_BY.into(), manager),
    ];
    Slice {
        name: name.into(),
        address_type: family,
        ports: ports.collect(),
        endpoints,
        owner: Some(service.uid.clone()),
        labels: service.labels.clone().into_iter().chain(own).collect(),
        shares: None,
    }
}
