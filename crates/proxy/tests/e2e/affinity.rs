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
    space::Space,
};

fn sticky(more: Value) -> Value {
    let mut spec = json!({"sessionAffinity": "ClientIP"});
    more.as_object().unwrap().iter().for_each(|(key, value)| spec[key] = value.clone());
    spec
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
    // All Pods are clients: some witness sees the change of endpoints.
    let pods = space.cluster.pod("client-a1");
    let mine = pinned(pods, web.http());
    stays(pods, web.http(), &mine);
    let other = if mine == "a1" { "b1" } else { "a1" };
    let plain = space.service("plain", json!({}));
    space.pods(&["a2", "b2", "c1", "c2"]);
    space.reaches(space.client("a1"), plain.http(), &PODS);
    stays(pods, web.http(), &mine);
    space.remove(&["a2", "c1", other]);
    let left = [mine.as_str(), "b2", "c2"];
    space.reaches(space.client("a1"), plain.http(), &left);
    stays(pods, web.http(), &mine);
    // Its endpoint goes: another takes over, and keeps it.
    space.remove(&[&mine]);
    let next = until("another endpoint", || match pinned(pods, web.http()) {
        pod if pod == mine => Err(pod),
        pod => Ok(pod),
    });
    stays(pods, web.http(), &next);
    // When the first one comes back, nothing changes for the client.
    space.pods(&[&mine]);
    space.reaches(space.client("a1"), plain.http(), &left);
    stays(pods, web.http(), &next);
}

#[test]
fn changes_of_hints_and_shares_do_not_move_a_client_whose_endpoint_is_still_used() {
    let space = Space::new("affinity-shares");
    space.pods(&["a1", "a2", "b1", "c1"]);
    let balanced = json!({"evenkeel.dev/traffic-distribution": "Balanced"});
    let web = space.annotated("web", balanced, sticky(json!({})));
    let client = space.client("b1");
    let mine = pinned(client, web.http());
    stays(client, web.http(), &mine);
    let shares = || serde_json::to_string(&space.slices("web")).unwrap();
    let annotated = |text: &str| text.contains("evenkeel.dev/zone-shares");
    until("shares", || if annotated(&shares()) { Ok(()) } else { Err(shares()) });
    stays(client, web.http(), &mine);
    let more = ["b2", "c2"];
    let plain = space.service("plain", json!({}));
    space.pods(&more);
    space.reaches(client, plain.http(), &PODS);
    stays(client, web.http(), &mine);
}

#[test]
fn each_client_is_pinned_on_its_own_for_udp_as_well() {
    let space = Space::new("affinity-clients");
    space.pods(&PODS);
    let web = space.service("web", sticky(json!({"type": "NodePort"})));
    space.reaches(space.client("c1"), space.service("plain", json!({})).http(), &PODS);
    let mut seen = BTreeSet::new();
    for client in PODS.iter().map(|name| &**space.cluster.pod(name)) {
        let mine = pinned(client, web.http());
        stays(client, web.http(), &mine);
        let tally = client.client().many(Protocol::Udp, web.udp(), 10);
        assert_eq!((tally.by_pod().len(), tally.failures.len()), (1, 0), "{tally:?}");
        // A node port is another way to the same port of the Service.
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
