//! Services, slices and endpoints by few words.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc};

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Few, Hints, Id, NodeId, PortId,
    Protocol, Service, ServiceKey, ServicePort, SharesAnnotation, Slice, TargetPort, ZoneId,
    ZoneShares, label,
};
use evenkeel_testkit::service;
use evenkeel_topology::{
    Settings,
    consumer::{ChangeKind, View},
};

pub(crate) const READY: Conditions = Conditions::READY;
pub(crate) const NOT_READY: Conditions =
    Conditions { ready: Some(false), serving: Some(false), terminating: Some(false) };
pub(crate) const TERMINATING: Conditions =
    Conditions { ready: Some(false), serving: Some(true), terminating: Some(true) };

/// Slices of Evenkeel's controller are ours.
pub(crate) fn settings() -> Settings {
    Settings { controller_name: label::EVENKEEL.into(), ..Settings::default() }
}

pub(crate) fn view() -> View {
    View::new(settings())
}

pub(crate) fn namespace() -> Arc<str> {
    "default".into()
}

pub(crate) fn key(name: &str) -> ServiceKey {
    ServiceKey::new("default", name)
}

pub(crate) fn zone(index: u32) -> ZoneId {
    ZoneId::from_index(index)
}

pub(crate) fn node(index: u32) -> NodeId {
    NodeId::from_index(index)
}

pub(crate) fn ports(names: &[(&str, u16)]) -> Vec<EndpointPort> {
    let port = |&(name, number): &(&str, u16)| EndpointPort {
        name: name.into(),
        protocol: Protocol::Tcp,
        port: Some(number).filter(|number| *number > 0),
        app_protocol: None,
    };
    names.iter().map(port).collect()
}

pub(crate) fn service_of(name: &str, names: &[&str]) -> Service {
    let port = |(nth, name): (usize, &&str)| ServicePort {
        name: (*name).into(),
        port: 80 + u16::try_from(nth).expect("few ports"),
        target: TargetPort::Name((*name).into()),
        protocol: Protocol::Tcp,
        app_protocol: None,
        node_port: None,
    };
    Service { ports: names.iter().enumerate().map(port).collect(), ..service(name) }
}

/// A ready endpoint of IPv4 on node 1 of zone 1.
pub(crate) fn at(last: u8) -> Endpoint {
    Endpoint {
        addresses: Few::One(Address::Ip(Ipv4Addr::new(10, 0, 0, last).into())),
        conditions: READY,
        hostname: None,
        target: None,
        node: Some(node(1)),
        zone: Some(zone(1)),
        hints: None,
    }
}

pub(crate) fn in_zone(last: u8, index: u32) -> Endpoint {
    Endpoint { zone: Some(zone(index)), ..at(last) }
}

pub(crate) fn hinted(last: u8, index: u32) -> Endpoint {
    Endpoint { hints: Some(Hints::zone(zone(index))), ..in_zone(last, index) }
}

/// A slice of Service `service` with port `http` at 8080, managed by us.
pub(crate) fn slice(name: &str, service: &str, endpoints: Vec<Endpoint>) -> Slice {
    Slice {
        name: name.into(),
        address_type: AddressType::IPv4,
        ports: ports(&[("http", 8080)]),
        endpoints,
        owner: None,
        labels: BTreeMap::from([
            (label::SERVICE_NAME.into(), service.into()),
            (label::MANAGED_BY.into(), label::EVENKEEL.into()),
        ]),
        shares: None,
    }
}

pub(crate) type Rows<'a> = &'a [(u32, &'a [(u32, u16)])];

pub(crate) fn table(rows: Rows<'_>) -> ZoneShares {
    let parts = |parts: &[(u32, u16)]| parts.iter().map(|(z, part)| (zone(*z), *part)).collect();
    ZoneShares::new(rows.iter().map(|(client, row)| (zone(*client), parts(row))))
}

pub(crate) fn annotation(rows: Rows<'_>) -> Option<SharesAnnotation> {
    Some(SharesAnnotation::Valid(Arc::new(table(rows))))
}

/// The ports that changed, and forgets so.
pub(crate) fn changed(view: &mut View) -> Vec<(PortId, &'static str)> {
    let kind = |kind: &ChangeKind<'_>| match kind {
        ChangeKind::Added(_) => "added",
        ChangeKind::Changed { service: true, .. } => "service",
        ChangeKind::Changed { .. } => "endpoints",
        ChangeKind::Removed => "removed",
    };
    view.changes().ports().map(|change| (change.id, kind(&change.kind))).collect()
}

/// The endpoints of the nth port of a Service, as `10.0.0.1:8080`.
pub(crate) fn endpoints(view: &View, service: &str, nth: usize) -> Vec<String> {
    let id = view.ports_of(view.find(&key(service)).expect("the Service is there"))[nth];
    view.port(id).expect("its port").endpoints().map(|e| e.backend.to_string()).collect()
}
