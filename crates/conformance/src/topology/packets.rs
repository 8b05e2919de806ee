//! The cases of `select_endpoints.jsonl` once more, by packets: the engine of the proxy plans a ruleset
//! from the same objects, and the evaluator says where connections go.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
};

use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Few, Frontends, Hints, Node, OwnNode,
    Protocol, RareFrontends, SeenService, SeenSlice, Service, ServiceKey, ServicePort, Slice,
    TargetPort, TrafficPolicy, Version, Watched, label,
};
use evenkeel_nft::{
    Family,
    evaluate::{Affinities, Entry, Fate, Packet, Probability, Tables},
};
use evenkeel_proxy::{Settings, engine::Engine};
use evenkeel_topology::Settings as Rules;
use serde_json::Value;

use super::select_endpoints::{Case, EndpointCase};

const PORT: u16 = 80;

/// Where the packets of a case go that does not go where it should.
pub(super) fn run(case: &Case) -> Vec<String> {
    let family = match case.endpoints.first() {
        Some(endpoint) if endpoint.ip.contains(':') => Family::Ipv6,
        _ => Family::Ipv4,
    };
    let world = World::new(case, family);
    let mut wrong = world.check("cluster IP", world.cluster_ip, PORT, false, &world.internal());
    if case.service.node_port != 0 {
        let (to, port) = (world.node, case.service.node_port);
        wrong.extend(world.check("node port from outside", to, port, false, &world.external()));
        let expected = world.cluster(true);
        wrong.extend(world.check("node port from the node", to, port, true, &expected));
    }
    wrong
}

struct World<'a> {
    case: &'a Case,
    tables: Tables,
    cluster_ip: IpAddr,
    node: IpAddr,
    outside: IpAddr,
}

/// What should become of a connection.
struct Expected {
    backends: BTreeSet<String>,
    /// Without endpoints.
    fate: Fate,
    masqueraded: bool,
}

impl<'a> World<'a> {
    fn new(case: &'a Case, family: Family) -> World<'a> {
        let ip = |v4: &str, v6: &str| -> IpAddr {
            let text = if family == Family::Ipv4 { v4 } else { v6 };
            text.parse().expect("written in this file")
        };
        let (cluster_ip, node) = (ip("10.96.0.10", "fd00:96::10"), ip("192.0.2.1", "2001:db8::1"));
        let mut settings = Settings::new(&case.node.name);
        settings.engine.topology = Rules::kubernetes();
        let mut engine = Engine::new(settings.engine.clone());
        fill(&mut engine, case, family, cluster_ip, node);
        drop(engine.sync());
        let ruleset = engine.ruleset();
        let (config, chains) = (&settings.engine.nft, ruleset.chains(family));
        let tables = Tables::new(config, family, chains, ruleset.elements()).at([node]);
        World { case, tables, cluster_ip, node, outside: ip("203.0.113.7", "2001:db8:7::7") }
    }

    fn list(&self, name: &str) -> BTreeSet<String> {
        let list = self.case.expect[name].as_array();
        let text = |given: &Value| given.as_str().unwrap_or_default().to_owned();
        list.into_iter().flatten().map(text).collect()
    }

    fn cluster(&self, masqueraded: bool) -> Expected {
        Expected { backends: self.list("cluster"), fate: Fate::Rejected, masqueraded }
    }

    fn local(&self) -> Expected {
        let has_any = self.case.expect["has_any"] == true;
        let fate = if has_any { Fate::Dropped } else { Fate::Rejected };
        Expected { backends: self.list("local"), fate, masqueraded: false }
    }

    fn internal(&self) -> Expected {
        match self.case.service.exposure().internal {
            TrafficPolicy::Cluster => self.cluster(false),
            TrafficPolicy::Local => self.local(),
        }
    }

    fn external(&self) -> Expected {
        match self.case.service.exposure().external {
            Some(TrafficPolicy::Local) => self.local(),
            _ => self.cluster(true),
        }
    }

    fn check(
        &self,
        what: &str,
        to: IpAddr,
        port: u16,
        from_node: bool,
        expected: &Expected,
    ) -> Vec<String> {
        let entry = match from_node {
            true => Entry::Output,
            false => Entry::Prerouting { interface: "eth0".to_owned() },
        };
        let source = if from_node { self.node } else { self.outside };
        let packet = Packet::new(entry, source, to, Protocol::Tcp, port);
        let outcomes = self.tables.outcomes(&packet, &Affinities::new(), 0);
        let mut wrong: Vec<String> =
            self.tables.flaws().iter().map(|flaw| format!("flaw: {flaw}")).collect();
        let n = expected.backends.len().max(1) as u128;
        let mut seen = BTreeSet::new();
        for (outcome, probability) in &outcomes {
            let is_right = match &outcome.fate {
                Fate::TranslatedTo(backend) => {
                    let backend = SocketAddr::new(backend.ip, backend.port).to_string();
                    let is_known = expected.backends.contains(&backend);
                    seen.insert(backend);
                    is_known && outcome.masqueraded == expected.masqueraded
                }
                fate => expected.backends.is_empty() && *fate == expected.fate,
            };
            if !is_right || *probability != Probability::new(1, n) {
                wrong
                    .push(format!("{what}: {outcome:?} with probability {}", probability.as_f64()));
            }
        }
        if seen != expected.backends {
            wrong.push(format!("{what}: reaches {seen:?} instead of {:?}", expected.backends));
        }
        wrong
    }
}

fn fill(engine: &mut Engine, case: &Case, family: Family, cluster_ip: IpAddr, node_ip: IpAddr) {
    let names = engine.names_mut();
    let zone = Some(&*case.node.zone).filter(|zone| !zone.is_empty());
    let node = Node {
        id: names.nodes.intern(&case.node.name),
        zone: zone.map(|zone| names.zones.intern(zone)),
        region: None,
        cpu_milli: 0,
        ready: true,
        control_plane: false,
    };
    let own = OwnNode { addresses: vec![node_ip], ..OwnNode::default() };
    let slice = slice(engine, case, family);
    engine.node(Watched::Listed((node, own)));
    engine.node(Watched::Complete);
    engine.service(Watched::Restarted);
    engine.service(Watched::Listed(service(case, family, cluster_ip)));
    engine.service(Watched::Complete);
    engine.slice(Watched::Restarted);
    engine.slice(Watched::Listed(slice));
    engine.slice(Watched::Complete);
    engine.addresses(vec![node_ip]);
}

fn service(case: &Case, family: Family, cluster_ip: IpAddr) -> SeenService {
    let port = ServicePort {
        name: "".into(),
        port: PORT,
        target: TargetPort::Number(8080),
        protocol: Protocol::Tcp,
        app_protocol: None,
        node_port: case.service.node_port.try_into().ok(),
    };
    let service = Service {
        key: ServiceKey::new("default", "s"),
        uid: "u".into(),
        labels: Default::default(),
        annotations: Default::default(),
        selector: None,
        opted_in: false,
        ports: vec![port],
        families: vec![address_type(family)],
        headless: false,
        cluster_ip_none: false,
        external_name: false,
        publish_not_ready: false,
        traffic_distribution: None,
        exposure: case.service.exposure(),
        frontends: Frontends::new(Few::One(cluster_ip), RareFrontends::default()),
        deleting: false,
    };
    SeenService {
        service,
        version: Version::default(),
        created: None,
        conditions: vec![],
        problem: None,
        frontend_problem: None,
    }
}

/// The engine takes one target port for a slice; the cases have one for each endpoint.
fn slice(engine: &mut Engine, case: &Case, family: Family) -> SeenSlice {
    let names = engine.names_mut();
    let endpoint = |given: &EndpointCase| {
        let all = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
        let hints = Hints {
            zones: all(&given.zone_hints).iter().map(|zone| names.zones.intern(zone)).collect(),
            nodes: all(&given.node_hints).iter().map(|node| names.nodes.intern(node)).collect(),
        };
        let node = given.node.as_deref().filter(|node| !node.is_empty());
        Endpoint {
            addresses: Few::One(Address::Ip(given.ip.parse().expect("the cases have addresses"))),
            conditions: Conditions {
                ready: Some(given.ready),
                serving: Some(given.serving),
                terminating: Some(given.terminating),
            },
            node: node.map(|node| names.nodes.intern(node)),
            hostname: None,
            target: None,
            zone: None,
            hints: Some(hints),
        }
    };
    let endpoints = case.endpoints.iter().map(endpoint).collect();
    let port = EndpointPort {
        name: "".into(),
        protocol: Protocol::Tcp,
        port: case.endpoints.first().map_or(Some(8080), |endpoint| Some(endpoint.port)),
        app_protocol: None,
    };
    let labels = [(label::SERVICE_NAME.into(), "s".into())];
    SeenSlice {
        namespace: "default".into(),
        slice: Slice {
            name: "s-1".into(),
            address_type: address_type(family),
            ports: vec![port],
            endpoints,
            owner: None,
            labels: labels.into_iter().collect(),
            shares: None,
        },
        version: Version::default(),
        deleting: false,
    }
}

fn address_type(family: Family) -> AddressType {
    match family {
        Family::Ipv4 => AddressType::IPv4,
        Family::Ipv6 => AddressType::IPv6,
    }
}
