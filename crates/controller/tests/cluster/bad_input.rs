//! What the API may hold that nobody planned for: each is left out or mended for itself, told and
//! counted once, and one Service's trouble never delays another's.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    time::{Duration, Instant},
};

use evenkeel_controller::Settings;
use k8s_openapi::api::{
    core::v1::{Pod, Service},
    discovery::v1::EndpointSlice,
};
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    harness::{Cluster, PATIENCE, at_once, controller, n_endpoints, object},
    kep_2433::settings,
    logged,
};

/// How soon a Pod's change must be in its slice while others are in trouble. It takes some
/// milliseconds; a machine may be busy with other tests.
const SOON: Duration = Duration::from_secs(5);

#[tokio::test]
async fn odd_pods_are_left_out_or_listed_each_for_itself() {
    let cluster = Cluster::start().await;
    for (node, zone) in [("a", "a"), ("b", "b"), ("gone", "b")] {
        cluster.node(node, zone, Some(4)).await;
    }
    let controller = cluster.controller(settings(|_| {})).await;
    cluster.service("odd", json!({})).await;
    cluster.pod("odd", "plain", "a", "10.1.0.1").await;
    cluster.pod("odd", "twin-1", "a", "10.1.0.2").await;
    cluster.pod("odd", "twin-2", "b", "10.1.0.2").await;
    cluster.pod("odd", "vanishing", "gone", "10.1.0.3").await;
    bare_pod(&cluster, "no-address", json!({"app": "odd"})).await;
    bare_pod(&cluster, "both", json!({"app": "odd"})).await;
    let ips = json!([{"ip": "10.1.0.4"}, {"ip": "fd00::4"}]);
    status(&cluster, "both", json!({"podIP": "10.1.0.4", "podIPs": ips})).await;
    let mut labels = json!({"app": "odd"});
    for number in 0..10_000 {
        labels[format!("label-{number}")] = json!("x");
    }
    bare_pod(&cluster, "labels", labels).await;
    status(&cluster, "labels", json!({"podIP": "10.1.0.5", "podIPs": [{"ip": "10.1.0.5"}]})).await;

    let with_all = ["plain", "twin-1", "twin-2", "vanishing", "both", "labels"];
    cluster.until("odd", |slices| is_listed(slices, &with_all)).await;
    cluster.nodes().delete("gone", &DeleteParams::default()).await.unwrap();
    let left = ["plain", "twin-1", "twin-2", "both", "labels"];
    let touch = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    let services = cluster.api::<Service>();
    services.patch("odd", &PatchParams::default(), &touch).await.unwrap();
    let slices = cluster.until("odd", |slices| is_listed(slices, &left)).await;
    assert!(slices.iter().all(|slice| slice.address_type == "IPv4"));
    let begun = Instant::now();
    let said = "skipping Pod vanishing for Service default/odd: Node gone Not Found";
    loop {
        let events = cluster.events("odd").await;
        if events.iter().any(|e| e.message.as_deref().is_some_and(|text| text.contains(said))) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{events:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    controller.stop().await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_slice_mangled_by_hand_is_mended() {
    let cluster = Cluster::start().await;
    cluster.node("a", "a", Some(4)).await;
    let controller = cluster.controller(settings(|_| {})).await;
    cluster.service("web", json!({})).await;
    cluster.pod("web", "web-1", "a", "10.1.0.1").await;
    cluster.pod("web", "web-2", "a", "10.1.0.2").await;
    let pods = ["web-1", "web-2"];
    let owner = json!([{
        "apiVersion": "v1", "kind": "Service", "name": "other", "uid": "u-1", "controller": true,
    }]);
    let manglings = [
        json!({"endpoints": []}),
        json!({"metadata": {"labels": {"endpointslice.kubernetes.io/managed-by": null}}}),
        json!({"metadata": {"labels": {"kubernetes.io/service-name": null}}}),
        json!({"metadata": {"ownerReferences": owner}}),
        json!({"metadata": {"labels": null}, "endpoints": [], "ports": []}),
    ];
    for mangling in manglings {
        let slices = cluster.until("web", |slices| is_listed(&ours(slices), &pods)).await;
        let name = ours(&slices)[0].name_any();
        let patch = Patch::Merge(&mangling);
        let api = cluster.api::<EndpointSlice>();
        let mangled = api.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        let version = mangled.resource_version();
        let mended = |slices: &[EndpointSlice]| {
            let ours = ours(slices);
            let seen = ours.iter().all(|slice| slice.resource_version() != version);
            seen && is_listed(&ours, &pods) && ours.iter().all(is_owned)
        };
        cluster.until("web", mended).await;
    }
    controller.stop().await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_is_told_once_and_delays_nobody_else() {
    logged::keep();
    let cluster = Cluster::start().await;
    cluster.node("a", "a", Some(4)).await;
    let address = "127.0.0.1:0".parse().unwrap();
    let with_metrics = Settings { listen: Some(address), ..settings(|_| {}) };
    let (controller, ready) = controller(cluster.client.clone(), with_metrics).await;
    let metrics = ready.admin.unwrap();
    at_once((0..2000).map(async |number| {
        let ip = format!("10.2.{}.{}", number / 250, 1 + number % 250);
        cluster.pod("many", &format!("many-{number}"), "a", &ip).await;
    }))
    .await;
    cluster.service("everything", json!({"spec": {"selector": {"app": "many"}}})).await;
    let bad = json!({"evenkeel.dev/selector": "app in (bad"});
    let bad = json!({"metadata": {"annotations": bad}, "spec": {"selector": null}});
    cluster.service("bad-selector", bad).await;
    cluster.service("plain", json!({})).await;
    cluster.pod("plain", "plain", "a", "10.1.0.1").await;
    cluster.until("everything", |slices| n_endpoints(slices) == 2000).await;

    let plain = async {
        for round in 0..20 {
            let ready = round % 2 == 1;
            let begun = Instant::now();
            cluster.ready("plain", "10.1.0.1", ready).await;
            cluster.until("plain", |slices| is_ready(slices) == Some(ready)).await;
            assert!(begun.elapsed() < SOON, "round {round} took {:?}", begun.elapsed());
        }
    };
    tokio::select! {
        () = plain => {}
        () = trouble(&cluster) => {}
    }
    let wanted = r#"evenkeel_controller_refused_objects_total{resource="services"} 1"#;
    let text = ask_metrics(metrics).await;
    assert!(text.lines().any(|line| line == wanted), "{text}");
    let told = logged::lines(|line| {
        line.get("name").is_some_and(|name| name == "bad-selector")
            && line["message"] == "ignoring invalid object"
    });
    assert_eq!(told.len(), 1, "{told:?}");
    controller.stop().await;
    cluster.stop().await;
}

/// Changes one of the 2,000 Pods, touches the bad Service, empties a slice; again and again.
async fn trouble(cluster: &Cluster) {
    for round in 0_u32.. {
        let number = round % 2000;
        let ip = format!("10.2.{}.{}", number / 250, 1 + number % 250);
        cluster.ready(&format!("many-{number}"), &ip, round % 3 == 0).await;
        let touch = Patch::Merge(json!({"metadata": {"labels": {"round": round.to_string()}}}));
        let services = cluster.api::<Service>();
        services.patch("bad-selector", &PatchParams::default(), &touch).await.unwrap();
        if round % 10 == 0 {
            let slice = cluster.slices("everything").await[0].name_any();
            let empty = Patch::Merge(json!({"endpoints": []}));
            let api = cluster.api::<EndpointSlice>();
            api.patch(&slice, &PatchParams::default(), &empty).await.unwrap();
        }
    }
}

async fn bare_pod(cluster: &Cluster, name: &str, labels: Value) {
    let pod = object(json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "image": "i"}]},
    }));
    cluster.api::<Pod>().create(&PostParams::default(), &pod).await.unwrap();
}

/// Ready, with this besides.
async fn status(cluster: &Cluster, pod: &str, mut status: Value) {
    status["phase"] = json!("Running");
    status["conditions"] = json!([{"type": "Ready", "status": "True"}]);
    let patch = Patch::Merge(json!({"status": status}));
    let api = cluster.api::<Pod>();
    api.patch_status(pod, &PatchParams::default(), &patch).await.unwrap();
}

fn ours(slices: &[EndpointSlice]) -> Vec<EndpointSlice> {
    let is_ours = |slice: &&EndpointSlice| {
        let manager = slice.labels().get("endpointslice.kubernetes.io/managed-by");
        manager.is_some_and(|name| name == "endpointslice-controller.evenkeel.dev")
    };
    slices.iter().filter(is_ours).cloned().collect()
}

fn is_owned(slice: &EndpointSlice) -> bool {
    slice.owner_references().iter().any(|owner| owner.kind == "Service" && owner.name == "web")
}

/// Whether exactly these Pods are listed, each once.
fn is_listed(slices: &[EndpointSlice], pods: &[&str]) -> bool {
    let endpoints = slices.iter().flat_map(|slice| slice.endpoints.iter().flatten());
    let names = endpoints.filter_map(|endpoint| endpoint.target_ref.as_ref()?.name.clone());
    let names: BTreeSet<String> = names.collect();
    n_endpoints(slices) == pods.len() && pods.iter().all(|pod| names.contains(*pod))
}

fn is_ready(slices: &[EndpointSlice]) -> Option<bool> {
    slices.first()?.endpoints.as_ref()?.first()?.conditions.as_ref()?.ready
}

async fn ask_metrics(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
