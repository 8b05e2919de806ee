//! The walk-through of KEP-4444 ("Were upgrade and rollback tested?"), with its own manifests, and
//! what else the proposal says of a Service that asks for traffic to stay near.

use crate::{
    cluster::{Cluster, GATE_OFF},
    slices::{Hinted, addresses, by_zone, settled, used},
};

/// As in the proposal.
const DEMO: &str = r#"
apiVersion: v1
kind: Service
metadata:
  name: demo-svc
spec:
  type: ClusterIP
  trafficDistribution: PreferClose
  ports:
  - name: tcp
    port: 80
    protocol: TCP
    targetPort: 8080
  selector:
    app: demo-app
---
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: demo-app
  name: demo
spec:
  replicas: 5
  selector:
    matchLabels:
      app: demo-app
  template: 
    metadata:
      labels:
        app: demo-app
    spec:
      containers:
      - name: agnhost
        image: gcr.io/kubernetes-e2e-test-images/agnhost:2.8
        args: ["serve-hostname", "--port", "8080"]
"#;

const ZONES: [&str; 2] = ["zone-a", "zone-b"];

/// What clients of each zone use is what is hinted for them.
fn agrees(cluster: &Cluster, endpoints: &[Hinted]) {
    for zone in ZONES {
        let explained = cluster.explain("demo-svc", &["--from-zone", zone]);
        let hinted = addresses(endpoints, |one| one.for_zones == [zone]);
        assert!(!hinted.is_empty(), "{endpoints:?}");
        assert_eq!(used(&explained), hinted, "{explained:#}");
    }
}

/// Clients use all endpoints, wherever they are.
fn goes_anywhere(cluster: &Cluster, endpoints: &[Hinted], args: &[&str]) {
    for zone in ZONES {
        let explained = cluster.explain("demo-svc", &[&["--from-zone", zone], args].concat());
        assert_eq!(used(&explained), addresses(endpoints, |_| true), "{explained:#}");
    }
}

fn distribution(cluster: &Cluster) -> serde_json::Value {
    cluster.get(&["svc", "demo-svc"])["spec"]["trafficDistribution"].clone()
}

#[test]
fn hints_appear_go_with_the_gate_of_the_api_server_and_come_back() {
    let mut cluster = Cluster::start("gate", &ZONES);
    let controller = cluster.control(&[]);
    // Steps 2 and 3.
    cluster.apply(DEMO);
    let before = settled(&cluster, "demo-svc", 5, Hinted::is_for_its_zone);
    assert_eq!(by_zone(&before).len(), 2, "{before:?}");
    agrees(&cluster, &before);

    // Steps 4 and 5.
    cluster.restart(&[GATE_OFF]);
    let without = settled(&cluster, "demo-svc", 5, Hinted::has_none);
    assert_eq!(addresses(&without, |_| true), addresses(&before, |_| true));
    assert!(distribution(&cluster).is_null(), "an API server without the gate shows no field");
    goes_anywhere(&cluster, &without, &[]);
    // Who writes the Service meanwhile, whole or in part, takes nothing away that is stored.
    let read = cluster.must(&["get", "svc", "demo-svc", "-o", "yaml"], "");
    cluster.must(&["replace", "-f", "-"], &read);
    cluster.must(&["label", "svc", "demo-svc", "seen=true"], "");

    // Steps 6 and 7.
    cluster.restart(&[]);
    let after = settled(&cluster, "demo-svc", 5, Hinted::is_for_its_zone);
    assert_eq!(after, before);
    assert_eq!(distribution(&cluster), "PreferClose");
    // Step 8.
    agrees(&cluster, &after);
    // Steps 8 (there are two of them) and 9: a proxy from before obeys no hints.
    goes_anywhere(&cluster, &after, &[GATE_OFF]);
    // Step 10.
    assert_eq!(distribution(&cluster), "PreferClose");
    assert_eq!(settled(&cluster, "demo-svc", 5, Hinted::is_for_its_zone), before);
    controller.stop();
}

#[test]
fn the_annotation_wins_over_the_field() {
    let cluster = Cluster::start("annotation", &ZONES);
    let controller = cluster.control(&[]);
    cluster.apply(DEMO);
    // All but one in zone-a, where clients of both zones would find three each under Auto.
    cluster.must(&["cordon", "node-zone-b"], "");
    cluster.must(&["scale", "deployment", "demo", "--replicas=0"], "");
    settled(&cluster, "demo-svc", 0, |_| true);
    cluster.must(&["scale", "deployment", "demo", "--replicas=5"], "");
    settled(&cluster, "demo-svc", 5, Hinted::is_for_its_zone);
    cluster.must(&["uncordon", "node-zone-b"], "");
    cluster.must(&["scale", "deployment", "demo", "--replicas=6"], "");
    let near = settled(&cluster, "demo-svc", 6, Hinted::is_for_its_zone);
    assert_eq!(by_zone(&near), [("zone-a", 5), ("zone-b", 1)].into());

    let auto = "service.kubernetes.io/topology-mode=Auto";
    cluster.must(&["annotate", "svc", "demo-svc", auto], "");
    let shared = crate::process::until("endpoints are shared out", || {
        let all = settled(&cluster, "demo-svc", 6, |_| true);
        (by_zone(&all) == [("zone-a", 3), ("zone-b", 3)].into()).then_some(all)
    });
    assert_eq!(distribution(&cluster), "PreferClose");
    agrees(&cluster, &shared);
    let explained = cluster.explain("demo-svc", &["--from-zone", "zone-a"]);
    assert_eq!(explained["policy"], "Auto", "{explained:#}");

    cluster.must(&["annotate", "svc", "demo-svc", "service.kubernetes.io/topology-mode-"], "");
    assert_eq!(settled(&cluster, "demo-svc", 6, Hinted::is_for_its_zone), near);
    controller.stop();
}

#[test]
fn prefer_same_node_carries_zone_hints_for_consumers_that_do_not_know_node_hints() {
    let cluster = Cluster::start("same-node", &ZONES);
    cluster.apply(&crate::cluster::node("zone-a").replace("node-zone-a", "node-without"));
    cluster.must(&["cordon", "node-without"], "");
    let controller = cluster.control(&[]);
    cluster.apply(&DEMO.replace("PreferClose", "PreferSameNode"));
    let both = settled(&cluster, "demo-svc", 5, |one| {
        one.for_zones == [one.zone.as_str()] && one.for_nodes == [one.node.as_str()]
    });
    for zone in ZONES {
        let node = format!("node-{zone}");
        let own = addresses(&both, |one| one.node == node);
        let explained = cluster.explain("demo-svc", &["--from-node", &node]);
        assert_eq!(used(&explained), own, "{explained:#}");
    }
    // Nothing runs there: its zone's will do.
    let near = addresses(&both, |one| one.zone == "zone-a");
    let elsewhere = ["--from-node", "node-without"];
    assert_eq!(used(&cluster.explain("demo-svc", &elsewhere)), near);
    // A consumer of before: to it the value is as PreferClose was.
    let older = ["--feature-gates", "PreferSameTrafficDistribution=false"];
    let explained = cluster.explain("demo-svc", &[&elsewhere[..], &older].concat());
    assert_eq!(used(&explained), near, "{explained:#}");
    let explained = cluster.explain("demo-svc", &[&["--from-zone", "zone-b"][..], &older].concat());
    assert_eq!(used(&explained), addresses(&both, |one| one.zone == "zone-b"), "{explained:#}");
    controller.stop();
}
