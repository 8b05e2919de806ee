//! Namespace deletion, and failures of housekeeping.

use std::{sync::atomic::Ordering, time::Duration};

use evenkeel_store::NewObject;
use http::Method;
use serde_json::{Value, json};

use super::condition;
use crate::server::testing::Server;
use crate::{kinds::CONFIG_MAP, settings::Sandbox, storage::Next};

const SHOP: &str = "/api/v1/namespaces/shop";

fn quick() -> Sandbox {
    let short = Duration::from_millis(20);
    Sandbox { ready_after: short, end_after: short, ..Sandbox::default() }
}

async fn with_namespace() -> Server {
    let server = Server::start_sandbox(None, quick()).await;
    server.create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}})).await;
    server
}

fn message<'a>(namespace: &'a Value, kind: &str) -> &'a str {
    let conditions = namespace["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    found.and_then(|one| one["message"].as_str()).unwrap_or_default()
}

/// Kubernetes' e2e spec `OrderedNamespaceDeletion`.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_deletes_its_pods_first_and_reports_the_rest() {
    let server = with_namespace().await;
    server.create("/api/v1/nodes", &json!({"metadata": {"name": "n1"}})).await;
    let held = json!(["e2e.example.com/finalizer"]);
    let spec = json!({"containers": [{"name": "web", "image": "web:1"}]});
    let pod = json!({"metadata": {"name": "p", "finalizers": held}, "spec": spec});
    server.create(&format!("{SHOP}/pods"), &pod).await;
    let (pod, map) = (format!("{SHOP}/pods/p"), format!("{SHOP}/configmaps/c"));
    server.until(&pod, |pod| condition(pod, "Ready") == "True").await;
    server.create(&format!("{SHOP}/configmaps"), &json!({"metadata": {"name": "c"}})).await;
    server.ask(Method::DELETE, SHOP, &Value::Null).await;

    let remains = |namespace: &Value| condition(namespace, "NamespaceContentRemaining") == "True";
    let ending = server.until(SHOP, remains).await;
    assert_eq!(ending["status"]["phase"], "Terminating");
    let failures = ["Discovery", "GroupVersionParsing", "Content"];
    let failed =
        failures.map(|what| condition(&ending, &format!("NamespaceDeletion{what}Failure")));
    assert_eq!(failed, ["False"; 3]);
    assert_eq!(
        message(&ending, "NamespaceContentRemaining"),
        "Some resources are remaining: pods. has 1 resource instances"
    );
    assert_eq!(
        message(&ending, "NamespaceFinalizersRemaining"),
        "Some content in the namespace has finalizers remaining: e2e.example.com/finalizer in 1 \
         resource instances"
    );
    server.until(&pod, |pod| pod["metadata"]["deletionGracePeriodSeconds"] == 0).await;
    let kept = server.get(&map).await;
    assert!(kept.is_object() && kept["metadata"]["deletionTimestamp"].is_null(), "{kept}");

    server.patch(&map, &json!({"metadata": {"finalizers": ["x/held"]}})).await;
    server.patch(&pod, &json!({"metadata": {"finalizers": null}})).await;
    server.until(&pod, Value::is_null).await;
    let next = "Some resources are remaining: configmaps. has 1 resource instances";
    let ending = server
        .until(SHOP, |namespace| message(namespace, "NamespaceContentRemaining") == next)
        .await;
    assert_eq!(
        message(&ending, "NamespaceFinalizersRemaining"),
        "Some content in the namespace has finalizers remaining: x/held in 1 resource instances"
    );
    server.patch(&map, &json!({"metadata": {"finalizers": null}})).await;
    server.until(SHOP, Value::is_null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_a_foreign_finalizer_reports_that_it_is_empty() {
    let server = with_namespace().await;
    let mut namespace = server.get(SHOP).await;
    namespace["spec"]["finalizers"] = json!(["kubernetes", "x/held"]);
    assert_eq!(server.ask(Method::PUT, &format!("{SHOP}/finalize"), &namespace).await.0, 200);
    server.create(&format!("{SHOP}/configmaps"), &json!({"metadata": {"name": "c"}})).await;
    server.ask(Method::DELETE, SHOP, &Value::Null).await;
    let only_theirs = |namespace: &Value| namespace["spec"]["finalizers"] == json!(["x/held"]);
    let held = server.until(SHOP, only_theirs).await;
    assert_eq!(message(&held, "NamespaceContentRemaining"), "All content successfully removed");
    assert_eq!(
        message(&held, "NamespaceFinalizersRemaining"),
        "All content-preserving finalizers finished"
    );
    server.stop().await;
}

/// An owner and its dependent.
async fn pair(server: &Server) -> (String, String) {
    let maps = "/api/v1/namespaces/default/configmaps";
    let owner = server.create(maps, &json!({"metadata": {"name": "owner"}})).await;
    let uid = &owner["metadata"]["uid"];
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
    let owned = json!({"metadata": {"name": "owned", "ownerReferences": owners}});
    server.create(maps, &owned).await;
    (format!("{maps}/owner"), format!("{maps}/owned"))
}

#[tokio::test(flavor = "multi_thread")]
async fn housekeeping_that_panics_is_started_again_and_its_health_check_fails_meanwhile() {
    let server = Server::start_sandbox(None, quick()).await;
    let (owner, owned) = pair(&server).await;
    let ready = async |path: &str| server.ask(Method::GET, path, &Value::Null).await.0;
    assert_eq!((ready("/readyz").await, ready("/readyz/housekeeping").await), (200, 200));
    server.api.faults.housekeeping.store(3, Ordering::SeqCst);
    server.ask(Method::DELETE, &owner, &Value::Null).await;
    server.until(&owned, Value::is_null).await;
    assert_eq!((ready("/readyz").await, ready("/readyz/housekeeping").await), (500, 500));
    assert_eq!((ready("/livez").await, ready("/readyz/sandbox").await), (200, 200));
    let metrics = server.api.metrics_text();
    assert!(
        metrics.contains(r#"evenkeel_task_restarts_total{task="housekeeping"} 3"#),
        "{metrics}"
    );
    assert!(metrics.contains(r#"evenkeel_task_restarts_total{task="sandbox"} 0"#), "{metrics}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_object_blocks_neither_housekeeping_nor_its_namespace() {
    let server = with_namespace().await;
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let encoded = format!(r#""name":"deep","namespace":"shop","uid":"u"}},"data":{deep}}}"#);
    let object = NewObject { labels: [].into(), fields: [].into(), encoded: encoded.into() };
    let storage = &server.api.storage;
    let written = storage.write(&CONFIG_MAP, "shop/deep", None, Next::Version(object), None).await;
    written.unwrap().unwrap();
    let map = format!("{SHOP}/configmaps/other");
    server.create(&format!("{SHOP}/configmaps"), &json!({"metadata": {"name": "other"}})).await;
    let (owner, owned) = pair(&server).await;
    server.ask(Method::DELETE, SHOP, &Value::Null).await;
    server.until(&map, Value::is_null).await;
    server.ask(Method::DELETE, &owner, &Value::Null).await;
    server.until(&owned, Value::is_null).await;
    assert_eq!(server.ask(Method::GET, "/readyz", &Value::Null).await.0, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_is_deleted_and_objects_with_finalizers_are_marked() {
    let server = with_namespace().await;
    let maps = format!("{SHOP}/configmaps");
    let mut held = json!({"metadata": {"name": "held", "finalizers": ["x/held"]}});
    held["metadata"]["labels"] = json!({"app": "a"});
    server.create(&maps, &held).await;
    for i in 0..200 {
        let labels = json!({"app": if i < 150 { "a" } else { "b" }});
        let map = json!({"metadata": {"name": format!("c{i}"), "labels": labels}});
        server.create(&maps, &map).await;
    }
    let (code, list) =
        server.ask(Method::DELETE, &format!("{maps}?labelSelector=app%3Da"), &Value::Null).await;
    assert_eq!((code, list["items"].as_array().map(Vec::len)), (200, Some(151)));
    let left = server.get(&maps).await;
    let marked = left["items"].as_array().unwrap().iter();
    let marked = marked.filter(|map| map["metadata"]["deletionTimestamp"].is_string());
    let names: Vec<&Value> = marked.map(|map| &map["metadata"]["name"]).collect();
    assert_eq!(names, ["held"]);
    let b = left["items"].as_array().unwrap().iter();
    assert_eq!(b.filter(|map| map["metadata"]["labels"]["app"] == "b").count(), 50);
    server.stop().await;
}
