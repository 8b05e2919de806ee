//! Requests through all layers, in process.

use http::Method;
use serde_json::{Value, json};

use super::actor::Actor;
use crate::{
    identity::{User, actors},
    kinds::CONFIG_MAP,
    registry::{DeleteOptions, Error},
    server::{in_process::settings, testing::Server},
};

const PODS: &str = "/api/v1/namespaces/default/pods";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

pub(super) fn user(name: &str) -> User {
    User { name: name.to_owned(), ..User::default() }
}

pub(super) fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

pub(super) fn binding(name: &str, kind: &str, role: &str, to: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": to}],
    })
}

/// Creates a Role with these rules and binds it to a user.
pub(super) async fn grant(server: &Server, name: &str, rules: &[Value], to: &str) {
    server.create(ROLES, &json!({"metadata": {"name": name}, "rules": rules})).await;
    server.create(BINDINGS, &binding(name, "Role", name, to)).await;
}

#[tokio::test]
async fn a_changed_binding_is_in_force_when_its_write_is_answered() {
    let server = Server::start(None, settings()).await;
    let bob = user("bob");
    for round in 0..20 {
        let name = format!("b{round}");
        let (code, refused) = server.ask_as(&bob, Method::GET, PODS, &Value::Null).await;
        assert_eq!(code, 403);
        assert_eq!(
            refused["message"],
            r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default""#
        );
        server.create(BINDINGS, &binding(&name, "ClusterRole", "system:node", "bob")).await;
        assert_eq!(server.ask_as(&bob, Method::GET, PODS, &Value::Null).await.0, 200);
        let gone = server.ask(Method::DELETE, &format!("{BINDINGS}/{name}"), &Value::Null).await;
        assert_eq!(gone.0, 200);
    }
    server.stop().await;
}

#[tokio::test]
async fn refusals_of_each_layer_are_counted_like_answers() {
    let server = Server::start(None, settings()).await;
    let unknown = server.ask_with("unknown", Method::GET, PODS, &Value::Null).await;
    assert_eq!(unknown.0, 401);
    assert_eq!(server.ask_as(&user("bob"), Method::GET, PODS, &Value::Null).await.0, 403);
    let metrics = server.api.metrics_text();
    for code in ["401", "403"] {
        let is_counted = |line: &&str| {
            line.starts_with("apiserver_request_total{")
                && line.contains("resource=\"pods\"")
                && line.contains(&format!("code=\"{code}\""))
        };
        assert!(metrics.lines().any(|line| is_counted(&line)), "{code}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_actor_is_authorized_like_a_client_and_writes_nothing_otherwise() {
    let server = Server::start(None, settings()).await;
    let object = || json!({"metadata": {"name": "a"}});
    let scheduler = Actor::new(&server.api, &actors::SCHEDULER);
    let refused = scheduler.create(&CONFIG_MAP, Some("default"), object()).await;
    let Err(Error::Denied { message, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(
        message,
        r#"configmaps is forbidden: User "system:kube-scheduler" cannot create resource "configmaps" in API group "" in the namespace "default""#
    );
    assert!(server.api.storage.object(&CONFIG_MAP, "default/a").is_none());
    let publisher = Actor::new(&server.api, &actors::ROOT_CA_PUBLISHER);
    publisher.create(&CONFIG_MAP, Some("default"), object()).await.unwrap();
    let options = DeleteOptions::default();
    let refused = publisher.delete(&CONFIG_MAP, "default/a", &options).await;
    assert!(matches!(refused, Err(Error::Denied { .. })), "{refused:?}");
    let collector = Actor::new(&server.api, &actors::GARBAGE_COLLECTOR);
    collector.delete(&CONFIG_MAP, "default/a", &options).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn escalation_by_role() {
    let server = Server::start(None, settings()).await;
    let group = "rbac.authorization.k8s.io";
    let rules =
        [rule(&["create", "update", "patch"], group, &["roles"]), rule(&["get"], "", &["pods"])];
    grant(&server, "author", &rules, "bob").await;
    let role = |name: &str, rules: Value| json!({"metadata": {"name": name}, "rules": rules});
    let bob = user("bob");
    let held = role("held", json!([rule(&["get"], "", &["pods"])]));
    assert_eq!(server.ask_as(&bob, Method::POST, ROLES, &held).await.0, 201);
    let more = role("more", json!([rule(&["get", "list"], "", &["pods", "secrets"])]));
    let (code, refused) = server.ask_as(&bob, Method::POST, ROLES, &more).await;
    assert_eq!(code, 403, "{refused}");
    let expected = "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"bob\" \
                    (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions \
                    not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
                    Verbs:[\"list\"]}\n{APIGroups:[\"\"], Resources:[\"secrets\"], \
                    Verbs:[\"get\" \"list\"]}";
    assert_eq!(refused["message"], expected);
    // Nor by an update.
    let patch = json!({"rules": [rule(&["*"], "*", &["*"])]});
    let path = format!("{ROLES}/held");
    assert_eq!(server.ask_as(&bob, Method::PATCH, &path, &patch).await.0, 403);
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(server.ask_as(&bob, Method::PATCH, &path, &label).await.0, 200);
    // Who may escalate, may.
    grant(&server, "escalator", &[rule(&["escalate"], group, &["roles"])], "bob").await;
    assert_eq!(server.ask_as(&bob, Method::POST, ROLES, &more).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn escalation_by_binding() {
    let server = Server::start(None, settings()).await;
    let group = "rbac.authorization.k8s.io";
    let rules = [rule(&["create"], group, &["rolebindings"]), rule(&["get"], "", &["pods"])];
    grant(&server, "binder", &rules, "bob").await;
    let bob = user("bob");
    let admin = binding("admin", "ClusterRole", "cluster-admin", "bob");
    let (code, refused) = server.ask_as(&bob, Method::POST, BINDINGS, &admin).await;
    assert_eq!(code, 403, "{refused}");
    let missing = binding("missing", "ClusterRole", "nope", "bob");
    let (code, refused) = server.ask_as(&bob, Method::POST, BINDINGS, &missing).await;
    let words = "rolebindings.rbac.authorization.k8s.io \"nope\" not found";
    assert_eq!((code, &refused["message"]), (404, &json!(words)));
    let one = json!({
        "verbs": ["bind"], "apiGroups": [group], "resources": ["clusterroles"],
        "resourceNames": ["view"],
    });
    grant(&server, "view-binder", &[one], "bob").await;
    let view = binding("view", "ClusterRole", "view", "al");
    assert_eq!(server.ask_as(&bob, Method::POST, BINDINGS, &view).await.0, 201);
    let edit = binding("edit", "ClusterRole", "edit", "al");
    let (code, answer) = server.ask_as(&bob, Method::POST, BINDINGS, &edit).await;
    // Without the aggregation controller `edit` has no rules, so everybody holds them.
    assert_eq!(code, 201, "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn escalation_by_aggregation() {
    let server = Server::start(None, settings()).await;
    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "metadata": {"name": "author"},
        "rules": [rule(&["create"], group, &["clusterroles"])],
    });
    server.create(CLUSTER_ROLES, &role).await;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    server.create(bindings, &binding("author", "ClusterRole", "author", "bob")).await;
    let all = json!({
        "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    });
    let (code, refused) = server.ask_as(&user("bob"), Method::POST, CLUSTER_ROLES, &all).await;
    let words = "clusterroles.rbac.authorization.k8s.io \"all\" is forbidden: must have \
                 cluster-admin privileges to use the aggregationRule";
    assert_eq!((code, &refused["message"]), (403, &json!(words)));
    server.stop().await;
}

#[tokio::test]
async fn escalation_by_node() {
    let server = Server::start(None, settings()).await;
    let node = |name: &str| User {
        name: format!("system:node:{name}"),
        groups: vec!["system:nodes".to_owned()],
        ..User::default()
    };
    for name in ["n1", "n2"] {
        server.create("/api/v1/nodes", &json!({"metadata": {"name": name}})).await;
        let account = json!({"metadata": {"name": name}});
        server.create("/api/v1/namespaces/default/serviceaccounts", &account).await;
        let secret = json!({"metadata": {"name": name}});
        server.create("/api/v1/namespaces/default/secrets", &secret).await;
        let pod = json!({
            "metadata": {"name": name},
            "spec": {
                "nodeName": name, "serviceAccountName": name,
                "containers": [{"name": "c", "image": "i"}],
                "volumes": [
                    {"name": "v", "secret": {"secretName": name}},
                    {"name": "t", "projected": {"sources": [
                        {"serviceAccountToken": {"path": "token"}},
                    ]}},
                ],
            },
        });
        server.create(PODS, &pod).await;
    }
    let bound = |pod: &str| {
        let uid = json!({"kind": "Pod", "apiVersion": "v1", "name": pod});
        json!({"spec": {"boundObjectRef": uid}})
    };
    let uid = server.get(&format!("{PODS}/n1")).await["metadata"]["uid"].clone();
    let mut own_token = bound("n1");
    own_token["spec"]["boundObjectRef"]["uid"] = uid;
    let label = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "a"}}});
    let taint = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    let phase = json!({"status": {"phase": "Running"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let cases = [
        (Method::GET, "/api/v1/nodes/n1".to_owned(), Value::Null, 200),
        (Method::GET, "/api/v1/nodes/n2".to_owned(), Value::Null, 403),
        (Method::GET, "/api/v1/nodes".to_owned(), Value::Null, 403),
        (Method::PATCH, "/api/v1/nodes/n1".to_owned(), label.clone(), 200),
        (Method::PATCH, "/api/v1/nodes/n1".to_owned(), taint, 403),
        (Method::PATCH, "/api/v1/nodes/n2".to_owned(), label, 403),
        (Method::GET, format!("{secrets}/n1"), Value::Null, 200),
        (Method::GET, format!("{secrets}/n2"), Value::Null, 403),
        (Method::GET, secrets.to_owned(), Value::Null, 403),
        (Method::PATCH, format!("{PODS}/n1/status"), phase.clone(), 200),
        (Method::PATCH, format!("{PODS}/n2/status"), phase, 403),
        (Method::GET, PODS.to_owned(), Value::Null, 403),
        (Method::GET, format!("{PODS}?fieldSelector=spec.nodeName%3Dn1"), Value::Null, 200),
        (Method::GET, format!("{PODS}?fieldSelector=spec.nodeName%3Dn2"), Value::Null, 403),
        (Method::POST, format!("{accounts}/n1/token"), own_token.clone(), 201),
        (Method::POST, format!("{accounts}/n1/token"), json!({"spec": {}}), 403),
        (Method::POST, format!("{accounts}/n2/token"), bound("n2"), 403),
        (Method::DELETE, format!("{PODS}/n2"), Value::Null, 403),
    ];
    for (method, path, body, expected) in cases {
        let (code, answer) = server.ask_as(&node("n1"), method.clone(), &path, &body).await;
        assert_eq!(code, expected, "{method} {path}: {answer}");
    }
    server.stop().await;
}
