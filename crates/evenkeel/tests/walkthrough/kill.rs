//! Processes that are killed in the middle of their work, again and again.
//!
//! One request deletes all Pods; others come in their place, and every slice changes several times.
//! The kill comes with one of the first of these writes, or soon after. At the end every ready Pod is
//! in exactly one slice of its Service, and nothing else is in any.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    cluster::Cluster,
    controller::Controller,
    process::{Process, until},
    slices::{items, listed, text, versions},
};

const ZONES: [&str; 2] = ["zone-a", "zone-b"];
const SERVICES: usize = 30;
const REPLICAS: usize = 5;

/// Services `s-0`, `s-1`, …, each over Pods of its own.
fn manifests() -> String {
    let service = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 80}], "trafficDistribution": "PreferSameZone"},
        })
    };
    let deployment = |name: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {
                "replicas": REPLICAS, "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "app", "image": "app"}]},
                },
            },
        })
    };
    let names = (0..SERVICES).map(|n| format!("s-{n}"));
    let all: Vec<Value> = names.flat_map(|name| [service(&name), deployment(&name)]).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string()
}

fn n_writes(controller: &Controller) -> f64 {
    controller.metric("endpoint_slice_controller_changes")
}

/// Begins to delete all Pods, and returns when the controller is at work on what follows.
fn shake(cluster: &Cluster, controller: &Controller) -> Process {
    let before = n_writes(controller);
    let deleting = cluster.begin(&["delete", "--raw", "/api/v1/namespaces/default/pods"]);
    until("the controller is at work", || (n_writes(controller) > before + 5.0).then_some(()));
    deleting
}

/// The addresses of the Pods of each Service, once all are ready and none is left of those before.
fn ready_pods(cluster: &Cluster) -> BTreeMap<String, Vec<String>> {
    let is_up = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        let mut ready = conditions.filter(|one| one["type"] == "Ready");
        pod["metadata"]["deletionTimestamp"].is_null() && ready.any(|one| one["status"] == "True")
    };
    let all =
        |pods: &Value| items(pods).len() == SERVICES * REPLICAS && items(pods).iter().all(is_up);
    let pods = cluster.eventually(&["pods"], all);
    let mut services: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in items(&pods) {
        let service = services.entry(text(&pod["metadata"]["labels"]["app"])).or_default();
        service.push(text(&pod["status"]["podIP"]));
    }
    services.values_mut().for_each(|addresses| addresses.sort());
    services
}

/// Slices are what they should be: each Pod in one, ready and hinted; one for each Service.
fn converges(cluster: &Cluster) {
    let pods = ready_pods(cluster);
    let label = ["endpointslices", "-l", "kubernetes.io/service-name!=kubernetes"];
    let is_complete = |slices: &Value| {
        let endpoints = items(slices).iter().flat_map(|slice| slice["endpoints"].as_array());
        let is_well = |one: &Value| {
            one["conditions"]["ready"] == true
                && one["hints"]["forZones"] == json!([{"name": one["zone"]}])
        };
        listed(slices) == pods && endpoints.flatten().all(is_well)
    };
    let slices = cluster.eventually(&label, is_complete);
    assert_eq!(items(&slices).len(), SERVICES, "{SERVICES} slices have room for all");
}

#[test]
fn an_api_server_that_is_killed_in_mid_sync_leaves_nothing_lost_or_listed_twice() {
    let mut cluster = Cluster::start("api-server-killed", &ZONES);
    let mut controller = cluster.control(&[]);
    cluster.must(&["create", "-f", "-"], &manifests());
    for _ in 0..3 {
        let _deleting = shake(&cluster, &controller);
        cluster.crash();
    }
    converges(&cluster);
    assert!(controller.process.is_running(), "one process has seen it all");
    controller.stop();
}

#[test]
fn a_controller_that_is_killed_in_mid_sync_is_followed_by_one_that_ends_its_work() {
    let cluster = Cluster::start("controller-killed", &ZONES);
    let mut controller = cluster.control(&[]);
    cluster.must(&["create", "-f", "-"], &manifests());
    for _ in 0..3 {
        let _deleting = shake(&cluster, &controller);
        controller.process.kill();
        controller = cluster.control(&[]);
    }
    converges(&cluster);
    controller.stop();

    let before = versions(&cluster, "endpointslices,services");
    let controller = cluster.control(&[]);
    controller.synced(SERVICES);
    assert_eq!(n_writes(&controller), 0.0, "nothing had changed");
    controller.stop();
    assert_eq!(versions(&cluster, "endpointslices,services"), before);
}
