//! FlowSchemas and PriorityLevelConfigurations: default ones, changes, conditions.

use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use super::*;

const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// With the task that follows the objects.
async fn whole() -> Server {
    Server::start_whole(None, settings()).await
}

async fn names(server: &Server, path: &str) -> Vec<String> {
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    server.items(path).await.iter().map(name).collect()
}

fn dangling(schema: &Value) -> &Value {
    &schema["status"]["conditions"][0]["status"]
}

#[tokio::test]
async fn default_objects_exist_at_the_start_and_mandatory_ones_come_back_within_a_second() {
    let server = whole().await;
    assert_eq!(names(&server, SCHEMAS).await.len(), 11);
    assert_eq!(names(&server, LEVELS).await.len(), 8);
    for path in [format!("{SCHEMAS}/exempt"), format!("{LEVELS}/catch-all")] {
        let uid = server.get(&path).await["metadata"]["uid"].clone();
        let gone = Instant::now();
        assert_eq!(server.ask(Method::DELETE, &path, &Value::Null).await.0, 200);
        let restored = |found: &Value| !found.is_null() && found["metadata"]["uid"] != uid;
        server.until(&path, restored).await;
        assert!(gone.elapsed() < Duration::from_secs(1), "{path}: {:?}", gone.elapsed());
    }
    server.stop().await;
}

#[tokio::test]
async fn suggested_objects_belong_to_the_server_until_the_user_takes_them() {
    let server = whole().await;
    let path = format!("{LEVELS}/workload-low");
    let shares = |found: &Value| found["spec"]["limited"]["nominalConcurrencyShares"].clone();
    let change = json!({"spec": {"limited": {"nominalConcurrencyShares": 7}}});
    server.patch(&path, &change).await;
    server.until(&path, |found| shares(found) == 100).await;
    let own = json!({"metadata": {"annotations": {AUTOUPDATE: "false"}}});
    server.patch(&path, &own).await;
    server.patch(&path, &change).await;
    // Something that the server does after it has seen the change.
    let other = format!("{SCHEMAS}/probes");
    let uid = server.get(&other).await["metadata"]["uid"].clone();
    assert_eq!(server.ask(Method::DELETE, &other, &Value::Null).await.0, 200);
    server.until(&other, |found| !found.is_null() && found["metadata"]["uid"] != uid).await;
    assert_eq!(shares(&server.get(&path).await), 7);
    server.stop().await;
}

#[tokio::test]
async fn a_schema_says_whether_its_level_exists() {
    let server = whole().await;
    server.create(SCHEMAS, &schema("bobs", "bobs", "bob")).await;
    let path = format!("{SCHEMAS}/bobs");
    let found = server.until(&path, |found| dangling(found) == "True").await;
    assert_eq!(found["status"]["conditions"][0]["reason"], "NotFound");
    server.create(LEVELS, &level("bobs", 1, 5)).await;
    let found = server.until(&path, |found| dangling(found) == "False").await;
    assert_eq!(found["metadata"]["generation"], 1);
    let revision = &found["metadata"]["resourceVersion"];
    server.patch(&format!("{LEVELS}/bobs"), &json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(&server.get(&path).await["metadata"]["resourceVersion"], revision);
    server.stop().await;
}

#[tokio::test]
async fn nobody_can_lock_out_the_administrator() {
    let server = whole().await;
    for path in [SCHEMAS, LEVELS] {
        assert_eq!(server.ask(Method::DELETE, path, &Value::Null).await.0, 200);
        assert_eq!(server.ask(Method::GET, CONFIG_MAPS, &Value::Null).await.0, 200);
    }
    // All that the user may write points at nothing, and takes precedence over all others.
    let all = |name: &str, user: &str| {
        let mut all = schema(name, "nowhere", user);
        all["spec"]["matchingPrecedence"] = json!(2);
        all
    };
    for (name, user) in [("all", "*"), ("all-admin", "admin")] {
        server.create(SCHEMAS, &all(name, user)).await;
        assert_eq!(server.ask(Method::GET, CONFIG_MAPS, &Value::Null).await.0, 200);
    }
    // A level without seats takes everything.
    let mut none = level("nowhere", 1, 1);
    none["spec"]["limited"]["nominalConcurrencyShares"] = json!(0);
    server.create(LEVELS, &none).await;
    server.until(&format!("{SCHEMAS}/all-admin"), |found| dangling(found) == "False").await;
    let started = Instant::now();
    assert_eq!(server.ask(Method::GET, CONFIG_MAPS, &Value::Null).await.0, 200);
    let mend = format!("{SCHEMAS}/all-admin");
    assert_eq!(server.ask(Method::DELETE, &mend, &Value::Null).await.0, 200);
    assert!(started.elapsed() < Duration::from_secs(1));
    server.stop().await;
}

#[tokio::test]
async fn without_fairness_default_objects_are_kept_and_nothing_is_classified() {
    let mut settings = settings();
    settings.fairness.enabled = false;
    let server = Server::start_whole(None, settings).await;
    assert_eq!(names(&server, SCHEMAS).await.len(), 11);
    let answer = get(&server, "bob", CONFIG_MAPS).await;
    assert_eq!(answer.status(), 200);
    assert!(!answer.headers().contains_key("x-kubernetes-pf-flowschema-uid"));
    let dumps = get(&server, "bob", "/debug/api_priority_and_fairness/dump_queues").await;
    assert_eq!(dumps.status(), 404);
    server.stop().await;
}
