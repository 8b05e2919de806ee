//! How soon workers of Envoy act on what its main thread has acknowledged, and how soon a proxy comes back.

use std::{
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use evenkeel_testkit::envoy::{Envoy, Requests, Server};
use evenkeel_xds::{
    Variant,
    bootstrap::{BackOff, Bootstrap, ControlPlane as Address, Keepalive, render},
};
use serde_json::json;

use crate::{
    client::{Client, Spec},
    control_plane::{ControlPlane, PATIENCE},
    folder::{Folder, Instance, strategy},
};

const CHANGES: usize = 9;
/// Far below the second for which Envoy would collect changes, far above what it takes to act.
const PROMPT: Duration = Duration::from_millis(400);

/// Each change comes within a second of the one before it, so that Envoy would collect all but the first.
#[test]
fn changes_of_health_move_traffic_as_soon_as_they_are_acknowledged() {
    let folder = Folder::new("promptly");
    let (near, far) = (Server::http("zone-1.a"), Server::http("zone-2.a"));
    let any = json!({ "crossZone": { "failover": [{ "to": { "type": "Any" } }] } });
    folder.put(&strategy("backend", &any));
    folder.put(&Instance::new("backend", "zone-1", &near).dataplane("Ready"));
    folder.put(&Instance::new("backend", "zone-2", &far).dataplane("Ready"));
    let control_plane = ControlPlane::start(folder.path());
    let client =
        Client::start(&Spec::new("client", "zone-1", &["backend"]), &folder, &control_plane);
    let changes = (0..CHANGES).map(|n| match n % 2 {
        0 => ("NotReady", "UNHEALTHY", &far),
        _ => ("Ready", "HEALTHY", &near),
    });
    let took = changes.map(|(state, health, serves)| {
        folder.put(&Instance::new("backend", "zone-1", &near).dataplane(state));
        client.told(&control_plane, health, &[near.address()]);
        let acknowledged = Instant::now();
        loop {
            let answers = Requests::new(10).http(client.outbound("backend"));
            if answers.share(serves.name()) == 1.0 {
                return acknowledged.elapsed();
            }
            assert!(acknowledged.elapsed() < PATIENCE, "{state}: {answers:?}");
        }
    });
    let took: Vec<Duration> = took.collect();
    let mut sorted = took.clone();
    sorted.sort_unstable();
    assert!(sorted[CHANGES / 2] < PROMPT, "{took:?}");
    let collected = client.envoy.stat("cluster_manager.cluster_updated_via_merge");
    assert_eq!(collected, 0, "{took:?}");
}

/// With Envoy's own back-off, this many attempts take a quarter of an hour.
#[test]
fn a_proxy_comes_back_as_often_as_its_bootstrap_says() {
    const ATTEMPTS: usize = 50;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = listener.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // The last one wakes it when the test is over.
        for stream in listener.incoming().take(ATTEMPTS) {
            drop(stream);
            let _ = tell.send(());
        }
    });
    let back_off = BackOff { base: Duration::from_millis(10), max: Duration::from_millis(50) };
    let envoy = Envoy::spawn(&render(&bootstrap(refusing, back_off)), &[]);
    for attempt in 1..=ATTEMPTS {
        let came = told.recv_timeout(PATIENCE);
        assert_eq!(came, Ok(()), "attempt {attempt}: {}", envoy.log());
    }
}

fn bootstrap(control_plane: SocketAddr, back_off: BackOff) -> Bootstrap {
    Bootstrap {
        mesh: "default".into(),
        dataplane: "client".into(),
        service: None,
        zone: None,
        tags: [].into(),
        variant: Variant::Incremental,
        control_plane: Address::Address(control_plane),
        admin: None,
        keepalive: Keepalive::default(),
        back_off,
    }
}
