//! Attempts to get more than one has the right to, through all layers.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::tests::{binding, grant, rule, user};
use crate::{
    identity::User,
    server::{in_process::settings, testing::Server},
};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const CLUSTER_ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const CLUSTER_BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

async fn grant_everywhere(server: &Server, name: &str, rules: &[Value], to: &str) {
    server.create(CLUSTER_ROLES, &json!({"metadata": {"name": name}, "rules": rules})).await;
    server.create(CLUSTER_BINDINGS, &binding(name, "ClusterRole", name, to)).await;
}

#[tokio::test]
async fn who_may_only_watch_changes_nothing_below_the_watch_prefix() {
    let server = Server::start(None, settings()).await;
    grant_everywhere(&server, "reader", &[rule(&["get", "list", "watch"], "*", &["*"])], "bob")
        .await;
    let before = server.api.storage.state().revision();
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"},
        "spec": {"finalizers": ["example.com/x"]}, "status": {"phase": "Terminating"}});
    for method in [Method::PUT, Method::PATCH, Method::POST, Method::DELETE] {
        for part in ["", "/status", "/finalize"] {
            let path = format!("/api/v1/watch/namespaces/default{part}");
            let (code, answer) = server.ask_as(&user("bob"), method.clone(), &path, &body).await;
            assert!([404, 405].contains(&code), "{method} {path}: {code} {answer}");
        }
    }
    for path in [
        "/api/v1/watch/namespaces/default/bindings",
        "/apis/authentication.k8s.io/v1/watch/tokenreviews",
        "/apis/authorization.k8s.io/v1/watch/subjectaccessreviews",
    ] {
        let (code, answer) = server.ask_as(&user("bob"), Method::POST, path, &json!({})).await;
        assert_eq!(code, 404, "{path}: {answer}");
    }
    assert_eq!(server.api.storage.state().revision(), before);
    server.stop().await;
}

#[tokio::test]
async fn who_may_list_one_name_lists_no_other_by_an_escaped_selector() {
    let server = Server::start(None, settings()).await;
    let one = json!({"verbs": ["list", "watch"], "apiGroups": [""], "resources": ["secrets"],
        "resourceNames": ["own"]});
    grant(&server, "one", &[one], "bob").await;
    for name in ["own", "other"] {
        server.create(SECRETS, &json!({"metadata": {"name": name}})).await;
    }
    let list = async |selector: &str| {
        let path = format!("{SECRETS}?fieldSelector={selector}");
        let (code, found) = server.ask_as(&user("bob"), Method::GET, &path, &Value::Null).await;
        (code, found["items"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(list("metadata.name%3Down").await, (200, 1));
    for selector in [
        "type!%3Dx%5C,metadata.name%3Down",
        "metadata.namespace!%3Dx%5C,metadata.name%3Down",
        "type!%3D%5C%5C%5C,metadata.name%3Down",
        "metadata.name!%3Down",
    ] {
        assert_eq!(list(selector).await, (403, 0), "{selector}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_update_that_creates_needs_the_right_to_create() {
    let server = Server::start(None, settings()).await;
    let group = "coordination.k8s.io";
    grant(&server, "updater", &[rule(&["update"], group, &["leases"])], "bob").await;
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "a"}, "spec": {}});
    for query in ["", "?dryRun=All"] {
        let path = format!("{path}{query}");
        let (code, refused) = server.ask_as(&user("bob"), Method::PUT, &path, &lease).await;
        assert_eq!(code, 403, "{refused}");
        assert_eq!(
            refused["message"],
            r#"leases.coordination.k8s.io "a" is forbidden: User "bob" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default""#
        );
    }
    let named = json!({"verbs": ["create"], "apiGroups": [group], "resources": ["leases"],
        "resourceNames": ["a"]});
    grant(&server, "creator", &[named], "bob").await;
    assert_eq!(server.ask_as(&user("bob"), Method::PUT, path, &lease).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_kubelet_gets_only_tokens_bound_to_its_own_pods() {
    let server = Server::start(None, settings()).await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    server.create(accounts, &json!({"metadata": {"name": "web"}})).await;
    let pod = |name: &str, node: &str| {
        json!({"metadata": {"name": name}, "spec": {"nodeName": node,
        "serviceAccountName": "web",
                "volumes": [{"name": "t", "projected": {"sources": [
                    {"serviceAccountToken": {"path": "t", "audience": "a"}}]}}], "containers": [{"name": "c", "image": "i"}]}})
    };
    let pods = "/api/v1/namespaces/default/pods";
    let mut uids = Vec::new();
    for (name, node) in [("mine", "n1"), ("theirs", "n2")] {
        let created = server.create(pods, &pod(name, node)).await;
        uids.push(created["metadata"]["uid"].clone());
    }
    let kubelet = User { groups: vec!["system:nodes".to_owned()], ..user("system:node:n1") };
    let path = format!("{accounts}/web/token");
    let bound = |name: &str, uid: &Value| {
        json!({"spec": {"audiences": ["a"], "boundObjectRef":
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}}})
    };
    let own = bound("mine", &uids[0]);
    assert_eq!(server.ask_as(&kubelet, Method::POST, &path, &own).await.0, 201);
    let mut other = own.clone();
    other["spec"]["audiences"] = json!(["b"]);
    let (code, refused) = server.ask_as(&kubelet, Method::POST, &path, &other).await;
    let words = "serviceaccounts \"web\" is forbidden: system:node:n1 is not authorized to request \
                 tokens for audience \"b\"";
    assert_eq!((code, &refused["message"]), (403, &json!(words)));
    let may = json!({"verbs": ["request-serviceaccounts-token-audience"], "apiGroups": [""],
        "resources": ["b"], "resourceNames": ["web"]});
    grant(&server, "audience", &[may], &kubelet.name).await;
    assert_eq!(server.ask_as(&kubelet, Method::POST, &path, &other).await.0, 201);
    other["spec"]["audiences"] = json!(["a", "b"]);
    assert_eq!(server.ask_as(&kubelet, Method::POST, &path, &other).await.0, 403);
    let why = "serviceaccounts \"web\" is forbidden: node requested token";
    for (body, words) in [
        (json!({"spec": {"audiences": ["a"]}}), "not bound to a pod"),
        (bound("mine", &json!("")), "with a pod binding without a uid"),
        (bound("theirs", &uids[1]), "bound to a pod scheduled on a different node"),
    ] {
        let (code, refused) = server.ask_as(&kubelet, Method::POST, &path, &body).await;
        assert_eq!((code, &refused["message"]), (403, &json!(format!("{why} {words}"))), "{body}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_kubelet_with_more_rights_is_restricted_nevertheless() {
    let server = Server::start(None, settings()).await;
    let kubelet = User { groups: vec!["system:nodes".to_owned()], ..user("system:node:n1") };
    let nameless = User { name: "system:node:".to_owned(), ..kubelet.clone() };
    for user in [&kubelet, &nameless] {
        let name = user.name.replace(':', "-");
        let everything = binding(&format!("all{name}"), "ClusterRole", "cluster-admin", &user.name);
        server.create(CLUSTER_BINDINGS, &everything).await;
    }
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "x",
        "containers": [{"name": "c", "image": "i"}]}});
    server.create(pods, &pod).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let patch = json!({"metadata": {"name": "p"}});
    for (method, path, body) in [
        (Method::POST, format!("{pods}/p/binding"), &binding),
        (Method::POST, "/api/v1/namespaces/default/bindings".to_owned(), &binding),
        (Method::PATCH, format!("{pods}/p/ephemeralcontainers"), &patch),
        (Method::PATCH, format!("{pods}/p"), &patch),
        (Method::DELETE, pods.to_owned(), &Value::Null),
    ] {
        let (code, answer) = server.ask_as(&kubelet, method.clone(), &path, body).await;
        assert_eq!(code, 403, "{method} {path}: {answer}");
    }
    let map = json!({"metadata": {"name": "m"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(server.ask_as(&nameless, Method::POST, maps, &map).await.0, 403);
    assert_eq!(server.ask_as(&kubelet, Method::POST, maps, &map).await.0, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_binding_is_forgotten_whatever_happens_to_the_history() {
    let server = Server::start(None, settings()).await;
    let bob = user("bob");
    for round in 0..6 {
        let name = format!("b{round}");
        grant(&server, &name, &[rule(&["list"], "", &["secrets"])], "bob").await;
        assert_eq!(server.ask_as(&bob, Method::GET, SECRETS, &Value::Null).await.0, 200);
        for (step, path) in [(1, ROLES.to_owned()), (2, ROLES.replace("roles", "rolebindings"))] {
            if round & step != 0 {
                server.api.storage.forget_history();
            }
            let path = format!("{path}/{name}");
            assert_eq!(server.ask(Method::DELETE, &path, &Value::Null).await.0, 200);
            if round > 3 {
                server.api.storage.forget_history();
            }
        }
        assert_eq!(server.ask_as(&bob, Method::GET, SECRETS, &Value::Null).await.0, 403);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_is_in_force_for_all_threads_when_it_is_answered() {
    let server = Arc::new(Server::start(None, settings()).await);
    let writer = |index: usize| {
        let server = server.clone();
        async move {
            let (name, bob) = (format!("b{index}"), user(&format!("bob{index}")));
            let path = format!("{}/{name}", ROLES.replace("roles", "rolebindings"));
            grant(&server, &name, &[rule(&["list"], "", &["secrets"])], &bob.name).await;
            for _ in 0..40 {
                assert_eq!(server.ask_as(&bob, Method::GET, SECRETS, &Value::Null).await.0, 200);
                assert_eq!(server.ask(Method::DELETE, &path, &Value::Null).await.0, 200);
                assert_eq!(server.ask_as(&bob, Method::GET, SECRETS, &Value::Null).await.0, 403);
                if index == 0 {
                    server.api.storage.forget_history();
                }
                let again = binding(&name, "Role", &name, &bob.name);
                server.create(&ROLES.replace("roles", "rolebindings"), &again).await;
            }
        }
    };
    let all: Vec<_> = (0..6).map(|index| tokio::spawn(writer(index))).collect();
    for one in all {
        one.await.unwrap();
    }
    Arc::into_inner(server).unwrap().stop().await;
}

#[tokio::test]
async fn a_role_can_t_be_written_by_an_update_either() {
    let server = Server::start(None, settings()).await;
    let group = "rbac.authorization.k8s.io";
    grant(&server, "author", &[rule(&["create", "update"], group, &["roles"])], "bob").await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "more"}, "rules": [rule(&["get"], "", &["secrets"])]});
    for query in ["", "?dryRun=All"] {
        let path = format!("{ROLES}/more{query}");
        let (code, refused) = server.ask_as(&user("bob"), Method::PUT, &path, &role).await;
        assert_eq!(code, 403, "{refused}");
    }
    server.stop().await;
}
