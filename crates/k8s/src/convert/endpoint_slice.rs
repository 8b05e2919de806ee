//! EndpointSlices to slices of the model.

use std::sync::Arc;

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Few, Hints, Slice, Target, Topology,
};
use k8s_openapi::api::{core::v1::ObjectReference, discovery::v1 as discovery};

use crate::convert::{FieldError, field, parse_ip};

/// An EndpointSlice with all its endpoints. Consumers that need only what selection looks at take
/// [`candidates`](crate::fast::candidates) instead.
pub fn endpoint_slice(
    topology: &mut Topology,
    slice: &discovery::EndpointSlice,
) -> Result<Slice, FieldError> {
    let address_type = address_type(&slice.address_type)?;
    let ports = slice.ports.iter().flatten().enumerate();
    let endpoints = slice.endpoints.iter().flatten().enumerate();
    Ok(Slice {
        name: field::text(slice.metadata.name.as_deref()),
        address_type,
        ports: ports.map(|(nth, given)| port(nth, given)).collect::<Result<_, _>>()?,
        endpoints: endpoints
            .map(|(nth, given)| endpoint(topology, address_type, nth, given))
            .collect::<Result<_, _>>()?,
        owner: owner(slice),
        labels: field::labels(slice.metadata.labels.as_ref()),
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

fn port(index: usize, given: &discovery::EndpointPort) -> Result<EndpointPort, FieldError> {
    let path = |name| move || format!("ports[{index}].{name}");
    let number = given.port.map(|number| field::port(number, path("port")));
    Ok(EndpointPort {
        name: field::text(given.name.as_deref()),
        protocol: field::protocol(given.protocol.as_deref(), path("protocol"))?,
        port: number.transpose()?,
        app_protocol: given.app_protocol.as_deref().map(Into::into),
    })
}

fn endpoint(
    topology: &mut Topology,
    kind: AddressType,
    index: usize,
    given: &discovery::Endpoint,
) -> Result<Endpoint, FieldError> {
    let addresses = given.addresses.iter().enumerate();
    let addresses: Result<Few<Address>, FieldError> = addresses
        .map(|(nth, text)| {
            let path = || format!("endpoints[{index}].addresses[{nth}]");
            address(kind, text, path)
        })
        .collect();
    let conditions = given.conditions.as_ref();
    Ok(Endpoint {
        addresses: addresses?,
        conditions: conditions.map_or(Conditions::default(), |given| Conditions {
            ready: given.ready,
            serving: given.serving,
            terminating: given.terminating,
        }),
        hostname: given.hostname.as_deref().map(Into::into),
        target: given.target_ref.as_ref().map(|given| Arc::new(target(given))),
        node: given.node_name.as_deref().map(|name| topology.nodes.intern(name)),
        zone: given.zone.as_deref().map(|name| topology.zones.intern(name)),
        hints: given.hints.as_ref().map(|given| hints(topology, given)),
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

fn target(given: &ObjectReference) -> Target {
    Target {
        kind: field::text(given.kind.as_deref()),
        namespace: field::text(given.namespace.as_deref()),
        name: field::text(given.name.as_deref()),
        uid: field::text(given.uid.as_deref()),
    }
}

fn hints(topology: &mut Topology, given: &discovery::EndpointHints) -> Hints {
    let zones = given.for_zones.iter().flatten();
    let nodes = given.for_nodes.iter().flatten();
    Hints {
        zones: zones.map(|zone| topology.zones.intern(&zone.name)).collect(),
        nodes: nodes.map(|node| topology.nodes.intern(&node.name)).collect(),
    }
}

fn owner(slice: &discovery::EndpointSlice) -> Option<Arc<str>> {
    let mut owners = slice.metadata.owner_references.iter().flatten();
    let service = owners.find(|owner| owner.kind == "Service" && owner.api_version == "v1");
    service.map(|owner| owner.uid.as_str().into())
}
