//! The configuration in custom resources, in a whole server.

use http::Method;
use serde_json::{Value, json};

use super::get;
use crate::{
    server::{in_process, testing::Server},
    settings::{FairnessSettings, FairnessSource, Settings},
};

const LEVELS: &str = "/apis/evenkeel.dev/v1alpha1/requestpriorities";
const SCHEMAS: &str = "/apis/evenkeel.dev/v1alpha1/flowschemas";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn settings() -> Settings {
    let fairness =
        FairnessSettings { source: FairnessSource::Resources, ..FairnessSettings::default() };
    Settings { fairness, ..in_process::settings() }
}

fn level(name: &str, shares: u32) -> Value {
    json!({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "RequestPriority",
        "metadata": {"name": name}, "spec": {"assuredConcurrencyShares": shares, "queues": 8,
        "handSize": 2, "queueLengthLimit": 5}})
}

fn schema(name: &str, level: &str, test: &Value) -> Value {
    json!({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "FlowSchema", "metadata": {"name": name},
        "spec": {"matchingPriority": 10, "requestPriority": {"name": level},
        "flowDistinguisher": {"source": "user"}, "match": [{"and": [test]}]}})
}

fn of_bob() -> Value {
    json!({"equals": {"field": "user", "value": "bob"}})
}

/// `Status Reason` of a condition for the present generation.
fn condition(object: &Value, r#type: &str) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == r#type)?;
    let is_current = found["observedGeneration"] == object["metadata"]["generation"];
    let text = |field: &str| found[field].as_str().unwrap_or_default();
    is_current.then(|| format!("{} {}", text("status"), text("reason")))
}

async fn told(server: &Server, path: &str, r#type: &str, expected: &str) -> Value {
    server.until(path, |object| condition(object, r#type).as_deref() == Some(expected)).await
}

/// Whether bob's requests go to a level.
async fn bob_is_in(server: &Server, level: &str) -> bool {
    let uid = server.get(&format!("{LEVELS}/{level}")).await["metadata"]["uid"].clone();
    let answer = get(server, "bob", "/api/v1/nodes").await;
    uid.is_string()
        && uid == answer.headers()["x-kubernetes-pf-prioritylevel-uid"].to_str().unwrap()
}

#[tokio::test]
async fn custom_resources_are_taken_live_and_told_what_became_of_them() {
    let server = Server::start_whole(None, settings()).await;
    // The proposal's objects are created.
    for name in ["system-top", "workload-low"] {
        told(&server, &format!("{LEVELS}/{name}"), "InForce", "True Configured").await;
    }
    told(&server, &format!("{SCHEMAS}/workload-low"), "InForce", "True Configured").await;

    let bobs = format!("{SCHEMAS}/bobs");
    server.create(SCHEMAS, &schema("bobs", "bobs", &of_bob())).await;
    told(&server, &bobs, "Dangling", "True NotFound").await;
    told(&server, &bobs, "InForce", "False Dangling").await;
    server.create(LEVELS, &level("bobs", 5)).await;
    told(&server, &bobs, "InForce", "True Configured").await;
    told(&server, &bobs, "Dangling", "False Found").await;
    assert!(bob_is_in(&server, "bobs").await);

    // An object that only the dialect finds invalid keeps the last configuration in force.
    let bad = json!({"patternMatch": {"field": "user", "pattern": "("}});
    server.create(SCHEMAS, &schema("bad", "bobs", &bad)).await;
    let bad = told(&server, &format!("{SCHEMAS}/bad"), "InForce", "False Invalid").await;
    let message = bad["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("invalid regular expression"), "{message}");
    server.patch(&bobs, &json!({"spec": {"requestPriority": {"name": "workload-low"}}})).await;
    told(&server, &bobs, "InForce", "False OtherObjectInvalid").await;
    assert!(bob_is_in(&server, "bobs").await);
    let (code, _) = server.ask(Method::DELETE, &format!("{SCHEMAS}/bad"), &Value::Null).await;
    assert_eq!(code, 200);
    told(&server, &bobs, "InForce", "True Configured").await;
    assert!(bob_is_in(&server, "workload-low").await);
    server.stop().await;
}

#[tokio::test]
async fn the_api_rejects_objects_by_their_schema() {
    let both = json!({"equals": {"field": "user", "value": "a"},
        "inSet": {"field": "user", "set": []}});
    let field = json!({"equals": {"field": "colour", "value": "a"}});
    rejected(&[
        (SCHEMAS, schema("odd", "x", &both), "must validate one and only one schema (oneOf)"),
        (SCHEMAS, schema("odd", "x", &field), "spec.match[0].and[0].equals.field"),
    ])
    .await;
}

#[tokio::test]
async fn the_api_rejects_objects_by_the_rules_of_their_schema() {
    let mut exempt = level("odd", 5);
    exempt["spec"]["exempt"] = true.into();
    let mut handless = level("odd", 5);
    handless["spec"]["handSize"] = Value::Null;
    rejected(&[
        (LEVELS, exempt, "an exempt level has no limits"),
        (LEVELS, handless, "handSize is required for more than one queue"),
    ])
    .await;
}

async fn rejected(cases: &[(&str, Value, &str)]) {
    let server = Server::start_whole(None, settings()).await;
    told(&server, &format!("{LEVELS}/system-top"), "InForce", "True Configured").await;
    for (path, object, words) in cases {
        let (code, answer) = server.ask(Method::POST, path, object).await;
        assert_eq!(code, 422, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains(words), "{answer}");
    }
    server.stop().await;
}

#[tokio::test]
async fn definitions_are_installed_once_and_a_changed_one_is_restored() {
    let folder = std::env::temp_dir().join(format!("evenkeel-crds-{:016x}", rand::random::<u64>()));
    let path = format!("{DEFINITIONS}/flowschemas.evenkeel.dev");
    let columns = |definition: &Value| {
        definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array().map_or(0, Vec::len)
    };
    let server = Server::start_whole(Some(&folder), settings()).await;
    let first = told_established(&server, &path).await;
    server.stop().await;

    let server = Server::start_whole(Some(&folder), settings()).await;
    let second = told_established(&server, &path).await;
    assert_eq!(first["metadata"]["generation"], second["metadata"]["generation"]);
    let mut versions = second["spec"]["versions"].clone();
    versions[0]["additionalPrinterColumns"] = json!([]);
    server.patch(&path, &json!({"spec": {"versions": versions}})).await;
    server.stop().await;

    let server = Server::start_whole(Some(&folder), settings()).await;
    let restored = server.get(&path).await;
    assert_eq!(columns(&restored), columns(&first));
    server.stop().await;
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn told_established(server: &Server, path: &str) -> Value {
    let is_established = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        conditions.is_some_and(|all| {
            all.iter().any(|c| c["type"] == "Established" && c["status"] == "True")
        })
    };
    server.until(path, is_established).await
}
