use std::collections::BTreeSet;

use evenkeel_locality::{
    Compat,
    resource::{Form, Kind, parse},
    view::Settings,
};
use evenkeel_xds::{Resource as Encoded, Source as _};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn new_engine() -> Engine {
    Engine::new(View::new(Settings::default()))
}

fn update(value: &Value) -> Update {
    Update::Apply(Box::new(parse(value, Form::File, Compat::Record).unwrap()))
}

fn delete(name: &str) -> Update {
    Update::Delete(Key::new(Kind::Dataplane, "default", name))
}

fn server(name: &str, service: &str, zone: u8, node: u8, last: u8, ready: bool) -> Update {
    update(&json!({
        "type": "Dataplane", "mesh": "default", "name": name,
        "networking": {
            "address": format!("10.0.{zone}.{last}"),
            "inbound": [{
                "port": 8080, "servicePort": 9090,
                "state": if ready { "Ready" } else { "NotReady" },
                "tags": {
                    "kuma.io/service": service,
                    "kuma.io/zone": format!("zone-{zone}"),
                    "node": format!("node-{node}"),
                },
            }],
        },
    }))
}

/// A client of these services, which is a gateway so that it has nothing of its own.
fn client(name: &str, zone: u8, node: u8, services: &[&str]) -> Update {
    let outbound = services
        .iter()
        .enumerate()
        .map(|(n, service)| json!({ "port": 10_000 + n, "tags": { "kuma.io/service": service } }));
    update(&json!({
        "type": "Dataplane", "mesh": "default", "name": name,
        "networking": {
            "address": "10.9.9.9",
            "gateway": { "tags": {
                "kuma.io/service": "edge",
                "kuma.io/zone": format!("zone-{zone}"),
                "node": format!("node-{node}"),
            } },
            "outbound": outbound.collect::<Vec<Value>>(),
        },
    }))
}

fn strategy(name: &str, awareness: &Value) -> Update {
    update(&json!({
        "type": "MeshLoadBalancingStrategy", "mesh": "default", "name": name,
        "spec": {
            "targetRef": { "kind": "Mesh" },
            "to": [{
                "targetRef": { "kind": "Mesh" },
                "default": { "localityAwareness": awareness },
            }],
        },
    }))
}

fn near() -> Update {
    strategy(
        "near",
        &json!({
            "localZone": { "affinityTags": [{ "key": "node" }] },
            "crossZone": { "failover": [{ "to": { "type": "Any" } }] },
        }),
    )
}

fn key(name: &str) -> ProxyKey {
    ProxyKey::new("default", name)
}

fn names(served: &Served, kind: ResourceType) -> Vec<String> {
    let mut names = Vec::new();
    served.each(kind, &mut |resource: &Arc<Encoded>| names.push(resource.name().to_string()));
    names.sort();
    names
}

fn all(served: &Served) -> Vec<(ResourceType, String, String)> {
    let mut all = Vec::new();
    for kind in ResourceType::ALL {
        served.each(kind, &mut |r| all.push((kind, r.name().to_string(), r.version().to_string())));
    }
    all.sort();
    all
}

#[test]
fn a_proxy_without_a_dataplane_is_sent_nothing_until_there_is_one() {
    let mut engine = new_engine();
    let slot = engine.connect(&key("c"));
    assert_eq!(all(&slot.served()), []);
    engine.apply(vec![server("s1", "web", 1, 1, 1, true)]);
    let pushes = engine.apply(vec![client("c", 1, 1, &["web"])]);
    assert_eq!(pushes.len(), 1);
    assert_eq!(*pushes[0].proxies, BTreeSet::from([key("c")]));
    let kinds: BTreeSet<ResourceType> = pushes[0].changed.iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.contains(&ResourceType::Cluster) && kinds.contains(&ResourceType::Endpoint));
    assert_eq!(names(&slot.served(), ResourceType::Endpoint).len(), 1);
    engine.apply(vec![delete("c")]);
    assert_eq!(all(&slot.served()), []);
}

#[test]
fn alike_proxies_share_one_bundle_and_alike_places_one_resource() {
    let mut engine = new_engine();
    engine.apply(vec![
        near(),
        server("s1", "web", 1, 1, 1, true),
        client("a", 1, 1, &["web"]),
        client("b", 1, 1, &["web"]),
        client("elsewhere", 2, 1, &["web"]),
    ]);
    let [a, b, elsewhere] = ["a", "b", "elsewhere"].map(|name| engine.connect(&key(name)).served());
    assert!(Arc::ptr_eq(&a.shared, &b.shared));
    assert!(!Arc::ptr_eq(&a.shared, &elsewhere.shared));
    let cluster = names(&a, ResourceType::Cluster).remove(0);
    let of = |served: &Served| served.get(ResourceType::Cluster, &cluster).unwrap();
    assert!(Arc::ptr_eq(&of(&a), &of(&elsewhere)));
    assert_eq!(engine.held().bundles, 2);
}

#[test]
fn a_change_of_an_endpoint_reaches_its_dependants_only() {
    let mut engine = new_engine();
    engine.apply(vec![
        server("s1", "web", 1, 1, 1, true),
        server("s2", "db", 1, 1, 2, true),
        client("of-web", 1, 1, &["web"]),
        client("of-db", 1, 1, &["db"]),
        client("of-both", 1, 1, &["web", "db"]),
    ]);
    for name in ["of-web", "of-db", "of-both"] {
        engine.connect(&key(name));
    }
    let pushes = engine.apply(vec![server("s1", "web", 1, 1, 1, false)]);
    let told: BTreeSet<ProxyKey> =
        pushes.iter().flat_map(|push| push.proxies.iter().cloned()).collect();
    assert_eq!(told, BTreeSet::from([key("of-web"), key("of-both")]));
    for push in &pushes {
        assert!(
            push.changed
                .iter()
                .all(|(kind, name)| { *kind == ResourceType::Endpoint && name.contains("web") })
        );
    }
    assert_eq!(engine.apply(vec![server("s1", "web", 1, 1, 1, false)]), []);
}

#[test]
fn work_for_one_change_does_not_depend_on_the_number_of_proxies() {
    let cost = |n: usize| {
        let mut engine = new_engine();
        engine.apply(vec![near(), server("s1", "web", 1, 1, 1, true)]);
        let clients = (0..n).map(|i| {
            let (zone, node) = ((i % 3) as u8 + 1, (i / 3 % 20) as u8);
            client(&format!("c{i}"), zone, node, &["web"])
        });
        engine.apply(clients.collect());
        (0..n).for_each(|i| drop(engine.connect(&key(&format!("c{i}")))));
        let before = engine.work();
        let pushes = engine.apply(vec![server("s2", "web", 2, 7, 2, true)]);
        let told: usize = pushes.iter().map(|push| push.proxies.len()).sum();
        assert_eq!(told, n);
        let after = engine.work();
        (after.assignments - before.assignments, after.encoded - before.encoded, pushes.len())
    };
    let few = cost(120);
    assert_eq!(few, cost(2_400));
    assert_eq!(few.0, 60);
}

#[test]
fn what_no_proxy_uses_is_dropped() {
    let mut engine = new_engine();
    engine.apply(vec![server("s1", "web", 1, 1, 1, true), client("c", 1, 1, &["web"])]);
    let slot = engine.connect(&key("c"));
    engine.connect(&key("c"));
    engine.disconnect(&key("c"));
    assert_eq!(engine.held().assignments, 1);
    drop(slot);
    engine.disconnect(&key("c"));
    engine.encoded.sweep();
    assert_eq!(engine.held(), Held::default());
    assert_eq!(engine.apply(vec![server("s1", "web", 1, 1, 1, false)]), []);
}

#[test]
fn pushes_name_all_that_a_proxy_has_to_be_told() {
    let mut engine = new_engine();
    engine.apply(vec![near(), server("s1", "web", 1, 1, 1, true), client("c", 1, 1, &["web"])]);
    let slot = engine.connect(&key("c"));
    let before = slot.served();
    let version = |served: &Served, (kind, name): &Changed| {
        served.get(*kind, name).map(|resource| resource.version())
    };
    let held = all(&before);
    let far = strategy("near", &json!({ "disabled": true }));
    let pushes = engine.apply(vec![far, server("s2", "web", 2, 1, 2, true)]);
    let after = all(&slot.served());
    let named: BTreeSet<Changed> =
        pushes.iter().flat_map(|push| push.changed.iter().cloned()).collect();
    let differs =
        held.iter().chain(&after).filter(|one| !(held.contains(one) && after.contains(one)));
    for (kind, name, _) in differs {
        assert!(named.contains(&(*kind, name.as_str().into())), "{kind} {name}");
    }
    let cluster = named.iter().find(|(kind, _)| *kind == ResourceType::Endpoint).unwrap();
    assert!(version(&slot.served(), cluster).is_some());
}

#[derive(Clone, Debug)]
enum Step {
    Server { n: u8, service: bool, zone: u8, node: u8, ready: bool },
    Client { n: u8, zone: u8, node: u8, both: bool },
    Delete { is_server: bool, n: u8 },
    Strategy(Option<bool>),
    Connect(u8),
    Disconnect(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (0..4u8, any::<bool>(), 1..3u8, 0..2u8, any::<bool>())
            .prop_map(|(n, service, zone, node, ready)| Step::Server { n, service, zone, node, ready }),
        2 => (0..4u8, 1..3u8, 0..2u8, any::<bool>())
            .prop_map(|(n, zone, node, both)| Step::Client { n, zone, node, both }),
        1 => (any::<bool>(), 0..4u8).prop_map(|(is_server, n)| Step::Delete { is_server, n }),
        1 => any::<Option<bool>>().prop_map(Step::Strategy),
        2 => (0..4u8).prop_map(Step::Connect),
        1 => (0..4u8).prop_map(Step::Disconnect),
    ]
}

fn updates(step: &Step) -> Vec<Update> {
    let policy = Key::new(Kind::MeshLoadBalancingStrategy, "default", "near");
    match step {
        Step::Server { n, service, zone, node, ready } => {
            let service = if *service { "web" } else { "db" };
            vec![server(&format!("s{n}"), service, *zone, *node, *n, *ready)]
        }
        Step::Client { n, zone, node, both } => {
            let services: &[&str] = if *both { &["web", "db"] } else { &["web"] };
            vec![client(&format!("c{n}"), *zone, *node, services)]
        }
        Step::Delete { is_server, n } => {
            vec![delete(&format!("{}{n}", if *is_server { "s" } else { "c" }))]
        }
        Step::Strategy(None) => vec![Update::Delete(policy)],
        Step::Strategy(Some(true)) => vec![near()],
        Step::Strategy(Some(false)) => vec![strategy("near", &json!({ "disabled": true }))],
        Step::Connect(_) | Step::Disconnect(_) => vec![],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Endpoints that were ready before are known to a view that has seen them only, so the other
    /// engine sees the same changes, with nobody connected until the end.
    #[test]
    fn what_is_served_is_what_a_new_connection_is_served(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        let [mut engine, mut fresh] = [(); 2].map(|()| new_engine());
        let mut streams = [0usize; 4];
        // What a client would have that takes what pushes name, and nothing else.
        let mut clients: [BTreeMap<Changed, String>; 4] = Default::default();
        for step in &steps {
            match step {
                Step::Connect(n) => {
                    let served = engine.connect(&key(&format!("c{n}"))).served();
                    if streams[*n as usize] == 0 {
                        clients[*n as usize] = all(&served).into_iter()
                            .map(|(kind, name, version)| ((kind, name.into()), version)).collect();
                    }
                    streams[*n as usize] += 1;
                }
                Step::Disconnect(n) if streams[*n as usize] > 0 => {
                    engine.disconnect(&key(&format!("c{n}")));
                    streams[*n as usize] -= 1;
                }
                _ => {}
            }
            let pushes = engine.apply(updates(step));
            fresh.apply(updates(step));
            for push in pushes {
                for proxy in &*push.proxies {
                    let n: usize = proxy.name[1..].parse().unwrap();
                    let served = engine.connected[proxy].slot.served();
                    for (kind, name) in push.changed.iter() {
                        let changed = (*kind, Arc::clone(name));
                        match served.get(*kind, name) {
                            Some(r) => clients[n].insert(changed, r.version().to_string()),
                            None => clients[n].remove(&changed),
                        };
                    }
                }
            }
        }
        for n in (0..4).filter(|n| streams[*n] > 0) {
            let proxy = key(&format!("c{n}"));
            let served = all(&engine.connected[&proxy].slot.served());
            prop_assert_eq!(&served, &all(&fresh.connect(&proxy).served()));
            let held: Vec<_> = clients[n].iter()
                .map(|((kind, name), version)| (*kind, name.to_string(), version.clone())).collect();
            prop_assert_eq!(&served, &held);
        }
        for (n, open) in streams.into_iter().enumerate() {
            (0..open).for_each(|_| engine.disconnect(&key(&format!("c{n}"))));
        }
        engine.encoded.sweep();
        prop_assert_eq!(engine.held(), Held::default());
    }
}
