//! Proxies without a control plane, and a control plane that is started again.

use std::{
    thread,
    time::{Duration, Instant},
};

use evenkeel_testkit::envoy::{Answers, Envoy, Requests, Server};
use serde_json::json;

use crate::{
    client::{Client, Spec},
    control_plane::ControlPlane,
    folder::{Folder, Instance, strategy},
};

/// How long there is no control plane.
const OUTAGE: Duration = Duration::from_secs(10);
/// Longer than Envoy's keepalive and back-off take to find out about a new one.
const SETTLED: Duration = Duration::from_secs(2);

#[test]
fn an_outage_loses_no_request_and_a_restart_resends_nothing() {
    let folder = Folder::new("outage");
    let servers = ["zone-1.a", "zone-1.b", "zone-2.a"].map(Server::http);
    for service in ["backend", "other"] {
        for server in &servers {
            let zone = if server.name().starts_with("zone-1") { "zone-1" } else { "zone-2" };
            folder.put(&Instance::new(service, zone, server).dataplane("Ready"));
        }
    }
    folder.put(&strategy(
        "backend",
        &json!({ "crossZone": { "failover": [{ "to": { "type": "Any" } }] } }),
    ));
    let control_plane = ControlPlane::start(folder.path());
    let services = &["backend", "other"];
    let specs = [
        Spec::new("delta", "zone-1", services),
        Spec { protocol: "sotw", ..Spec::new("sotw", "zone-1", services) },
    ];
    let clients = specs.map(|spec| Client::start(&spec, &folder, &control_plane));
    let listen = control_plane.listen;
    synced(&control_plane);
    let before = clients.each_ref().map(|client| updates(&client.envoy));
    for (client, updates) in clients.iter().zip(&before) {
        assert_eq!(client.envoy.stat("control_plane.connected_state"), 1);
        for stat in
            ["cluster_manager.cds", "listener_manager.lds", "cluster.backend", "cluster.other"]
        {
            let n = updates.get(&format!("{stat}.update_success"));
            assert!(n.is_some_and(|n| *n > 0), "{stat}: {updates:?}");
        }
        assert!(updates.keys().any(|name| name.contains(".rds.")), "{updates:?}");
    }

    control_plane.kill();
    let ends = Instant::now() + OUTAGE;
    for answers in send_until(&clients, ends) {
        assert!(answers.failures.is_empty(), "{answers:?}");
        assert_eq!(answers.by_status.get(&200), Some(&answers.total()), "{answers:?}");
    }
    for client in &clients {
        assert_eq!(client.envoy.stat("control_plane.connected_state"), 0);
    }

    let control_plane = ControlPlane::start_at(folder.path(), listen);
    synced(&control_plane);
    // What would be resent would come now. A reconnect costs nothing: both variants tell what they have.
    for answers in send_until(&clients, Instant::now() + SETTLED) {
        assert!(answers.failures.is_empty(), "{answers:?}");
    }
    for client in &clients {
        assert_eq!(client.envoy.stat("control_plane.connected_state"), 1);
    }
    let after = clients.each_ref().map(|client| updates(&client.envoy));
    assert_eq!(after, before);

    // The streams are alive.
    let gone = &servers[1];
    for service in services {
        folder.put(&Instance::new(service, "zone-1", gone).dataplane("NotReady"));
    }
    for client in &clients {
        client.told(&control_plane, "UNHEALTHY", &[gone.address()]);
    }
}

/// All types of both proxies.
fn synced(control_plane: &ControlPlane) {
    control_plane.eventually("/mesh/proxies", |page| {
        let proxies = page["proxies"].as_array().unwrap();
        let is_synced = |proxy: &serde_json::Value| {
            let types = proxy["types"].as_object().unwrap();
            types.len() >= 4 && types.values().all(|status| status["state"] == "SYNCED")
        };
        proxies.len() == 2 && proxies.iter().all(is_synced)
    });
}

/// How often each kind of resource was updated, listeners and clusters as a whole too.
fn updates(envoy: &Envoy) -> std::collections::BTreeMap<String, u64> {
    let of = "^(cluster_manager\\.cds|listener_manager\\.lds|cluster\\..*|http\\..*\\.rds\\..*)";
    let mut stats = envoy.stats(&format!("{of}\\.(update_success|update_rejected|config_reload)$"));
    stats.retain(|name, _| !name.contains("xds_cluster"));
    stats
}

/// Requests by all clients to all services, from one thread for each client.
fn send_until(clients: &[Client; 2], ends: Instant) -> Vec<Answers> {
    let send = |client: &Client| {
        let mut all = Answers::default();
        while Instant::now() < ends {
            for service in ["backend", "other"] {
                let answers = Requests::new(50).kept_alive().http(client.outbound(service));
                all.failures.extend(answers.failures);
                for (status, n) in answers.by_status {
                    *all.by_status.entry(status).or_default() += n;
                }
            }
        }
        all
    };
    thread::scope(|scope| {
        let threads = clients.each_ref().map(|client| scope.spawn(move || send(client)));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
