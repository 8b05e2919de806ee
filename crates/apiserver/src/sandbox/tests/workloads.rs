//! Deployments and DaemonSets on a server.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::server::testing::Server;
use crate::settings::Sandbox;

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/default/daemonsets";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const AGENT: &str = "/apis/apps/v1/namespaces/default/daemonsets/agent";

async fn with_nodes(n: usize) -> Server {
    let short = Duration::from_millis(20);
    let quick = Sandbox { ready_after: short, end_after: short, ..Sandbox::default() };
    let server = Server::start_sandbox(None, quick).await;
    for index in 0..n {
        server.create(NODES, &json!({"metadata": {"name": format!("n{index}")}})).await;
    }
    server
}

fn template(app: &str, image: &str) -> Value {
    let containers = json!([{"name": "c", "image": image}]);
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": containers}})
}

fn workload(name: &str, spec: &Value) -> Value {
    let mut object = json!({"metadata": {"name": name}, "spec": spec});
    object["spec"]["selector"] = json!({"matchLabels": {"app": name}});
    object["spec"]["template"] = template(name, "a");
    object
}

/// As `kubectl rollout status` sees it.
fn is_rolled_out(deployment: &Value) -> bool {
    let (spec, status) = (&deployment["spec"], &deployment["status"]);
    let count = |name: &str| status[name].as_i64().unwrap_or_default();
    let all = ["updatedReplicas", "replicas", "availableReplicas"];
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && all.iter().all(|name| Some(count(name)) == spec["replicas"].as_i64())
}

fn revision(deployment: &Value) -> &str {
    let revision = &deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
    revision.as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_rolled_out_scaled_and_deleted_with_its_pods() {
    let server = with_nodes(3).await;
    server.create(DEPLOYMENTS, &workload("web", &json!({"replicas": 4}))).await;
    let first = server.until(WEB, is_rolled_out).await;
    assert_eq!(revision(&first), "1");
    // The revision written by the controller does not count as a change of the Deployment.
    assert_eq!(first["metadata"]["generation"], 1);
    server.patch(WEB, &json!({"spec": {"template": template("web", "b"), "replicas": 6}})).await;
    let second = server.until(WEB, |web| is_rolled_out(web) && revision(web) == "2").await;
    let reasons: Vec<&Value> = second["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["reason"])
        .collect();
    assert!(reasons.contains(&&json!("MinimumReplicasAvailable")), "{reasons:?}");
    assert!(reasons.contains(&&json!("NewReplicaSetAvailable")), "{reasons:?}");
    let is_done = |list: &Value| list["items"].as_array().is_some_and(|pods| pods.len() == 6);
    let pods = server.until(PODS, is_done).await;
    for pod in pods["items"].as_array().unwrap() {
        assert_eq!(pod["spec"]["containers"][0]["image"], "b");
        assert!(pod["status"]["podIP"].is_string(), "{pod}");
    }
    server.ask(Method::DELETE, WEB, &Value::Null).await;
    let is_empty = |list: &Value| list["items"].as_array().is_some_and(Vec::is_empty);
    server.until(PODS, is_empty).await;
    server.until("/apis/apps/v1/namespaces/default/replicasets", is_empty).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_set_follows_the_nodes() {
    let server = with_nodes(2).await;
    server.create(DAEMON_SETS, &workload("agent", &json!({}))).await;
    let ready = |n: i64| {
        move |agent: &Value| {
            let status = &agent["status"];
            status["numberAvailable"] == n
                && status["desiredNumberScheduled"] == n
                && status["updatedNumberScheduled"] == n
                && status["observedGeneration"] == agent["metadata"]["generation"]
        }
    };
    server.until(AGENT, ready(2)).await;
    server.create(NODES, &json!({"metadata": {"name": "n9"}})).await;
    server.until(AGENT, ready(3)).await;
    server.ask(Method::DELETE, "/api/v1/nodes/n0", &Value::Null).await;
    server.until(AGENT, ready(2)).await;
    server.patch(AGENT, &json!({"spec": {"template": template("agent", "b")}})).await;
    server.until(AGENT, ready(2)).await;
    let pods = server.get(PODS).await;
    let images: Vec<&Value> = pods["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
        .map(|pod| &pod["spec"]["containers"][0]["image"])
        .collect();
    assert_eq!(images, ["b", "b"]);
    server.stop().await;
}
