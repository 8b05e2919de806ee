//! Endpoints that fail: traffic stays up to the threshold, and moves below it as predicted.

use evenkeel_testkit::envoy::Server;
use serde_json::{Value, json};

use crate::{
    client::{Client, Spec, TOLERANCE, share_of_zone},
    control_plane::ControlPlane,
    folder::{Folder, Instance, often_checked, strategy},
};

/// Traffic leaves the zone below this percentage of healthy endpoints.
fn threshold(percentage: Option<u32>) -> Value {
    let mut cross_zone = json!({ "failover": [{ "to": { "type": "Any" } }] });
    if let Some(percentage) = percentage {
        cross_zone["failoverThreshold"] = json!({ "percentage": percentage });
    }
    json!({ "crossZone": cross_zone })
}

#[test]
fn endpoints_that_are_not_ready_move_traffic_below_the_threshold() {
    let folder = Folder::new("not_ready");
    let near: Vec<Server> = (0..10).map(|n| Server::http(&format!("zone-1.{n}"))).collect();
    let far = Server::http("zone-2.a");
    let services = [("half", None, 4), ("seventy", Some(70), 10)];
    for (service, percentage, n) in services {
        folder.put(&strategy(service, &threshold(percentage)));
        folder.put(&Instance::new(service, "zone-2", &far).dataplane("Ready"));
        for server in &near[..n] {
            folder.put(&Instance::new(service, "zone-1", server).dataplane("Ready"));
        }
    }
    let control_plane = ControlPlane::start(folder.path());
    let spec = Spec::new("client", "zone-1", &["half", "seventy"]);
    let client = Client::start(&spec, &folder, &control_plane);
    let mut down = 0;
    // Endpoints of the own zone that are down, and the share that stays: 2 of 4 are at the threshold of
    // 50 %, 7 of 10 at that of 70 %. Below it, what stays is healthy / threshold.
    let steps = [(1, [1.0, 1.0]), (2, [1.0, 1.0]), (3, [0.5, 1.0]), (4, [0.0, 0.85])];
    for (step, stays) in steps {
        for server in &near[down..step] {
            for (service, ..) in services {
                folder.put(&Instance::new(service, "zone-1", server).dataplane("NotReady"));
            }
        }
        down = step;
        let lost: Vec<_> = near[..down].iter().map(Server::address).collect();
        client.told(&control_plane, "UNHEALTHY", &lost);
        for ((service, ..), stays) in services.into_iter().zip(stays) {
            let answers = client.as_predicted(service, &control_plane, near.iter().chain([&far]));
            let measured = share_of_zone(&answers, "zone-1");
            assert!((measured - stays).abs() <= TOLERANCE, "{service}, {down} down: {measured}");
            assert!(stays < 1.0 || measured == 1.0, "{service}, {down} down: {measured}");
        }
    }
}

#[test]
fn failed_health_checks_move_traffic_below_the_threshold() {
    let folder = Folder::new("health_checks");
    let mut near: Vec<Server> = (0..4).map(|n| Server::http(&format!("zone-1.{n}"))).collect();
    let far = Server::http("zone-2.a");
    folder.put(&strategy("backend", &threshold(None)));
    folder.put(&often_checked("backend"));
    for server in &near {
        folder.put(&Instance::new("backend", "zone-1", server).dataplane("Ready"));
    }
    folder.put(&Instance::new("backend", "zone-2", &far).dataplane("Ready"));
    let control_plane = ControlPlane::start(folder.path());
    let client =
        Client::start(&Spec::new("client", "zone-1", &["backend"]), &folder, &control_plane);
    let healthy = |n: u64| {
        let what = format!("{n} healthy endpoints");
        client
            .envoy
            .wait_until(&what, || client.envoy.stat("cluster.backend.membership_healthy") == n);
    };
    healthy(5);
    // Of servers that are healthy, in the zones that are named.
    let stays = |expected: f64, healthy: &[&str]| {
        client.until("backend", |answers| {
            let by_server: Vec<&str> = answers.by_server.keys().map(String::as_str).collect();
            answers.share_of_status(200) == 1.0 && by_server == healthy
        });
        let answers = client.measure("backend");
        let measured = share_of_zone(&answers, "zone-1");
        assert!((measured - expected).abs() <= TOLERANCE, "{expected}: {:?}", answers.by_server);
        assert!(expected < 1.0 || measured == 1.0, "{:?}", answers.by_server);
    };
    stays(1.0, &["zone-1.0", "zone-1.1", "zone-1.2", "zone-1.3"]);
    // A process that ends, and then one that answers no longer well: 2 of 4 are at the threshold.
    near.remove(0);
    near[0].answer_with(500);
    healthy(3);
    stays(1.0, &["zone-1.2", "zone-1.3"]);
    near.pop();
    healthy(2);
    stays(0.5, &["zone-1.2", "zone-2.a"]);
    near[0].answer_with(200);
    healthy(3);
    stays(1.0, &["zone-1.1", "zone-1.2"]);
}
