//! Whatever happens to Services and endpoints: what transactions leave in the kernel is the ruleset,
//! they have nothing that the kernel would refuse, and a ruleset that adopts it changes nothing.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::Arc,
};

use evenkeel_model::{Backend, Cidr, Id as _, PortId, Protocol, ServiceKey, ZoneId};
use evenkeel_nft::{
    Adopted, ChainId, Config, Create, Data, Element, ElementKey, Family, Frontend, FrontendSpec,
    InUse, Kind, Member, PortName, PortSpec, Remove, Ruleset, Transaction, Verb, Verdict,
    ZoneShare, fixed_chains,
};

/// A stand-in for the kernel that accepts what the kernel accepts.
#[derive(Default)]
struct Kernel {
    tables: Vec<Family>,
    elements: HashMap<ElementKey, Data>,
    chains: Vec<(Family, ChainId)>,
    counters: Vec<(Family, Arc<str>)>,
}

impl Kernel {
    fn commit(&mut self, transaction: &Transaction) {
        for create in &transaction.create {
            match create {
                Create::Table(family) => {
                    self.tables.retain(|known| known != family);
                    self.elements.retain(|(of, ..), _| of != family);
                    self.chains.retain(|(of, _)| of != family);
                    self.counters.retain(|(of, _)| of != family);
                    self.tables.push(*family);
                }
                Create::Chain(family, chain) => {
                    assert!(!self.chains.contains(&(*family, *chain)), "{chain} exists");
                    self.chains.push((*family, *chain));
                }
                Create::Counter(family, name) => {
                    let counter = (*family, Arc::clone(name));
                    assert!(!self.counters.contains(&counter), "{name} exists");
                    self.counters.push(counter);
                }
            }
        }
        for change in &transaction.elements {
            let element = &change.element;
            assert!(self.tables.contains(&element.family), "no table for {element:?}");
            match change.verb {
                Verb::Delete => {
                    let gone = self.elements.remove(&element.key());
                    assert_eq!(gone.as_ref(), Some(&element.data), "{element:?}");
                }
                Verb::Add => {
                    let before = self.elements.insert(element.key(), element.data.clone());
                    assert_eq!(before, None, "{element:?}");
                }
            }
        }
        for remove in &transaction.remove {
            match remove {
                Remove::Chain(family, chain) => {
                    assert!(self.chains.contains(&(*family, *chain)), "no {chain}");
                    self.chains.retain(|known| known != &(*family, *chain));
                }
                Remove::Counter(family, name) => {
                    let counter = (*family, Arc::clone(name));
                    assert!(self.counters.contains(&counter), "no {name}");
                    self.counters.retain(|known| *known != counter);
                }
            }
        }
        self.check_references();
    }

    fn check_references(&self) {
        for ((family, ..), data) in &self.elements {
            match data {
                Data::Verdict(Verdict::Goto(chain @ ChainId::Pick(_))) => {
                    assert!(self.chains.contains(&(*family, *chain)), "{chain} is missing");
                }
                Data::Counter(name) => {
                    assert!(self.counters.contains(&(*family, Arc::clone(name))), "no {name}");
                }
                _ => {}
            }
        }
    }

    fn check(&self, ruleset: &Ruleset) {
        let elements = ruleset.elements();
        for element in &elements {
            assert_eq!(self.elements.get(&element.key()), Some(&element.data), "{element:?}");
        }
        let keys: HashSet<ElementKey> = elements.iter().map(Element::key).collect();
        assert_eq!(keys.len(), elements.len(), "an element is there twice");
        let left = self.elements.iter().filter(|(key, _)| !keys.contains(key));
        assert_eq!(left.collect::<Vec<_>>(), []);
    }

    fn adopted(&self, config: &Config, family: Family) -> Adopted {
        let of_family = |of: &Family| *of == family;
        let elements = self.elements.iter().filter(|((of, ..), _)| of_family(of));
        let picks = self.chains.iter().filter(|(of, _)| of_family(of)).map(|(_, chain)| *chain);
        let counters = self.counters.iter().filter(|(of, _)| of_family(of));
        Adopted {
            chains: fixed_chains(config, family).into_iter().chain(picks).collect(),
            is_foreign: false,
            counters: counters.map(|(_, name)| Arc::clone(name)).collect(),
            elements: elements
                .map(|((family, set, key, end), data)| Element {
                    family: *family,
                    set: *set,
                    key: *key,
                    end: *end,
                    data: data.clone(),
                })
                .collect(),
        }
    }
}

/// Small random numbers that depend on the seed alone.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

#[derive(Clone)]
struct World {
    ports: HashMap<u32, (PortSpec, Endpoints)>,
    node_ips: Vec<IpAddr>,
}

#[derive(Clone, Default)]
struct Endpoints {
    cluster: Vec<Member>,
    shares: Vec<ZoneShare>,
    local: Vec<Member>,
    any: bool,
}

fn ip(family: Family, net: u8, host: u64) -> IpAddr {
    match family {
        Family::Ipv4 => IpAddr::from([10, net, 0, host as u8]),
        Family::Ipv6 => format!("fd00:{net:x}::{host:x}").parse().unwrap(),
    }
}

fn spec(rng: &mut Rng, at: u32) -> PortSpec {
    let family = if rng.chance(2) { Family::Ipv4 } else { Family::Ipv6 };
    let protocol = if rng.chance(3) { Protocol::Udp } else { Protocol::Tcp };
    let external = Kind::External { local: rng.chance(2) };
    let bits = if family == Family::Ipv4 { 16 } else { 32 };
    let address = |ip| Frontend::Address { ip, protocol, port: 80 };
    let mut frontends = vec![];
    let mut add = |frontend, kind, allowed| {
        frontends.push(FrontendSpec { frontend, kind, allowed });
    };
    add(address(ip(family, 96, rng.below(12))), Kind::ClusterIp, None);
    if rng.chance(3) {
        let port = 30_000 + rng.below(4) as u16;
        add(Frontend::NodePort { family, protocol, port }, external, None);
    }
    if rng.chance(4) {
        let ranges = (0..rng.below(3)).map(|n| Cidr::new(ip(family, n as u8, 0), bits).unwrap());
        let allowed = rng.chance(2).then(|| ranges.collect());
        add(address(ip(family, 200, rng.below(4))), external, allowed);
    }
    let name = PortName {
        service: ServiceKey::new("shop", format!("service-{}", rng.below(30))),
        port: format!("port-{at}").into(),
        protocol,
    };
    PortSpec {
        name: Arc::new(name),
        frontends,
        internal_local: rng.chance(4),
        affinity: rng.chance(4).then(|| 60 * (1 + rng.below(2) as u32)),
    }
}

fn endpoints(rng: &mut Rng, family: Family) -> Endpoints {
    let n = [0, 1, 2, 3, 7, 20][rng.below(6) as usize];
    let mut hosts: Vec<u64> = (0..n).map(|_| rng.below(40)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let member = |host: u64| Member {
        backend: Backend { ip: ip(family, 244, host), port: 8080 },
        zone: ZoneId::from_index(1 + (host % 3) as u32),
        is_local: host.is_multiple_of(4),
    };
    let all: Vec<Member> = hosts.into_iter().map(member).collect();
    let shares = match rng.chance(3) {
        true => (1..=3)
            .map(|zone| ZoneShare { zone: ZoneId::from_index(zone), part: rng.below(1000) as u32 })
            .collect(),
        false => vec![],
    };
    let local = all.iter().copied().filter(|member| member.is_local).collect();
    Endpoints { any: !all.is_empty() || rng.chance(2), cluster: all, shares, local }
}

fn family(spec: &PortSpec) -> Family {
    spec.frontends[0].frontend.family()
}

fn give(ruleset: &mut Ruleset, id: PortId, endpoints: &Endpoints) {
    let Endpoints { cluster, shares, local, any } = endpoints;
    let cluster = InUse { members: cluster, shares };
    ruleset.set_endpoints(id, cluster, InUse { members: local, shares: &[] }, *any);
}

/// Both ways to take in a port come to the same.
fn add(rng: &mut Rng, ruleset: &mut Ruleset, id: PortId, spec: PortSpec, endpoints: &Endpoints) {
    if rng.chance(2) {
        ruleset.set_port(id, spec);
        return give(ruleset, id, endpoints);
    }
    let Endpoints { cluster, shares, local, any } = endpoints;
    let cluster = InUse { members: cluster, shares };
    ruleset.add_port(id, spec, cluster, InUse { members: local, shares: &[] }, *any);
}

fn step(rng: &mut Rng, world: &mut World, ruleset: &mut Ruleset) {
    let at = rng.below(25) as u32;
    let id = PortId::from_index(at);
    match rng.below(10) {
        0 => {
            world.ports.remove(&at);
            ruleset.remove_port(id);
        }
        1 => {
            let (a, b) = (rng.below(5), rng.below(5));
            world.node_ips = vec![ip(Family::Ipv4, 1, a), ip(Family::Ipv6, 1, b)];
            ruleset.set_node_port_ips(world.node_ips.clone());
        }
        2 | 3 => {
            let spec = spec(rng, at);
            let new = endpoints(rng, family(&spec));
            add(rng, ruleset, id, spec.clone(), &new);
            world.ports.insert(at, (spec, new));
        }
        _ => {
            let Some((spec, known)) = world.ports.get_mut(&at) else { return };
            *known = endpoints(rng, family(spec));
            give(ruleset, id, known);
        }
    }
}

fn fill(world: &World, ruleset: &mut Ruleset, rng: &mut Rng) {
    for zone in 0..4 {
        ruleset.name_zone(ZoneId::from_index(zone), &format!("zone-{zone}"));
    }
    let mut ports: Vec<_> = world.ports.iter().collect();
    ports.sort_by_key(|(at, _)| **at);
    let n = ports.len().max(1) as u64;
    let by = (rng.below(n) as usize).min(ports.len());
    ports.rotate_left(by);
    for (at, (spec, endpoints)) in ports {
        add(rng, ruleset, PortId::from_index(*at), spec.clone(), endpoints);
    }
    ruleset.set_node_port_ips(world.node_ips.clone());
}

fn run(seed: u64) {
    let mut rng = Rng(seed);
    let config = Config { zone_counters: rng.chance(2), seed: 7, ..Config::default() };
    let mut ruleset = Ruleset::new(config.clone(), &Family::ALL);
    let mut world = World { ports: HashMap::new(), node_ips: vec![] };
    fill(&world, &mut ruleset, &mut rng);
    let mut kernel = Kernel::default();
    for _ in 0..40 {
        for _ in 0..rng.below(4) {
            step(&mut rng, &mut world, &mut ruleset);
        }
        kernel.commit(&ruleset.take());
        kernel.check(&ruleset);
        assert!(ruleset.take().is_empty(), "a second transaction");
        if rng.chance(10) {
            kernel = Kernel::default();
            kernel.commit(&ruleset.rebuild());
            kernel.check(&ruleset);
        }
    }
    // A restart: ports come in another order.
    let mut next = Ruleset::new(config.clone(), &Family::ALL);
    for family in Family::ALL {
        assert!(next.adopt(family, kernel.adopted(&config, family)));
    }
    fill(&world, &mut next, &mut rng);
    let first = next.take();
    assert!(first.is_empty(), "a restart commits {first:?}");
    kernel.check(&next);
    // Another one after changes in between.
    let mut last = Ruleset::new(config.clone(), &Family::ALL);
    for family in Family::ALL {
        last.adopt(family, kernel.adopted(&config, family));
    }
    for _ in 0..10 {
        step(&mut rng, &mut world, &mut next);
    }
    fill(&world, &mut last, &mut rng);
    kernel.commit(&last.take());
    kernel.check(&last);
    for at in 0..25 {
        last.remove_port(PortId::from_index(at));
    }
    last.set_node_port_ips([]);
    kernel.commit(&last.take());
    assert!(kernel.elements.is_empty(), "{:?}", kernel.elements);
}

#[test]
fn what_transactions_leave_is_the_ruleset() {
    let given = std::env::var("EVENKEEL_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(0..120, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let result = std::panic::catch_unwind(|| run(seed));
        if let Err(panic) = result {
            println!("EVENKEEL_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
