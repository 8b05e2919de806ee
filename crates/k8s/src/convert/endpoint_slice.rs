//! EndpointSlices to slices of the model.

use std::sync::Arc;

use evenkeel_model::{
    Address, AddressType, Endpoint, EndpointPort, Few, Hints, Slice, Target, Topology, label,
};
use k8s_openapi::api::discovery::v1 as discovery;

use crate::convert::{
    FieldError,
    field::{self, PortFacts},
    parse_ip,
    slice_facts::{EndpointFacts, OwnerFacts, SliceFacts, TargetFacts},
    zone_shares::zone_shares,
};

/// An EndpointSlice with all its endpoints. Consumers that need only what selection looks at take
/// [`candidates`](crate::fast::candidates) instead.
pub fn endpoint_slice(
    topology: &mut Topology,
    slice: &discovery::EndpointSlice,
) -> Result<Slice, FieldError> {
    from_facts(topology, slice)
}

pub(crate) fn from_facts(
    topology: &mut Topology,
    slice: &impl SliceFacts,
) -> Result<Slice, FieldError> {
    let meta = slice.meta();
    let address_type = address_type(slice.address_type())?;
    let ports = slice.ports().enumerate();
    let endpoints = slice.endpoints().iter().enumerate();
    Ok(Slice {
        name: field::text(meta.name),
        address_type,
        ports: ports.map(|(nth, given)| port(nth, given)).collect::<Result<_, _>>()?,
        endpoints: endpoints
            .map(|(nth, given)| endpoint(topology, address_type, nth, given))
            .collect::<Result<_, _>>()?,
        owner: owner(slice.owners()),
        labels: field::labels(meta.labels),
        shares: meta
            .annotation(label::ZONE_SHARES)
            .map(|text| zone_shares(text, &mut topology.zones)),
    })
}

fn address_type(name: &str) -> Result<AddressType, FieldError> {
    match name {
        "IPv4" => Ok(AddressType::IPv4),
        "IPv6" => Ok(AddressType::IPv6),
        "FQDN" => Ok(AddressType::Fqdn),
        other => {
            let expected = "an address type; expected IPv4, IPv6 or FQDN";
            Err(FieldError::unexpected("addressType", other, expected))
        }
    }
}

fn port(index: usize, given: PortFacts<'_>) -> Result<EndpointPort, FieldError> {
    let path = |name| move || format!("ports[{index}].{name}");
    let number = given.number.map(|number| field::port(number, path("port")));
    Ok(EndpointPort {
        name: field::text(given.name),
        protocol: field::protocol(given.protocol, path("protocol"))?,
        port: number.transpose()?,
        app_protocol: given.app_protocol.map(Into::into),
    })
}

fn endpoint(
    topology: &mut Topology,
    kind: AddressType,
    index: usize,
    given: &impl EndpointFacts,
) -> Result<Endpoint, FieldError> {
    let addresses = given.addresses().iter().enumerate();
    let addresses: Result<Few<Address>, FieldError> = addresses
        .map(|(nth, text)| {
            let path = || format!("endpoints[{index}].addresses[{nth}]");
            address(kind, text, path)
        })
        .collect();
    Ok(Endpoint {
        addresses: addresses?,
        conditions: given.conditions().unwrap_or_default(),
        hostname: given.hostname().map(Into::into),
        target: given.target().map(|given| Arc::new(target(given))),
        node: given.node_name().map(|name| topology.nodes.intern(name)),
        zone: given.zone().map(|name| topology.zones.intern(name)),
        hints: given.has_hints().then(|| hints(topology, given)),
    })
}

fn address(
    kind: AddressType,
    text: &str,
    path: impl FnOnce() -> String,
) -> Result<Address, FieldError> {
    let expected = match (kind, parse_ip(text)) {
        (AddressType::Fqdn, _) => return Ok(Address::Name(text.into())),
        (AddressType::IPv4, Some(ip)) if ip.is_ipv4() => return Ok(Address::Ip(ip)),
        (AddressType::IPv6, Some(ip)) if ip.is_ipv6() => return Ok(Address::Ip(ip)),
        (AddressType::IPv4, _) => "an IPv4 address",
        (AddressType::IPv6, _) => "an IPv6 address",
    };
    Err(FieldError::unexpected(path(), text, expected))
}

fn target(given: TargetFacts<'_>) -> Target {
    Target {
        kind: field::text(given.kind),
        namespace: field::text(given.namespace),
        name: field::text(given.name),
        uid: field::text(given.uid),
    }
}

fn hints(topology: &mut Topology, given: &impl EndpointFacts) -> Hints {
    Hints {
        zones: given.zone_hints().map(|name| topology.zones.intern(name)).collect(),
        nodes: given.node_hints().map(|name| topology.nodes.intern(name)).collect(),
    }
}

fn owner<'a>(mut owners: impl Iterator<Item = OwnerFacts<'a>>) -> Option<Arc<str>> {
    let service = owners.find(|owner| owner.kind == "Service" && owner.api_version == "v1");
    service.map(|owner| owner.uid.into())
}
