//! `sessionAffinity: ClientIP`.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    thread::sleep,
    time::{Duration, Instant},
};

use evenkeel_testkit::netns::{Namespace, Protocol};
use serde_json::{Value, json};

use crate::{
    cluster::{PODS, until},
    space::{Space, with},
};

fn sticky(more: Value) -> Value {
    with(json!({"sessionAffinity": "ClientIP"}), more)
}

/// The Pod that a client is with, once there is one.
fn pinned(client: &Namespace, to: SocketAddr) -> String {
    until("an answer", || client.http(to).map_err(|failure| failure.to_string())).pod
}

#[track_caller]
fn stays(client: &Namespace, to: SocketAddr, pod: &str) {
    let tally = client.http_many(to, 20);
    assert_eq!(tally.by_pod().get(pod), Some(&20), "{tally:?}");
}

#[test]
fn a_client_stays_with_its_endpoint_while_others_come_and_go() {
    let space = Space::new("affinity-scaling");
    space.pods(&["a1", "b1"]);
    let web = space.service("web", sticky(json!({})));
    let client = space.cluster.pod("client-a1");
    let mine = pinned(client, web.http());
    stays(client, web.http(), &mine);
    let other = if mine == "a1" { "b1" } else { "a1" };
    let plain = space.service("plain", json!({}));
    space.pods(&["a2", "b2", "c1", "c2"]);
    space.reaches(space.client("a1"), plain.http(), &PODS);
    stays(client, web.http(), &mine);
    space.remove(&["a2", "c1", other]);
    let left = [mine.as_str(), "b2", "c2"];
    space.reaches(space.client("a1"), plain.http(), &left);
    stays(client, web.http(), &mine);
    // Its endpoint goes: another takes over, and keeps it.
    space.remove(&[&mine]);
    let next = until("another endpoint", || match pinned(client, web.http()) {
        pod if pod == mine => Err(pod),
        pod => Ok(pod),
    });
    stays(client, web.http(), &next);
    // When the first one comes back, nothing changes for the client.
    space.pods(&[&mine]);
    space.reaches(space.client("a1"), plain.http(), &left);
    stays(client, web.http(), &next);
}

/// Of several Services, so that some client is with an endpoint of its zone: shares of zone-b are
/// about 82 % for its own endpoint first, and all when it has two.
#[test]
fn a_change_of_shares_moves_only_clients_whose_endpoint_is_used_no_more() {
    let space = Space::new("affinity-shares");
    space.pods(&["a1", "a2", "b1", "c1"]);
    let balanced = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    let names: Vec<String> = (0..5).map(|n| format!("web-{n}")).collect();
    let create = |name: &String| space.annotated(name, balanced.clone(), sticky(json!({})));
    let targets: Vec<SocketAddr> = names.iter().map(|name| create(name).http()).collect();
    for name in &names {
        until("shares", || match serde_json::to_string(&space.slices(name)).unwrap() {
            text if text.contains("evenkeel.dev/zone-shares") => Ok(()),
            text => Err(text),
        });
    }
    // Slices come in order: when the last ones are in force, those before are.
    let last = space.annotated("last", balanced.clone(), json!({}));
    let client = space.client("b1");
    space.reaches(client, last.http(), &["a1", "a2", "b1"]);
    let before: Vec<String> = targets.iter().map(|to| pinned(client, *to)).collect();
    assert!(before.iter().any(|pod| pod == "b1"), "{before:?}");
    space.pods(&["b2", "c2"]);
    space.reaches(client, last.http(), &["b1", "b2"]);
    for (to, pod) in targets.iter().zip(&before) {
        if pod == "b1" {
            stays(client, *to, pod);
        } else {
            until("an endpoint in use", || match pinned(client, *to) {
                pod if pod.starts_with('b') => Ok(()),
                pod => Err(pod),
            });
        }
    }
}

#[test]
fn each_client_is_pinned_on_its_own_for_udp_as_well() {
    let space = Space::new("affinity-clients");
    space.pods(&PODS);
    let web = space.service("web", sticky(json!({})));
    space.reaches(space.client("c1"), space.service("plain", json!({})).http(), &PODS);
    let mut seen = BTreeSet::new();
    for client in PODS.iter().map(|name| &**space.cluster.pod(name)) {
        let mine = pinned(client, web.http());
        stays(client, web.http(), &mine);
        let tally = client.client().many(Protocol::Udp, web.udp(), 10);
        assert_eq!((tally.by_pod().len(), tally.failures.len()), (1, 0), "{tally:?}");
        seen.insert(mine);
    }
    // Six clients at the same of six endpoints: once in 7,776 runs.
    assert!(seen.len() > 1, "{seen:?}");
}

/// Every new connection starts the time anew. Each time it is over, the client keeps its endpoint by
/// chance only, once in six.
#[test]
fn a_client_is_free_when_its_time_is_over() {
    let space = Space::new("affinity-timeout");
    space.pods(&PODS);
    let config = json!({"clientIP": {"timeoutSeconds": 2}});
    let web = space.service("web", sticky(json!({"sessionAffinityConfig": config})));
    space.reaches(space.client("a1"), space.service("plain", json!({})).http(), &PODS);
    let client = space.client("a1");
    let first = pinned(client, web.http());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        assert_eq!(pinned(client, web.http()), first, "after {:?}", begun.elapsed());
        sleep(Duration::from_millis(500));
    }
    let is_moved = (0..8).any(|_| {
        sleep(Duration::from_millis(2_200));
        pinned(client, web.http()) != first
    });
    assert!(is_moved, "it stayed with {first}");
}
