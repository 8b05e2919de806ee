//! Rulesets that change, in the kernel: it accepts every transaction, holds what the ruleset has, and a
//! ruleset that adopts it commits nothing.

use core::net::IpAddr;
use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Backend, Cidr, Id as _, PortId, Protocol, ServiceKey, ZoneId};
use evenkeel_nft::{
    Config, Element, Family, Frontend, FrontendSpec, InUse, Kind, Member, PortName, PortSpec,
    Ruleset, ZoneShare,
};
use evenkeel_proxy::netlink::nftables::{Nftables, Ownership};
use evenkeel_testkit::sim::Rng;

use crate::namespace::Namespace;

type World = BTreeMap<usize, (PortSpec, Vec<Member>, Vec<ZoneShare>)>;

const TABLE: &str = "evenkeel";

#[test]
fn the_kernel_follows_a_ruleset_and_a_restart_commits_nothing() {
    for seed in 0..6 {
        Namespace::new().enter(|| run(seed));
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let config = Config { zone_counters: rng.chance(500), seed: 7, ..Config::default() };
    let mut ruleset = Ruleset::new(config.clone(), &Family::ALL);
    let mut world = World::new();
    let mut nftables = Nftables::open().unwrap();
    fill(&world, &mut ruleset);
    for _ in 0..15 {
        for _ in 0..rng.below(4) {
            change(&mut rng, &mut world);
        }
        for at in 0..12 {
            give(&world, &mut ruleset, at);
        }
        let transaction = ruleset.take();
        nftables.commit(&transaction, &config, Ownership::OwnedPersistent, None).unwrap();
        check(&mut nftables, &ruleset);
    }
    drop(nftables);

    let mut nftables = Nftables::open().unwrap();
    let mut next = Ruleset::new(config.clone(), &Family::ALL);
    for family in Family::ALL {
        adopt(&mut nftables, family);
        let listing = nftables.list(family, TABLE).unwrap().unwrap();
        assert!(next.adopt(family, listing.adopted(family, &config)));
    }
    fill(&world, &mut next);
    let first = next.take();
    assert!(first.is_empty(), "seed {seed}: a restart commits {first:?}");
}

/// A process that another test starts holds the closed socket for a moment, until it runs its program.
fn adopt(nftables: &mut Nftables, family: Family) {
    let begun = std::time::Instant::now();
    while let Err(error) = nftables.adopt(family, TABLE) {
        assert!(begun.elapsed().as_secs() < 5, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn check(nftables: &mut Nftables, ruleset: &Ruleset) {
    let mut listed: Vec<Element> = Family::ALL
        .into_iter()
        .flat_map(|family| nftables.list(family, TABLE).unwrap().unwrap().elements)
        .collect();
    let mut wanted = ruleset.elements();
    listed.sort_by_key(Element::key);
    wanted.sort_by_key(Element::key);
    assert_eq!(listed, wanted);
}

fn fill(world: &World, ruleset: &mut Ruleset) {
    for zone in 0..4 {
        ruleset.name_zone(ZoneId::from_index(zone), &format!("zone-{zone}"));
    }
    for at in world.keys() {
        give(world, ruleset, *at);
    }
    ruleset.set_node_port_ips([ip(Family::Ipv4, 1, 1), ip(Family::Ipv6, 1, 1)]);
}

fn give(world: &World, ruleset: &mut Ruleset, at: usize) {
    let id = PortId::from_index(at as u32);
    let Some((spec, members, shares)) = world.get(&at) else { return ruleset.remove_port(id) };
    ruleset.set_port(id, spec.clone());
    let local: Vec<Member> = members.iter().copied().filter(|member| member.is_local).collect();
    let local = InUse { members: &local, shares: &[] };
    ruleset.set_endpoints(id, InUse { members, shares }, local, true);
}

fn change(rng: &mut Rng, world: &mut World) {
    let at = rng.below(12);
    if rng.chance(150) {
        world.remove(&at);
        return;
    }
    let spec = match world.get(&at) {
        Some((spec, ..)) if rng.chance(600) => spec.clone(),
        _ => spec(rng, at),
    };
    let family = spec.frontends[0].frontend.family();
    let first = rng.below(6);
    let member = |host: usize| Member {
        backend: Backend { ip: ip(family, 244, host), port: 8080 },
        zone: ZoneId::from_index(1 + (host % 3) as u32),
        is_local: host.is_multiple_of(4),
    };
    let members = (first..first + rng.below(9)).map(member).collect();
    let share = |(zone, part)| ZoneShare { zone: ZoneId::from_index(zone), part };
    let shares = match rng.chance(300) {
        true => [(1, 50), (2, 30), (3, 20)].map(share).to_vec(),
        false => vec![],
    };
    world.insert(at, (spec, members, shares));
}

fn spec(rng: &mut Rng, at: usize) -> PortSpec {
    let family = if rng.chance(500) { Family::Ipv4 } else { Family::Ipv6 };
    let protocol = if rng.chance(300) { Protocol::Udp } else { Protocol::Tcp };
    let external = Kind::External { local: rng.chance(500) };
    let address = |ip| Frontend::Address { ip, protocol, port: 80 };
    let frontend = |frontend, kind, allowed| FrontendSpec { frontend, kind, allowed };
    let range = |n| Cidr::new(ip(family, n, 0), if family == Family::Ipv4 { 16 } else { 32 });
    let allowed = rng.chance(500).then(|| [1, 2].into_iter().filter_map(range).collect());
    let node_port = Frontend::NodePort { family, protocol, port: 30_000 + at as u16 };
    let service = ServiceKey::new("shop", format!("service-{at}"));
    PortSpec {
        name: Arc::new(PortName { service, port: "http".into(), protocol }),
        frontends: vec![
            frontend(address(ip(family, 96, at)), Kind::ClusterIp, None),
            frontend(address(ip(family, 200, at)), external, allowed),
            frontend(node_port, external, None),
        ],
        internal_local: rng.chance(200),
        affinity: rng.chance(300).then_some(60),
    }
}

fn ip(family: Family, net: u8, host: usize) -> IpAddr {
    match family {
        Family::Ipv4 => IpAddr::from([10, net, 0, host as u8]),
        Family::Ipv6 => format!("fd00:{net:x}::{host:x}").parse().unwrap(),
    }
}
