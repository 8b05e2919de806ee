//! What is lost, who sends requests, to whom, and what `plan` forecasts of it. Pure.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use evenkeel_model::{
    Address, AddressType, EndpointPort, Node, Protocol as Transport, ServiceKey, ServicePort,
    ServiceState, Snapshot, ZoneId,
};
use evenkeel_topology::{
    Environment, Policy, Proxies,
    whatif::{Scenario, TrafficProfile},
};
use serde::Serialize;

use crate::{
    curl::Protocol,
    error::Error,
    find::{self, ServiceName},
    input::Input,
};

/// With more, each would be sent hardly a request.
const MOST_SERVICES: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub zone: Arc<str>,
    /// The ready Nodes of the zone.
    pub lost: Vec<Arc<str>>,
    /// The ready worker Nodes of the other zones.
    pub clients: Vec<Client>,
    pub services: Vec<Drilled>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Client {
    pub node: Arc<str>,
    /// Empty if the Node has none.
    pub zone: Arc<str>,
    /// Its CPU: clients are taken to send in this proportion, as by `plan`.
    pub weight: f64,
}

/// A Service and its ready endpoints.
#[derive(Clone, Debug)]
pub(super) struct Drilled {
    pub key: ServiceKey,
    /// `None`: it has no address or no port that requests can be sent to.
    pub frontend: Option<Frontend>,
    pub endpoints: Vec<Endpoint>,
    /// `None`: nothing is known of the zone's CPU.
    pub forecast: Option<Forecast>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frontend {
    pub protocol: Protocol,
    pub address: SocketAddr,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Endpoint {
    pub place: Place,
    /// That of the port that requests are sent to.
    pub address: Option<SocketAddr>,
}

/// Where an endpoint is, as Pods of the sandbox say it of themselves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Place {
    pub zone: Arc<str>,
    pub node: Arc<str>,
    pub pod: Arc<str>,
}

/// The figures of `plan` with the zone lost, for the policy in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Forecast {
    pub policy: Policy,
    pub in_zone_share: f64,
    pub unserved_share: f64,
    pub max_load: f64,
}

/// `named`: the Services; without any, all of `namespace` or of the cluster with an endpoint in the zone.
pub(super) fn subject(
    input: &Input,
    zone: &str,
    named: &[ServiceName<'_>],
    namespace: Option<&str>,
) -> Result<Subject, Error> {
    let snapshot = &input.snapshot;
    let names = &snapshot.topology;
    let id = known_zone(snapshot, zone)?;
    let in_zone = snapshot.nodes.iter().filter(|node| node.zone == Some(id) && node.ready);
    let lost: Vec<Arc<str>> = in_zone.map(|node| Arc::clone(names.nodes.name(node.id))).collect();
    if lost.is_empty() {
        let help = "wait until its Nodes are ready (kubectl get nodes)";
        return Err(refused(format!("no Node of {zone} is ready"), help));
    }
    let clients: Vec<Client> = clients(snapshot, id).collect();
    if clients.is_empty() {
        let help = "add a ready Node in another zone: it sends the requests";
        return Err(refused(format!("{zone} is the only zone with ready Nodes"), help));
    }
    let services = services(input, id, named, namespace)?;
    let environment = Environment::new(None, input.server, |_| {})?;
    let environment = environment.with_fleet(Proxies::of(snapshot).fleet());
    let unknown = TrafficProfile::default();
    let scenario = Scenario::new(snapshot, &unknown, &environment);
    let drilled = |state: &&ServiceState| drilled(state, zone, snapshot, &scenario);
    let services = services.iter().map(drilled).collect();
    Ok(Subject { zone: zone.into(), lost, clients, services })
}

fn refused(problem: String, help: &str) -> Error {
    Error::Drill { problem, help: help.to_owned() }
}

/// A zone that a Node is in.
fn known_zone(snapshot: &Snapshot, zone: &str) -> Result<ZoneId, Error> {
    let names = &snapshot.topology.zones;
    let of_nodes: BTreeSet<&str> =
        snapshot.nodes.iter().filter_map(|node| Some(&**names.name(node.zone?))).collect();
    let id = names.find(zone).filter(|_| of_nodes.contains(zone));
    id.ok_or_else(|| Error::NoPlace {
        what: "zone",
        name: zone.to_owned(),
        known: of_nodes.into_iter().map(str::to_owned).collect(),
    })
}

fn clients(snapshot: &Snapshot, lost: ZoneId) -> impl Iterator<Item = Client> {
    let names = &snapshot.topology;
    let is_client =
        move |node: &&Node| node.ready && !node.control_plane && node.zone != Some(lost);
    snapshot.nodes.iter().filter(is_client).map(|node| Client {
        node: Arc::clone(names.nodes.name(node.id)),
        zone: node.zone.map_or_else(|| "".into(), |zone| Arc::clone(names.zones.name(zone))),
        // As in a forecast, a Node that does not report CPU has one core.
        weight: if node.cpu_milli == 0 { 1000.0 } else { node.cpu_milli as f64 },
    })
}

fn services<'a>(
    input: &'a Input,
    zone: ZoneId,
    named: &[ServiceName<'_>],
    namespace: Option<&str>,
) -> Result<Vec<&'a ServiceState>, Error> {
    let found = match named {
        [] => {
            let all = input.snapshot.services.iter().map(Arc::as_ref);
            let in_scope = |state: &&ServiceState| {
                namespace.is_none_or(|namespace| *state.service.key.namespace == *namespace)
            };
            all.filter(in_scope).filter(|state| has_endpoint(state, Some(zone))).collect()
        }
        named => {
            let mut found = find::named(input, named, false)?;
            found.sort_by(|a, b| a.service.key.cmp(&b.service.key));
            found.dedup_by(|a, b| a.service.key == b.service.key);
            found
        }
    };
    if let Some(without) = found.iter().find(|state| !has_endpoint(state, None)) {
        let key = &without.service.key;
        let help = "wait until one is ready, or choose others with --service";
        return Err(refused(format!("Service {key} has no ready endpoint"), help));
    }
    match found.len() {
        0 => {
            let help = "choose Services with --service, or another zone";
            Err(refused("no Service has a ready endpoint in the zone".to_owned(), help))
        }
        n if n > MOST_SERVICES => {
            let problem = format!("{n} Services have endpoints in the zone");
            Err(refused(problem, &format!("choose up to {MOST_SERVICES} with -n or --service")))
        }
        _ => Ok(found),
    }
}

fn has_endpoint(state: &ServiceState, zone: Option<ZoneId>) -> bool {
    let mut endpoints = state.slices.iter().flat_map(|slice| &slice.endpoints);
    endpoints.any(|one| one.conditions.is_ready() && (zone.is_none() || one.zone == zone))
}

fn drilled(
    state: &ServiceState,
    zone: &str,
    snapshot: &Snapshot,
    scenario: &Scenario<'_>,
) -> Drilled {
    let forecasts = scenario.forecast(state, None);
    let forecast = forecasts.of(forecasts.current).and_then(|forecast| {
        let lost = forecast.zone_lost.iter().find(|lost| *lost.zone == *zone)?;
        Some(Forecast {
            policy: forecast.policy,
            in_zone_share: lost.figures.in_zone_share,
            unserved_share: lost.figures.unserved_share,
            max_load: lost.figures.max_load,
        })
    });
    let port = port(state);
    let frontend = port.and_then(|(protocol, port)| {
        let mut addresses = state.service.frontends.cluster_ips.iter();
        let ip = addresses.find(|ip| ip.is_ipv4())?;
        Some(Frontend { protocol, address: SocketAddr::new(*ip, port.port) })
    });
    let endpoints = endpoints(state, port.map(|(_, port)| port), snapshot);
    Drilled { key: state.service.key.clone(), frontend, endpoints, forecast }
}

/// The first TCP port, or else the first UDP port.
fn port(state: &ServiceState) -> Option<(Protocol, &ServicePort)> {
    let first = |transport| state.service.ports.iter().find(|port| port.protocol == transport);
    let tcp = first(Transport::Tcp).map(|port| (Protocol::Http, port));
    tcp.or_else(|| first(Transport::Udp).map(|port| (Protocol::Udp, port)))
}

/// The ready ones, each once: those of IPv4, or if there are none, all.
fn endpoints(
    state: &ServiceState,
    port: Option<&ServicePort>,
    snapshot: &Snapshot,
) -> Vec<Endpoint> {
    let is_v4 = |slice: &&evenkeel_model::Slice| slice.address_type == AddressType::IPv4;
    let has_v4 = state.slices.iter().any(|slice| is_v4(&slice));
    let mut found = Vec::new();
    for slice in state.slices.iter().filter(|slice| !has_v4 || is_v4(slice)) {
        let is_it = |one: &&EndpointPort| {
            port.is_some_and(|port| one.name == port.name && one.protocol == port.protocol)
        };
        let port = slice.ports.iter().find(is_it).and_then(|one| one.port);
        let ready = slice.endpoints.iter().filter(|one| one.conditions.is_ready());
        found.extend(ready.map(|one| endpoint(one, port, snapshot)));
    }
    found.sort_by(|a, b| a.place.cmp(&b.place));
    found.dedup_by(|a, b| a.place == b.place);
    found
}

fn endpoint(one: &evenkeel_model::Endpoint, port: Option<u16>, snapshot: &Snapshot) -> Endpoint {
    let names = &snapshot.topology;
    let address = one.addresses.first();
    let ip: Option<IpAddr> = address.and_then(|address| match address {
        Address::Ip(ip) => Some(*ip),
        Address::Name(_) => None,
    });
    let named = || address.map_or_else(String::new, ToString::to_string).into();
    Endpoint {
        place: Place {
            zone: one.zone.map_or_else(|| "".into(), |zone| Arc::clone(names.zones.name(zone))),
            node: one.node.map_or_else(|| "".into(), |node| Arc::clone(names.nodes.name(node))),
            pod: one.target.as_ref().map_or_else(named, |target| Arc::clone(&target.name)),
        },
        address: ip.zip(port).map(SocketAddr::from),
    }
}

// === impl Subject ===

impl Subject {
    /// The endpoints in the zone, of all Services.
    pub(super) fn lost_endpoints(&self) -> impl Iterator<Item = (&Drilled, &Endpoint)> {
        let all = self
            .services
            .iter()
            .flat_map(|service| service.endpoints.iter().map(move |endpoint| (service, endpoint)));
        all.filter(|(_, endpoint)| endpoint.place.zone == self.zone)
    }
}
