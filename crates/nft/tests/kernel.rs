//! The evaluator and the kernel agree: random tables are loaded into a network namespace, and
//! connections through them end where the evaluator says they may, as often as it says.
//!
//! `EVENKEEL_SEED=N` runs one table.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "all of it is a test")]

mod support;

use std::{
    collections::BTreeMap,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use evenkeel_model::{Backend, Protocol};
use evenkeel_nft::{
    Config, Family,
    evaluate::{Affinities, Fate, Outcome},
};

use crate::support::{
    agree::{Fit, Tried, Try},
    case::{Case, Probe},
    network::{self, Network, Seen, at},
    random::Random,
    service::{Frontend, Pool},
};

const SEEDS: u64 = 16;

#[test]
fn the_evaluator_agrees_with_the_kernel() {
    let one = std::env::var("EVENKEEL_SEED").ok();
    let one = one.map(|seed| seed.parse().expect("EVENKEEL_SEED is a number"));
    let seeds = one.map_or(0..SEEDS, |seed| seed..seed + 1);
    let network = Network::new();
    let mut fit = Fit::default();
    for seed in seeds {
        println!("EVENKEEL_SEED={seed}");
        let case = Case::random(&mut Random(seed));
        fit.add(&try_case(&network, &case));
    }
    fit.check();
}

fn try_case(network: &Network, case: &Case) -> Fit {
    network.load(&case.text());
    let tables =
        Family::ALL.map(|family| case.parts.tables(&case.config, family).at(at::of_node(family)));
    let (tables, probes) = (&tables, case.probes());
    let tried: Vec<Tried> = thread::scope(|scope| {
        let run =
            move |probe: &Probe| probe.namespace(network).enter(|| Try::new(tables, probe).run());
        let spawn = |probe| scope.spawn(move || run(probe));
        let threads: Vec<_> = probes.iter().map(spawn).collect();
        threads.into_iter().map(|it| it.join().expect("a probe agrees")).collect()
    });
    let mut fit = Fit::default();
    tried.iter().for_each(|tried| fit.add(&tried.fit));
    if !tried.iter().any(|tried| tried.repeated) {
        check_counters(network, case, &tried);
    }
    fit
}

fn check_counters(network: &Network, case: &Case, tried: &[Tried]) {
    let mut expected: BTreeMap<String, u64> =
        case.parts.counters.iter().map(|name| (name.clone(), 0)).collect();
    for (name, times) in tried.iter().flat_map(|tried| &tried.counted) {
        *expected.get_mut(name).expect("a known counter") += times;
    }
    for family in ["ip", "ip6"] {
        let list = ["list", "counters", "table", family, "evenkeel"];
        let listing = network.node.feed(Command::new("nft").args(list), "");
        let words: Vec<&str> = listing.split_whitespace().collect();
        for part in words.windows(5).filter(|part| part[0] == "counter") {
            let (name, packets): (_, u64) = (part[1], part[4].parse().unwrap());
            // Each table has the counters of both families.
            let of_family = expected.get_mut(name).expect("a known counter");
            assert!(*of_family >= packets, "{name}: {packets} of {of_family} packets");
            *of_family -= packets;
        }
    }
    assert!(expected.values().all(|left| *left == 0), "not counted: {expected:?}");
}

/// Each connection is among what the evaluator gives for the clients that it remembers: the same
/// endpoint again, and another one after that is gone.
#[test]
fn clients_stay_with_their_endpoint_until_it_is_gone() {
    let network = Network::new();
    for family in Family::ALL {
        let (mut case, probe) = sticky_case(family, 60);
        network.load(&case.text());
        let enter = |run: &mut (dyn FnMut() -> Outcome + Send)| network.outside.enter(run);
        let mut affinities = Affinities::new();
        for _ in 0..3 {
            let tables = [case.tables(Family::Ipv4), case.tables(Family::Ipv6)];
            let mut client = Try::new(&tables, &probe);
            client.affinities = affinities;
            let outcome = enter(&mut || {
                client.connect(&mut false);
                let remembered = client.connect(&mut false);
                let is_dropped = remembered.fate == Fate::Dropped;
                assert!(is_dropped || client.outcomes().len() == 1, "{:?}", client.outcomes());
                (0..8).fold(remembered, |_, _| client.connect(&mut false))
            });
            affinities = client.affinities;
            let Fate::TranslatedTo(gone) = outcome.fate else { continue };
            let script = case.parts.remove(gone);
            network.node.feed(Command::new("nft").args(["-f", "-"]), &script);
        }
    }
}

#[test]
fn clients_are_forgotten_in_time() {
    let network = Network::new();
    for family in Family::ALL {
        let (case, probe) = sticky_case(family, 1);
        network.load(&case.text());
        let tables = [case.tables(Family::Ipv4), case.tables(Family::Ipv6)];
        network.outside.enter(|| Try::new(&tables, &probe).connect(&mut false));
        let list = ["list", "map", family.name(), "evenkeel", "affinity"];
        let is_known = || network.node.feed(Command::new("nft").args(list), "").contains("expires");
        assert!(is_known());
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_known() {
            assert!(Instant::now() < deadline, "still known");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn zones_get_their_shares() {
    let family = Family::Ipv4;
    let zone = |numbers: &[u8]| {
        let endpoint = |n: &u8| Backend { ip: at::backend(family, *n), port: 8080 };
        numbers.iter().map(endpoint).collect::<Vec<_>>()
    };
    let zones = Pool::Zones(vec![(zone(&[1, 2]), 50), (zone(&[3]), 30), (zone(&[4, 5, 6]), 20)]);
    let frontend = Frontend::cluster_ip("10.96.0.1", Protocol::Udp, 53, zones);
    let case = Case::new(Config::default(), vec![frontend]);
    let probe = case.probes().remove(0);
    let network = Network::new();
    network.load(&case.text());
    let tables = [case.tables(Family::Ipv4), case.tables(Family::Ipv6)];
    let (outcomes, seen) = network.outside.enter(|| {
        let mut client = Try::new(&tables, &probe);
        let mut seen = BTreeMap::new();
        for _ in 0..3_000 {
            *seen.entry(client.connect(&mut false)).or_insert(0) += 1;
        }
        (client.outcomes(), seen)
    });
    let mut fit = Fit::default();
    fit.compare(&outcomes, &seen);
    fit.check();
}

/// The kernel sends few ICMP errors to one address, and a TCP socket that gets one while it connects
/// tries once more, a second later. A reset has neither problem.
#[test]
fn tcp_connections_are_refused_at_once() {
    let network = Network::new();
    network.node.set(&[("ipv4/icmp_ratelimit", "1000"), ("ipv6/icmp/ratelimit", "1000")]);
    let frontends = ["10.96.0.1", "fd00:96::1"]
        .map(|ip| Frontend::cluster_ip(ip, Protocol::Tcp, 80, Pool::Reject));
    let case = Case::new(Config::default(), frontends.to_vec());
    network.load(&case.text());
    for probe in case.probes() {
        let Probe { protocol, to, .. } = probe;
        let patience = Duration::from_millis(900);
        let ask = || network::ask(protocol, probe.source(), to, patience);
        let seen = probe.namespace(&network).enter(|| [(); 20].map(|()| ask()));
        assert!(seen.iter().all(|seen| *seen == Seen::Refused), "{probe:?}: {seen:?}");
    }
}

fn sticky_case(family: Family, seconds: u32) -> (Case, Probe) {
    let endpoints = at::endpoints(family)[..4].to_vec();
    let address = if family == Family::Ipv4 { "10.96.0.1" } else { "fd00:96::1" };
    let pool = Pool::Endpoints(endpoints);
    let frontend = Frontend::cluster_ip(address, Protocol::Tcp, 80, pool);
    let case = Case::new(Config::default(), vec![Frontend { sticky: Some(seconds), ..frontend }]);
    let probe = case.probes().remove(0);
    (case, probe)
}
