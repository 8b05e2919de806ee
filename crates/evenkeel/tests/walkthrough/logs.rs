//! What a controller logs: Kubernetes' words, fields that can be searched for, and no flood.

use std::fs;

use serde_json::Value;

use crate::{
    cluster::Cluster,
    controller::Controller,
    process::until,
    slices::{Hinted, settled},
};

const WEB: &str = "
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}], trafficDistribution: PreferSameZone}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: app}]}
";

/// Enough for a flood to show: each watch fails many times.
const FAILURES: f64 = 40.0;

fn lines(log: &str) -> Vec<Value> {
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect()
}

fn with<'a>(lines: &'a [Value], message: &str) -> Vec<&'a Value> {
    let has = |line: &&Value| {
        line["fields"]["message"].as_str().is_some_and(|text| text.starts_with(message))
    };
    lines.iter().filter(has).collect()
}

#[test]
fn log_lines_name_what_they_are_about_and_failures_do_not_flood() {
    let mut cluster = Cluster::start("logs", &["zone-a", "zone-b"]);
    let controller = Controller::start(&cluster, &["--log-format=json"]);
    cluster.apply(WEB);
    settled(&cluster, "web", 2, Hinted::is_for_its_zone);
    cluster.stop();
    let restarts = "evenkeel_controller_watch_restarts_total";
    until("watches have failed many times", || {
        (controller.metric(restarts) >= FAILURES).then_some(())
    });
    let log = fs::read_to_string(cluster.folder.join("controller.log")).unwrap();
    let lines = lines(&log);
    drop(controller);

    assert!(!log.contains("Some("), "{log}");
    let target = |line: &Value| line["target"].as_str().unwrap().to_owned();
    assert!(lines.iter().all(|line| target(line).starts_with("evenkeel")), "{log}");
    assert_eq!(with(&lines, "caches synced").len(), 1, "{log}");
    let leader = with(&lines, "became leader");
    let lease = "kube-system/evenkeel-endpointslice-controller";
    assert_eq!((leader.len(), &leader[0]["span"]["lease"]), (1, &lease.into()), "{log}");
    let connected = with(&lines, "connected to API server");
    let address = connected[0]["fields"]["address"].as_str().unwrap();
    assert!(address.starts_with("https://127.0.0.1:"), "{log}");

    let hints = with(&lines, "hints changed");
    assert!(!hints.is_empty(), "{log}");
    for line in hints {
        assert_eq!(line["span"], serde_json::json!({"name": "sync", "service": "default/web"}));
        let fields = &line["fields"];
        assert_eq!(fields["reason"], "SetByField", "{line}");
        for field in ["endpoints", "slices", "took"] {
            assert!(!fields[field].is_null(), "{field} is not in {line}");
        }
    }
    let failed = with(&lines, "watch failed, retrying in");
    let mut resources: Vec<&Value> = failed.iter().map(|line| &line["span"]["resource"]).collect();
    resources.sort_by_key(|resource| resource.as_str().map(str::to_owned));
    let all = ["endpointslices", "leases", "nodes", "pods", "services"];
    assert_eq!(resources, all, "one line each: {log}");
    assert!(failed.iter().all(|line| line["span"]["address"] == address), "{log}");
    assert!(with(&lines, "lease request failed").len() <= 1, "{log}");
}
