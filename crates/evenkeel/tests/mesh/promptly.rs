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
    folder::{Folder, Instance, often_checked, strategy},
};

const CHANGES: usize = 9;
/// Far below the second for which Envoy would collect changes, far above what it takes to act.
const PROMPT: Duration = Duration::from_millis(400);

/// A near and a far endpoint of `backend`, and a client that is near.
fn one_near_and_one_far(folder: &Folder, near: &Server, far: &Server) -> (ControlPlane, Client) {
    let any = json!({ "crossZone": { "failover": [{ "to": { "type": "Any" } }] } });
    folder.put(&strategy("backend", &any));
    folder.put(&Instance::new("backend", "zone-1", near).dataplane("Ready"));
    folder.put(&Instance::new("backend", "zone-2", far).dataplane("Ready"));
    let control_plane = ControlPlane::start(folder.path());
    let spec = Spec::new("client", "zone-1", &["backend"]);
    let client = Client::start(&spec, folder, &control_plane);
    (control_plane, client)
}

/// How long it takes from now until all requests are answered by this server.
fn until_served_by(client: &Client, server: &Server) -> Duration {
    let begun = Instant::now();
    loop {
        let answers = Requests::new(10).http(client.outbound("backend"));
        if answers.share(server.name()) == 1.0 {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "{}: {answers:?}", server.name());
    }
}

fn prompt(mut took: Vec<Duration>) {
    took.sort_unstable();
    assert!(took[took.len() / 2] < PROMPT, "{took:?}");
}

#[test]
fn discovered_changes_of_health_move_traffic_as_soon_as_they_are_acknowledged() {
    let folder = Folder::new("discovered_promptly");
    let (near, far) = (Server::http("zone-1.a"), Server::http("zone-2.a"));
    let (control_plane, client) = one_near_and_one_far(&folder, &near, &far);
    let took = (0..CHANGES).map(|n| {
        let (state, health, serves) = match n % 2 {
            0 => ("NotReady", "UNHEALTHY", &far),
            _ => ("Ready", "HEALTHY", &near),
        };
        folder.put(&Instance::new("backend", "zone-1", &near).dataplane(state));
        client.told(&control_plane, health, &[near.address()]);
        until_served_by(&client, serves)
    });
    prompt(took.collect());
}

/// Each change comes within a second of the one before it, so that Envoy by default would collect all but
/// the first.
#[test]
fn what_checks_find_moves_traffic_at_once() {
    let folder = Folder::new("checked_promptly");
    let (near, far) = (Server::http("zone-1.a"), Server::http("zone-2.a"));
    folder.put(&often_checked("backend"));
    let (_control_plane, client) = one_near_and_one_far(&folder, &near, &far);
    let is_known = |healthy: u64| {
        let what = format!("{healthy} healthy endpoints");
        let stat = || client.envoy.stat("cluster.backend.membership_healthy");
        client.envoy.wait_until(&what, || stat() == healthy);
    };
    is_known(2);
    let took = (0..CHANGES).map(|n| {
        let (status, healthy, serves) = if n % 2 == 0 { (500, 1, &far) } else { (200, 2, &near) };
        near.answer_with(status);
        is_known(healthy);
        until_served_by(&client, serves)
    });
    prompt(took.collect());
    assert_eq!(client.envoy.stat("cluster_manager.cluster_updated_via_merge"), 0);
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
