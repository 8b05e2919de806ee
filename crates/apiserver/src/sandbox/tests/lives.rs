//! Life cycles of Pods, Nodes and accounts.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::Method;
use serde_json::{Value, json};

use super::condition;
use crate::server::testing::Server;
use crate::{certificates::Folder, settings::Sandbox};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn quick() -> Sandbox {
    let short = Duration::from_millis(50);
    Sandbox { ready_after: short, end_after: short, node_grace: short, ..Sandbox::default() }
}

fn pod(name: &str) -> Value {
    let containers = json!([{"name": "web", "image": "web:1"}]);
    json!({"metadata": {"name": name}, "spec": {"containers": containers}})
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

fn at(list: &str, name: &str) -> String {
    format!("{list}/{name}")
}

fn is_ready(object: &Value) -> bool {
    condition(object, "Ready") == "True"
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_becomes_ready_with_an_address_and_ends_in_order() {
    let server = Server::start_sandbox(None, quick()).await;
    server.create(PODS, &pod("a")).await;
    let waiting =
        server.until(&at(PODS, "a"), |pod| condition(pod, "PodScheduled") == "False").await;
    assert_eq!(
        waiting["status"]["conditions"][0]["message"],
        "no nodes available to schedule pods"
    );
    server.create(NODES, &node("n1")).await;
    let node = server.until(&at(NODES, "n1"), is_ready).await;
    assert_eq!(node["status"]["allocatable"]["cpu"], "4");
    assert_eq!(node["metadata"]["labels"]["kubernetes.io/hostname"], "n1");
    let running = server.until(&at(PODS, "a"), is_ready).await;
    assert_eq!(running["status"]["phase"], "Running");
    assert_eq!(running["status"]["podIP"], "10.244.0.1");
    assert_eq!(running["spec"]["tolerations"].as_array().map(Vec::len), Some(2));
    assert_eq!(running["status"]["hostIP"], node["status"]["addresses"][0]["address"]);
    assert_eq!(running["status"]["containerStatuses"][0]["ready"], true);

    server.patch(&at(PODS, "a"), &json!({"metadata": {"finalizers": ["example.com/held"]}})).await;
    server.ask(Method::DELETE, &at(PODS, "a"), &Value::Null).await;
    let dying = server.until(&at(PODS, "a"), |pod| !is_ready(pod)).await;
    assert_eq!(dying["status"]["phase"], "Running");
    assert!(dying["metadata"]["deletionTimestamp"].is_string());
    server.until(&at(PODS, "a"), |pod| pod["metadata"]["deletionGracePeriodSeconds"] == 0).await;
    server.patch(&at(PODS, "a"), &json!({"metadata": {"finalizers": null}})).await;
    server.until(&at(PODS, "a"), Value::is_null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_resumes() {
    let folder = Folder::temporary().unwrap();
    let server = Server::start_sandbox(Some(folder.path()), quick()).await;
    server.create(NODES, &node("n1")).await;
    server.create(PODS, &pod("a")).await;
    let before = server.until(&at(PODS, "a"), is_ready).await;
    server.stop().await;

    let server = Server::start_sandbox(Some(folder.path()), quick()).await;
    server.create(PODS, &pod("b")).await;
    let new = server.until(&at(PODS, "b"), is_ready).await;
    let same = server.get(&at(PODS, "a")).await;
    assert_eq!(same["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert_eq!(new["status"]["podIP"], "10.244.0.2");
    server.ask(Method::DELETE, &at(PODS, "a"), &Value::Null).await;
    server.until(&at(PODS, "a"), Value::is_null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unresponsive_node_is_lost_and_recovers() {
    let settings = Sandbox { pod_eviction: Duration::ZERO, ..quick() };
    let server = Server::start_sandbox(None, settings).await;
    server.create(NODES, &node("n1")).await;
    server.create(PODS, &pod("a")).await;
    server.until(&at(PODS, "a"), is_ready).await;
    let silence =
        |off: &Value| json!({"metadata": {"annotations": {"sandbox.evenkeel.dev/heartbeat": off}}});
    server.patch(&at(NODES, "n1"), &silence(&json!("off"))).await;
    let lost = server.until(&at(NODES, "n1"), |node| condition(node, "Ready") == "Unknown").await;
    assert_eq!(lost["spec"]["taints"][0]["key"], "node.kubernetes.io/unreachable");
    let dying = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string() && !is_ready(pod);
    server.until(&at(PODS, "a"), dying).await;
    server.patch(&at(NODES, "n1"), &silence(&Value::Null)).await;
    let back = server.until(&at(NODES, "n1"), is_ready).await;
    assert_eq!(back["spec"]["taints"], Value::Null);
    server.until(&at(PODS, "a"), Value::is_null).await;
    server.create(PODS, &pod("b")).await;
    server.until(&at(PODS, "b"), is_ready).await;
    server.ask(Method::DELETE, &at(NODES, "n1"), &Value::Null).await;
    server.until(&at(PODS, "b"), Value::is_null).await;
    server
        .until("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", Value::is_null)
        .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_for_an_account_gets_its_token_and_none_is_created_automatically() {
    let server = Server::start_sandbox(None, quick()).await;
    server.create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}})).await;
    let inside = "/api/v1/namespaces/shop";
    let account = format!("{inside}/serviceaccounts/default");
    server.until(&account, |account| !account.is_null()).await;
    let roots =
        server.until(&format!("{inside}/configmaps/kube-root-ca.crt"), |map| !map.is_null()).await;
    assert_eq!(roots["data"]["ca.crt"], "a CA");

    server
        .create(&format!("{inside}/serviceaccounts"), &json!({"metadata": {"name": "web"}}))
        .await;
    let by_hand = json!({
        "metadata": {"name": "own", "annotations": {"kubernetes.io/service-account.name": "web"}},
        "type": "kubernetes.io/service-account-token",
    });
    server.create(&format!("{inside}/secrets"), &by_hand).await;
    let own = format!("{inside}/secrets/own");
    let filled = server.until(&own, |secret| secret["data"]["token"].is_string()).await;
    assert_eq!(filled["data"]["ca.crt"], STANDARD.encode("a CA"));
    let token =
        String::from_utf8(STANDARD.decode(filled["data"]["token"].as_str().unwrap()).unwrap())
            .unwrap();
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let body = json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"});
    let (code, who) = server.ask_with(&token, Method::POST, review, &body).await;
    assert_eq!(
        (code, &who["status"]["userInfo"]["username"]),
        (201, &json!("system:serviceaccount:shop:web"))
    );
    // By now the accounts would have had theirs.
    let secrets = server.get("/api/v1/secrets").await;
    assert_eq!(secrets["items"].as_array().map(Vec::len), Some(1), "{secrets}");
    assert_eq!(server.get(&account).await["secrets"], Value::Null);

    server.ask(Method::DELETE, &format!("{inside}/serviceaccounts/web"), &Value::Null).await;
    server.until(&own, Value::is_null).await;
    assert_eq!(server.ask_with(&token, Method::POST, review, &body).await.0, 401);
    server.ask(Method::DELETE, inside, &Value::Null).await;
    server.until(inside, Value::is_null).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_pods_have_a_hundred_addresses_over_all_nodes() {
    let server = Server::start_sandbox(None, quick()).await;
    for name in ["n1", "n2", "n3", "n4"] {
        server.create(NODES, &node(name)).await;
        server.until(&at(NODES, name), is_ready).await;
    }
    for index in 0..100 {
        server.create(PODS, &pod(&format!("p{index}"))).await;
    }
    let all_ready =
        |pods: &Value| pods["items"].as_array().is_some_and(|pods| pods.iter().all(is_ready));
    let pods = server.until(PODS, all_ready).await;
    let pods = pods["items"].as_array().unwrap();
    let addresses: std::collections::BTreeSet<&str> =
        pods.iter().filter_map(|pod| pod["status"]["podIP"].as_str()).collect();
    assert_eq!(addresses.len(), 100);
    for name in ["n1", "n2", "n3", "n4"] {
        let here = pods.iter().filter(|pod| pod["spec"]["nodeName"] == name).count();
        assert_eq!(here, 25, "{name}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_spreads_over_zones_is_replaced_and_deleted() {
    let server = Server::start_sandbox(None, quick()).await;
    for (name, zone) in [("n1", "a"), ("n2", "b"), ("n3", "c")] {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        server.create(NODES, &json!({"metadata": {"name": name, "labels": labels}})).await;
        server.until(&at(NODES, name), is_ready).await;
    }
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let containers = json!([{"name": "web", "image": "web:1"}]);
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}});
    let selector = json!({"matchLabels": {"app": "web"}});
    let spec = json!({"replicas": 6, "selector": selector, "template": template});
    server.create(deployments, &json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let web = at(deployments, "web");
    server.until(&web, |web| web["status"]["readyReplicas"] == 6).await;
    let pods = server.get(PODS).await;
    for node in ["n1", "n2", "n3"] {
        let here =
            pods["items"].as_array().unwrap().iter().filter(|pod| pod["spec"]["nodeName"] == node);
        assert_eq!(here.count(), 2, "{node}");
    }
    let next = json!([{"name": "web", "image": "web:2"}]);
    server
        .patch(
            &web,
            &json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null},
        "template": {"spec": {"containers": next}}}}),
        )
        .await;
    let is_new = |pod: &Value| pod["spec"]["containers"][0]["image"] == "web:2" && is_ready(pod);
    let replaced = |pods: &Value| {
        pods["items"].as_array().is_some_and(|pods| pods.len() == 6 && pods.iter().all(is_new))
    };
    server.until(PODS, replaced).await;
    server.ask(Method::DELETE, &web, &Value::Null).await;
    server.until(PODS, |pods| pods["items"].as_array().is_some_and(Vec::is_empty)).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_wants_to_be_near_another_follows_it() {
    let server = Server::start_sandbox(None, quick()).await;
    server.create(NODES, &node("n1")).await;
    server.until(&at(NODES, "n1"), is_ready).await;
    let mut follower = pod("follower");
    let term = json!({"topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "leader"}}});
    follower["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        json!([term]);
    server.create(PODS, &follower).await;
    let waits = |pod: &Value| condition(pod, "PodScheduled") == "False";
    server.until(&at(PODS, "follower"), waits).await;
    let mut leader = pod("leader");
    leader["metadata"]["labels"] = json!({"app": "leader"});
    server.create(PODS, &leader).await;
    server.until(&at(PODS, "follower"), is_ready).await;
    server.stop().await;
}
