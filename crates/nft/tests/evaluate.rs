//! What the evaluator makes of rulesets written by hand.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{net::IpAddr, time::Instant};

use evenkeel_model::{Backend, Cidr, Protocol};
use evenkeel_nft::{
    By, ChainId, Config, Data, DetectLocal, Element, Family, Key, Lane, SetId, Verdict,
    chain::{From, Pick},
    evaluate::{Affinities, Entry, Fate, Outcome, Packet, Probability, Tables},
};

use crate::support::{
    network::ip,
    service::{Frontend, Parts, Pool},
};

const CLUSTER_IP: &str = "10.96.0.1";
const EXTERNAL_IP: &str = "203.0.113.1";
const NODE_IP: &str = "192.168.77.1";
const OUTSIDE: &str = "198.51.100.7";
const POD: &str = "10.244.2.2";
const MARK: u32 = 1 << 14;

fn backend(number: u8) -> Backend {
    Backend { ip: ip(&format!("10.244.3.{number}")), port: 8080 }
}

fn backends(numbers: impl IntoIterator<Item = u8>) -> Pool {
    Pool::Endpoints(numbers.into_iter().map(backend).collect())
}

fn config() -> Config {
    let pods = Cidr::new(ip("10.244.0.0"), 16).unwrap();
    Config { detect_local: DetectLocal::Ranges(vec![pods]), ..Config::default() }
}

fn tables(config: &Config, frontends: &[Frontend]) -> Tables {
    let parts = Parts::new(frontends, &[ip(NODE_IP)], &[ip(POD)]);
    parts.tables(config, Family::Ipv4).at([ip(NODE_IP)])
}

fn from(source: &str, destination: &str, port: u16) -> Packet {
    let entry = if source == NODE_IP {
        Entry::Output
    } else {
        Entry::Prerouting { interface: "eth0".into() }
    };
    Packet::new(entry, ip(source), ip(destination), Protocol::Tcp, port)
}

/// The only outcome.
fn outcome(tables: &Tables, packet: &Packet) -> Outcome {
    let outcomes = tables.outcomes(packet, &Affinities::new(), 0);
    let [(outcome, probability)] = &outcomes[..] else { panic!("{packet:?}: {outcomes:?}") };
    assert_eq!(*probability, Probability::ALWAYS);
    outcome.clone()
}

fn shares(tables: &Tables, packet: &Packet) -> Vec<(Fate, Probability)> {
    let outcomes = tables.outcomes(packet, &Affinities::new(), 0);
    outcomes.into_iter().map(|(outcome, probability)| (outcome.fate, probability)).collect()
}

#[test]
fn frontends_of_each_kind() {
    use Fate::{Accepted, Dropped, Rejected, TranslatedTo};
    let frontends = [
        Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, backends([1])),
        Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 81, Pool::Reject),
        Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 82, Pool::Drop),
        Frontend {
            masquerade: true,
            ..Frontend::at(EXTERNAL_IP, Protocol::Tcp, 80, backends([1]))
        },
        Frontend {
            outside: Some(backends([2])),
            ..Frontend::at(EXTERNAL_IP, Protocol::Tcp, 81, backends([1]))
        },
        Frontend {
            outside: Some(Pool::Drop),
            ..Frontend::at(EXTERNAL_IP, Protocol::Tcp, 82, backends([1]))
        },
        Frontend {
            source_ranges: Some(vec![Cidr::new(ip(POD), 24).unwrap()]),
            ..Frontend::at(EXTERNAL_IP, Protocol::Tcp, 83, backends([1]))
        },
        Frontend {
            masquerade: true,
            ..Frontend::node_port(Family::Ipv4, Protocol::Tcp, 30_080, backends([1]))
        },
        Frontend {
            outside: Some(Pool::Reject),
            ..Frontend::node_port(Family::Ipv4, Protocol::Tcp, 30_081, backends([1]))
        },
    ];
    let tables = tables(&config(), &frontends);
    let to = |number| TranslatedTo(backend(number));
    for (source, destination, port, fate, masqueraded) in [
        (OUTSIDE, CLUSTER_IP, 80, to(1), true),
        (POD, CLUSTER_IP, 80, to(1), false),
        (NODE_IP, CLUSTER_IP, 80, to(1), true),
        (POD, CLUSTER_IP, 81, Rejected, false),
        (POD, CLUSTER_IP, 82, Dropped, false),
        (POD, CLUSTER_IP, 7777, Rejected, false),
        (OUTSIDE, EXTERNAL_IP, 80, to(1), true),
        (POD, EXTERNAL_IP, 80, to(1), true),
        (OUTSIDE, EXTERNAL_IP, 81, to(2), false),
        (POD, EXTERNAL_IP, 81, to(1), false),
        (NODE_IP, EXTERNAL_IP, 81, to(1), true),
        (OUTSIDE, EXTERNAL_IP, 82, Dropped, false),
        (POD, EXTERNAL_IP, 82, to(1), false),
        (OUTSIDE, EXTERNAL_IP, 83, Dropped, false),
        (POD, EXTERNAL_IP, 83, to(1), false),
        (NODE_IP, EXTERNAL_IP, 83, Dropped, false),
        (OUTSIDE, EXTERNAL_IP, 7777, Accepted, false),
        (OUTSIDE, NODE_IP, 30_080, to(1), true),
        (OUTSIDE, NODE_IP, 30_081, Rejected, false),
        (NODE_IP, NODE_IP, 30_081, to(1), true),
        (OUTSIDE, NODE_IP, 30_082, Accepted, false),
        (OUTSIDE, "192.168.77.3", 30_080, Accepted, false),
    ] {
        let found = outcome(&tables, &from(source, destination, port));
        let case = format!("{source} to {destination}:{port}");
        assert_eq!((found.fate, found.masqueraded), (fate, masqueraded), "{case}");
    }
}

#[test]
fn hairpins_are_masqueraded_and_endpoints_of_the_node_are_not() {
    let [pod, node] = [POD, NODE_IP].map(|at| Backend { ip: ip(at), port: 8080 });
    let to_pod = Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, Pool::Endpoints(vec![pod]));
    let to_node = Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 81, Pool::Endpoints(vec![node]));
    let tables = tables(&config(), &[to_pod, to_node]);
    for (source, port, masqueraded, mark) in [
        (POD, 80, true, 0),
        ("10.244.2.3", 80, false, 0),
        // It comes in rather than goes out, and keeps its mark.
        (OUTSIDE, 81, false, MARK),
        (NODE_IP, 81, true, 0),
    ] {
        let found = outcome(&tables, &from(source, CLUSTER_IP, port));
        assert_eq!((found.masqueraded, found.mark), (masqueraded, mark), "{source} to {port}");
    }
}

#[test]
fn marks_of_others_are_kept() {
    let frontend = Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, backends([1]));
    let tables = tables(&config(), &[frontend]);
    for (source, mark, masqueraded, left) in [
        (OUTSIDE, 0xff, true, 0xff),
        (POD, 0xff, false, 0xff),
        // Somebody else asked for it with the same bit.
        (POD, 0xff | MARK, true, 0xff),
    ] {
        let packet = Packet { mark, ..from(source, CLUSTER_IP, 80) };
        let found = outcome(&tables, &packet);
        assert_eq!((found.masqueraded, found.mark), (masqueraded, left), "{source} {mark:#x}");
    }
}

#[test]
fn shares_are_exact() {
    let zones = Pool::Zones(vec![
        (vec![backend(1), backend(2)], 3),
        (vec![backend(3)], 1),
        (vec![backend(4), backend(5), backend(6)], 2),
    ]);
    for sticky in [None, Some(60)] {
        let tables = tables(
            &config(),
            &[
                Frontend {
                    sticky,
                    ..Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, zones.clone())
                },
                Frontend {
                    sticky,
                    ..Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 81, backends(1..=3))
                },
            ],
        );
        let found = shares(&tables, &from(POD, CLUSTER_IP, 80));
        let of = |number, n, all| (Fate::TranslatedTo(backend(number)), Probability::new(n, all));
        let by_zone =
            [of(1, 1, 4), of(2, 1, 4), of(3, 1, 6), of(4, 1, 9), of(5, 1, 9), of(6, 1, 9)];
        assert_eq!(found, by_zone, "{sticky:?}");
        let found = shares(&tables, &from(POD, CLUSTER_IP, 81));
        assert_eq!(found, [of(1, 1, 3), of(2, 1, 3), of(3, 1, 3)], "{sticky:?}");
    }
}

/// A commit is not atomic for a packet: what it finds then.
#[test]
fn lookups_that_miss_fall_back_or_drop() {
    let frontend = Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, backends(1..=4));
    let key = frontend.key();
    let parts = Parts::new(&[frontend], &[], &[]);
    let without = |indexes: &[u32]| {
        let set = SetId::Endpoints(By::Address, Lane::Main);
        let is_gone = |e: &Element| e.set == set && indexes.iter().any(|i| e.key == key.number(*i));
        let elements = parts.elements.iter().filter(|element| !is_gone(element)).cloned();
        let chains = parts.chains.iter().copied();
        let tables = Tables::new(&config(), Family::Ipv4, chains, elements);
        shares(&tables, &from(POD, CLUSTER_IP, 80))
    };
    let of = |number, n| (Fate::TranslatedTo(backend(number)), Probability::new(n, 4));
    assert_eq!(without(&[3]), [of(1, 2), of(2, 1), of(3, 1)]);
    assert_eq!(without(&[1, 2, 3]), [of(1, 4)]);
    let dropped = (Fate::Dropped, Probability::new(1, 4));
    assert_eq!(without(&[0]), [of(2, 1), of(3, 1), of(4, 1), dropped]);
    assert_eq!(without(&[0, 1, 2, 3]), [(Fate::Dropped, Probability::ALWAYS)]);
}

#[test]
fn clients_stay_with_their_endpoint_until_they_are_forgotten() {
    for client in [POD, "fd00:244:2::2"] {
        let family = Family::of(ip(client));
        let (address, endpoints) = match family {
            Family::Ipv4 => (CLUSTER_IP, (1..=3).map(backend).collect::<Vec<_>>()),
            Family::Ipv6 => {
                let ip = |n| ip(&format!("fd00:244:3::{n}"));
                ("fd00:96::1", (1..=3).map(|n| Backend { ip: ip(n), port: 8080 }).collect())
            }
        };
        let sticky = |endpoints: &[Backend]| {
            let pool = Pool::Endpoints(endpoints.to_vec());
            let frontend = Frontend::cluster_ip(address, Protocol::Tcp, 80, pool);
            let frontend = Frontend { sticky: Some(60), ..frontend };
            Parts::new(&[frontend], &[], &[]).tables(&config(), family)
        };
        let mut affinities = Affinities::new();
        let mut send = |endpoints: &[Backend], choice: u32, now| {
            let packet = from(client, address, 80);
            match sticky(endpoints).send(&packet, |_| choice, &mut affinities, now).fate {
                Fate::TranslatedTo(backend) => backend,
                fate => panic!("{fate:?}"),
            }
        };
        let [a, b, c] = endpoints[..] else { panic!("three endpoints") };
        assert_eq!(send(&[a, b, c], 1, 0), b);
        assert_eq!(send(&[a, b, c], 0, 59), b, "within the timeout");
        assert_eq!(send(&[a, b, c], 0, 118), b, "each connection restarts the timeout");
        assert_eq!(send(&[c, b, a], 0, 119), b, "whatever the indexes are");
        assert_eq!(send(&[a, c], 1, 120), c, "the endpoint is gone");
        assert_eq!(send(&[a, b, c], 0, 121), c, "the new one is remembered");
        assert_eq!(send(&[a, b, c], 0, 181), a, "the timeout is over");
        assert_eq!(affinities.len(181), 1);
        assert!(affinities.is_empty(241));
    }
}

#[test]
fn what_the_kernel_would_refuse_is_broken() {
    let pick =
        ChainId::Pick(Pick { by: By::Address, lane: Lane::Main, sticky: None, from: From::All(1) });
    let frontend = Key::new().address(ip(CLUSTER_IP)).protocol(Protocol::Tcp).port(80);
    let services = SetId::Services(By::Address, Lane::Main);
    let element = |data| Element::new(Family::Ipv4, services, frontend, data);
    let goto = element(Data::Verdict(Verdict::Goto(pick)));
    let with = |chains: &[ChainId], elements: &[Element]| {
        Tables::new(&config(), Family::Ipv4, chains.iter().copied(), elements.iter().cloned())
    };

    let no_chain = with(&[], std::slice::from_ref(&goto));
    assert_eq!(no_chain.flaws().len(), 1);
    assert!(outcome(&no_chain, &from(POD, CLUSTER_IP, 80)).is_broken());

    let no_verdict = with(&[pick], &[element(Data::Scratch(1))]);
    assert!(outcome(&no_verdict, &from(POD, CLUSTER_IP, 80)).is_broken());

    let two = with(&[pick], &[goto.clone(), element(Data::Verdict(Verdict::Drop))]);
    assert_eq!(two.flaws().len(), 1);
    assert_eq!(with(&[pick], &[goto.clone(), goto]).flaws().len(), 0);

    for (other, flaws) in [("10.1.0.0", 1), ("11.0.0.0", 0)] {
        let ranges = [("10.0.0.0", 8), (other, 16)];
        let ranges = ranges.map(|(at, prefix)| Cidr::new(ip(at), prefix).unwrap());
        let frontend = Frontend::at(EXTERNAL_IP, Protocol::Tcp, 80, Pool::Reject);
        let frontend = Frontend { source_ranges: Some(ranges.to_vec()), ..frontend };
        let elements = Parts::new(&[frontend], &[], &[]).elements;
        assert_eq!(with(&[], &elements).flaws().len(), flaws, "{other}");
    }

    let short = Element::new(Family::Ipv4, services, Key::new().port(80), Data::None);
    assert_eq!(with(&[], &[short]).flaws().len(), 1);
}

#[test]
fn thousands_of_endpoints_take_no_time() {
    let endpoint = |n: u32| Backend { ip: IpAddr::V4((0x0a80_0000 + n).into()), port: 8080 };
    let zones = (0..3).map(|zone| ((0..5_000).map(|n| endpoint(zone * 5_000 + n)).collect(), 33));
    let frontend =
        Frontend::cluster_ip(CLUSTER_IP, Protocol::Tcp, 80, Pool::Zones(zones.collect()));
    let tables = tables(&config(), &[frontend]);
    let started = Instant::now();
    let outcomes = tables.outcomes(&from(POD, CLUSTER_IP, 80), &Affinities::new(), 0);
    assert_eq!(outcomes.len(), 15_000);
    assert_eq!(outcomes.iter().map(|it| it.1).sum::<Probability>(), Probability::ALWAYS);
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
