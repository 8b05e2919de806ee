//! Objects that make no sense, at random: the kernel accepts every transaction nevertheless, holds
//! what was decided, and a Service that does make sense is served all the time.

use evenkeel_k8s::watched;
use evenkeel_model::Watched;
use evenkeel_nft::{Config, Element, Family, SetId};
use evenkeel_proxy::{
    Settings,
    engine::Engine,
    netlink::nftables::{Nftables, Ownership},
};
use evenkeel_testkit::{netns::Network, sim::Rng};
use serde_json::{Value, json};

const IPS: [&str; 16] = [
    "10.96.0.1",
    "10.96.0.2",
    "10.96.0.3",
    "0.0.0.0",
    "255.255.255.255",
    "127.0.0.1",
    "224.0.0.1",
    "::",
    "::1",
    "fd00::1",
    "fd00::2",
    "::ffff:10.96.0.1",
    "None",
    "",
    "10.96.0.1/24",
    "10.96.0.01",
];
const RANGES: [&str; 12] = [
    "0.0.0.0/0",
    "10.0.0.0/8",
    "10.0.0.1/8",
    " 10.1.0.0/16 ",
    "10.1.2.3/32",
    "10.1.2.3",
    "::/0",
    "fd00::/8",
    "fd00::1/128",
    "10.0.0.0/33",
    "0.0.0.0/1",
    "-",
];
const PORTS: [i64; 8] = [1, 80, 80, 443, 65_535, 65_536, 0, -1];
const NODE_PORTS: [i64; 5] = [0, 30_000, 30_001, 1, 65_535];
const PROTOCOLS: [&str; 5] = ["TCP", "UDP", "SCTP", "TCP", "ICMP"];
const TIMEOUTS: [i64; 5] = [0, 1, 10_800, 86_400, 86_401];
const SHARES: [&str; 6] = [
    r#"{"zone-a":{"zone-a":500,"zone-b":250,"zone-c":250}}"#,
    r#"{"zone-a":{"zone-a":1,"zone-b":999}}"#,
    r#"{"zone-a":{"zone-c":1000}}"#,
    r#"{"zone-a":{"zone-a":2000}}"#,
    r#"{"zone-b":{}}"#,
    "[",
];

#[test]
fn no_object_can_make_the_kernel_refuse_a_transaction() {
    let network = Network::new(&[("node-a1", "zone-a"), ("node-b1", "zone-b")]);
    for (seed, host) in (0..).zip(network.hosts()) {
        host.run(|| run(seed));
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut settings = Settings::new("node-a1").engine;
    settings.nft = Config { zone_counters: seed % 2 == 1, mark_bit: 31, ..Config::default() };
    let config = settings.nft.clone();
    let mut engine = Engine::new(settings);
    let mut nftables = Nftables::open().unwrap();
    engine.addresses(vec!["172.30.0.1".parse().unwrap()]);
    engine.node(Watched::Complete);
    seen_service(&mut engine, &good());
    seen_slice(&mut engine, &good_slice());
    engine.service(Watched::Complete);
    engine.slice(Watched::Complete);
    for round in 0..150 {
        for _ in 0..=rng.below(6) {
            match rng.below(5) {
                0 | 1 => seen_service(&mut engine, &service(&mut rng)),
                2 => {
                    let service: watched::Service = read(&service(&mut rng));
                    engine.service(Watched::Deleted(service.gone()));
                }
                3 => seen_slice(&mut engine, &slice(&mut rng)),
                _ => {
                    let slice: watched::EndpointSlice = read(&slice(&mut rng));
                    engine.slice(Watched::Deleted(slice.gone()));
                }
            }
        }
        let transaction = engine.sync();
        nftables
            .commit(&transaction, &config, Ownership::OwnedPersistent, None)
            .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        check(&mut nftables, &engine);
    }
    // All at once is accepted too.
    let all = engine.rebuild();
    nftables.commit(&all, &config, Ownership::OwnedPersistent, None).unwrap();
    check(&mut nftables, &engine);
}

fn check(nftables: &mut Nftables, engine: &Engine) {
    let tables = Family::ALL.map(|family| nftables.list(family, "evenkeel").unwrap().unwrap());
    let mut listed: Vec<Element> = tables.into_iter().flat_map(|table| table.elements).collect();
    let mut wanted = engine.elements();
    listed.sort_by_key(Element::key);
    wanted.sort_by_key(Element::key);
    assert_eq!(listed, wanted);
    let good = evenkeel_nft::Key::new().address([10, 96, 9, 9].into());
    let is_good = |element: &&Element| element.key.as_bytes().starts_with(good.as_bytes());
    let is_endpoint = |element: &&Element| matches!(element.set, SetId::Endpoints(..));
    assert_eq!(listed.iter().filter(is_good).filter(is_endpoint).count(), 2);
}

fn seen_service(engine: &mut Engine, value: &Value) {
    engine.service(Watched::Applied(read::<watched::Service>(value).seen()));
}

/// As the proxy does it: a slice that can't be read counts as gone.
fn seen_slice(engine: &mut Engine, value: &Value) {
    let slice: watched::EndpointSlice = read(value);
    match slice.seen(engine.names_mut()) {
        Ok(seen) => engine.slice(Watched::Applied(seen)),
        Err(_) => engine.slice(Watched::Deleted(slice.gone())),
    }
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

fn good() -> Value {
    json!({
        "metadata": {"name": "good", "namespace": "n", "resourceVersion": "1", "uid": "u"},
        "spec": {"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"], "ipFamilies": ["IPv4"],
            "ports": [{"name": "http", "port": 80, "protocol": "TCP"}]},
    })
}

fn good_slice() -> Value {
    json!({
        "metadata": {"name": "good-1", "namespace": "n", "resourceVersion": "1",
            "labels": {"kubernetes.io/service-name": "good"}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["10.1.0.1"]}, {"addresses": ["10.1.0.2"]}],
    })
}

fn service(rng: &mut Rng) -> Value {
    let some = |rng: &mut Rng, of: &[&str]| -> Vec<Value> {
        (0..rng.below(4)).map(|_| one(rng, of).into()).collect()
    };
    let ports: Vec<Value> = (0..rng.below(5))
        .map(|_| {
            json!({"name": one(rng, &["http", "dns", "http"]), "port": number(rng, &PORTS),
                "protocol": one(rng, &PROTOCOLS), "nodePort": number(rng, &NODE_PORTS)})
        })
        .collect();
    let ips = some(rng, &IPS);
    let ingress: Vec<Value> = some(rng, &IPS).iter().map(|ip| json!({"ip": ip})).collect();
    json!({
        "metadata": {"name": name(rng), "namespace": "n", "resourceVersion": "1", "uid": "u"},
        "spec": {
            "clusterIP": ips.first().cloned().unwrap_or_default(), "clusterIPs": ips,
            "ipFamilies": some(rng, &["IPv4", "IPv6", "IPv5"]),
            "type": one(rng, &["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
            "ports": ports,
            "externalIPs": some(rng, &IPS),
            "loadBalancerSourceRanges": some(rng, &RANGES),
            "sessionAffinity": one(rng, &["None", "ClientIP", "ClientIP", "Other"]),
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": number(rng, &TIMEOUTS)}},
            "internalTrafficPolicy": one(rng, &["Cluster", "Local", "Other"]),
            "externalTrafficPolicy": one(rng, &["Cluster", "Local", "Other"]),
            "healthCheckNodePort": number(rng, &NODE_PORTS),
        },
        "status": {"loadBalancer": {"ingress": ingress}},
    })
}

fn slice(rng: &mut Rng) -> Value {
    let kind = one(rng, &["IPv4", "IPv4", "IPv4", "IPv6", "FQDN"]);
    let endpoints: Vec<Value> = (0..rng.below(7))
        .map(|_| {
            let last = rng.below(6);
            let ip = match (kind, rng.below(30)) {
                (_, 0) => one(rng, &IPS).to_owned(),
                ("IPv6", _) => format!("fd00:1::{last}"),
                _ => format!("10.1.0.{last}"),
            };
            let ready = rng.chance(800);
            json!({"addresses": [ip], "zone": long(one(rng, &["zone-a", "zone-b", "zone-c", "Z"])),
                "nodeName": one(rng, &["node-a1", "node-b1"]),
                "conditions": {"ready": ready, "serving": rng.chance(900), "terminating": !ready}})
        })
        .collect();
    let of = name(rng);
    let mut metadata = json!({"name": format!("s{}", rng.below(6)), "namespace": "n",
        "resourceVersion": "1", "labels": {"kubernetes.io/service-name": of}});
    if rng.chance(400) {
        metadata["annotations"] = json!({"evenkeel.dev/zone-shares": one(rng, &SHARES)});
    }
    json!({
        "metadata": metadata,
        "addressType": kind,
        "ports": [
            {"name": "http", "port": number(rng, &PORTS), "protocol": one(rng, &PROTOCOLS)},
            {"name": one(rng, &["dns", "http"]), "port": 53, "protocol": one(rng, &PROTOCOLS)},
        ],
        "endpoints": endpoints,
    })
}

/// Some are as long as names can be.
fn name(rng: &mut Rng) -> String {
    long(one(rng, &["a", "b", "c", "D", "e", "F"]))
}

fn long(name: &str) -> String {
    match name {
        "D" | "F" | "Z" => name.to_lowercase().repeat(253),
        _ => name.to_owned(),
    }
}

fn one<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len())]
}

fn number(rng: &mut Rng, of: &[i64]) -> i64 {
    of[rng.below(of.len())]
}
