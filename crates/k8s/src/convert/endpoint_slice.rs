//! EndpointSlices to slices of the model.

use std::sync::Arc;

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Few, Hints, Slice, Target, Topology,
    label,
};
use k8s_openapi::api::discovery::v1 as discovery;

use crate::{
    convert::{FieldError, field, parse_ip, zone_shares::zone_shares},
    watched::{
        self,
        endpoint_slice::{
            Endpoint as GivenEndpoint, Hinted, Hints as GivenHints, Port as GivenPort,
            Target as GivenTarget,
        },
        lenient::{Number, Text},
    },
};

/// An EndpointSlice with all its endpoints.
pub fn endpoint_slice(
    topology: &mut Topology,
    whole: &discovery::EndpointSlice,
) -> Result<Slice, FieldError> {
    slice(topology, &watched::EndpointSlice::from(whole))
}

pub(crate) fn slice(
    topology: &mut Topology,
    given: &watched::EndpointSlice,
) -> Result<Slice, FieldError> {
    let meta = given.metadata.annotated_facts();
    let address_type = address_type(&given.address_type)?;
    let ports = given.ports.iter().enumerate();
    let ports: Result<Vec<EndpointPort>, FieldError> =
        ports.map(|(nth, given)| port(nth, given)).collect();
    // Slices with the same ports in another order belong together.
    let mut ports = ports?;
    ports.sort_unstable();
    Ok(Slice {
        name: field::text(meta.name),
        address_type,
        ports,
        endpoints: endpoints(topology, address_type, &given.endpoints)?,
        owner: given.metadata.owners.service().map(Into::into),
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

fn port(index: usize, given: &GivenPort) -> Result<EndpointPort, FieldError> {
    let path = |name| move || format!("ports[{index}].{name}");
    let number = given.port.map(|Number(number)| field::port(number, path("port")));
    Ok(EndpointPort {
        name: field::text(given.name.as_deref()),
        protocol: field::protocol(given.protocol.as_deref(), path("protocol"))?,
        port: number.transpose()?,
        app_protocol: given.app_protocol.as_deref().map(Into::into),
    })
}

fn endpoints(
    topology: &mut Topology,
    kind: AddressType,
    given: &[GivenEndpoint],
) -> Result<Vec<Endpoint>, FieldError> {
    let mut endpoints: Vec<Endpoint> = Vec::with_capacity(given.len());
    for (nth, given) in given.iter().enumerate() {
        let last = endpoints.last().and_then(|endpoint| endpoint.target.as_deref());
        let target = given.target_ref.as_ref().map(|given| Arc::new(target(given, last)));
        endpoints.push(endpoint(topology, kind, nth, given, target)?);
    }
    Ok(endpoints)
}

fn endpoint(
    topology: &mut Topology,
    kind: AddressType,
    index: usize,
    given: &GivenEndpoint,
    target: Option<Arc<Target>>,
) -> Result<Endpoint, FieldError> {
    let addresses = given.addresses.iter().enumerate();
    let addresses: Result<Few<Address>, FieldError> = addresses
        .map(|(nth, text)| {
            let path = || format!("endpoints[{index}].addresses[{nth}]");
            address(kind, text, path)
        })
        .collect();
    let watched::endpoint_slice::EndpointConditions { ready, serving, terminating } =
        given.conditions;
    Ok(Endpoint {
        addresses: addresses?,
        conditions: Conditions { ready, serving, terminating },
        hostname: given.hostname.as_ref().map(|Text(name)| Arc::clone(name)),
        target,
        node: given.node_name.as_ref().map(|name| topology.nodes.intern(name)),
        zone: given.zone.as_ref().map(|name| topology.zones.intern(name)),
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

/// Kind and namespace are those of the endpoint before nearly always, and are then kept once.
fn target(given: &GivenTarget, last: Option<&Target>) -> Target {
    let shared = |Text(text): &Text, last: Option<&Arc<str>>| {
        Arc::clone(last.filter(|last| *last == text).unwrap_or(text))
    };
    Target {
        kind: shared(&given.kind, last.map(|last| &last.kind)),
        namespace: shared(&given.namespace, last.map(|last| &last.namespace)),
        name: Arc::clone(&given.name.0),
        uid: Arc::clone(&given.uid.0),
    }
}

fn hints(topology: &mut Topology, given: &GivenHints) -> Hints {
    let (zones, nodes) = (given.for_zones.iter(), given.for_nodes.iter());
    Hints {
        zones: zones.map(|Hinted { name }| topology.zones.intern(name)).collect(),
        nodes: nodes.map(|Hinted { name }| topology.nodes.intern(name)).collect(),
    }
}
