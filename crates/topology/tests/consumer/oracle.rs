//! What a view must show, worked out from scratch and without haste.

use std::{collections::BTreeMap, net::IpAddr};

use evenkeel_model::{
    Address, AddressType, Candidate, Selectable, Service, ServicePort, Slice, Viewpoint, label,
};
use evenkeel_topology::{
    PortRouting, Selected, Settings,
    consumer::{Backend, merge},
    select,
};

/// A Service port with all that a consumer sees of it.
pub(crate) struct Expected {
    pub(crate) endpoints: BTreeMap<Backend, Candidate>,
    pub(crate) selected: Selected,
}

pub(crate) fn expected(
    service: &Service,
    port: &ServicePort,
    family: AddressType,
    slices: &BTreeMap<String, Slice>,
    from: Viewpoint,
    settings: &Settings,
) -> Expected {
    let number = |slice: &Slice| {
        let is_it =
            |p: &&evenkeel_model::EndpointPort| p.name == port.name && p.protocol == port.protocol;
        slice.ports.iter().find(is_it)?.port
    };
    let belongs = |slice: &&Slice| {
        slice.labels.get(label::SERVICE_NAME) == Some(&service.key.name)
            && slice.address_type == family
            && number(slice).is_some()
    };
    let slices: Vec<&Slice> = slices.values().filter(belongs).collect();
    let endpoints = merged(&slices, number);
    let routing = PortRouting::new(service, slices.clone(), &merge(&slices, number), settings);
    let candidates: Vec<Candidate> = endpoints.values().cloned().collect();
    let selected = select(from, service.exposure, &candidates, routing.routing(), settings);
    Expected { endpoints, selected }
}

fn merged(
    slices: &[&Slice],
    number: impl Fn(&Slice) -> Option<u16>,
) -> BTreeMap<Backend, Candidate> {
    let mut all: BTreeMap<Backend, Vec<(u8, &str, usize, Candidate)>> = BTreeMap::new();
    for slice in slices {
        for (nth, endpoint) in slice.endpoints.iter().enumerate() {
            let Some(Address::Ip(ip)) = endpoint.address() else { continue };
            if ip.is_ipv4() != (slice.address_type == AddressType::IPv4) {
                continue;
            }
            let rank = match (endpoint.ready(), endpoint.serving_terminating()) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            };
            let backend = Backend { ip: *ip, port: number(slice).expect("slices have the port") };
            all.entry(backend).or_default().push((rank, &slice.name, nth, endpoint.into()));
        }
    }
    let best = |mut found: Vec<(u8, &str, usize, Candidate)>| {
        found.sort_by_key(|(rank, name, nth, _)| (*rank, name.to_string(), *nth));
        found.swap_remove(0).3
    };
    all.into_iter().map(|(backend, found)| (backend, best(found))).collect()
}

/// An address of either family.
pub(crate) fn ip(family: AddressType, last: u8) -> IpAddr {
    match family {
        AddressType::IPv6 => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, last.into()]),
        _ => IpAddr::from([10, 0, 0, last]),
    }
}
