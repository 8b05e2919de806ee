//! Definitions that take the names of built-in resources.

use http::Method;
use serde_json::{Value, json};

use super::{DEFINITIONS, anything, definition, establish, path, start, widgets};
use crate::custom::conditions::{ESTABLISHED, NAMES_ACCEPTED, find, is_true};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn approved(group: &str, plural: &str, kind: &str) -> Value {
    let mut definition = definition(group, plural, kind, &anything());
    definition["metadata"]["annotations"]["api-approved.kubernetes.io"] =
        json!("unapproved, a test");
    definition
}

#[tokio::test]
async fn a_definition_of_a_built_in_resource_changes_and_deletes_nothing_of_it() {
    let server = start().await;
    let lease = json!({"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}});
    server.create(LEASES, &lease).await;
    establish(&server, &widgets(&anything())).await;
    for (group, plural, kind) in [
        ("coordination.k8s.io", "leases", "Lease"),
        ("coordination.k8s.io", "leases", "Other"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
        ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
    ] {
        let name = format!("{plural}.{group}");
        server.create(DEFINITIONS, &approved(group, plural, kind)).await;
        let is_decided = |found: &Value| find(found, NAMES_ACCEPTED).is_some();
        let found = server.until(&path(&name), is_decided).await;
        let condition = find(&found, NAMES_ACCEPTED).unwrap();
        assert_eq!(condition["status"], "False");
        let message = format!("\"{plural}\" is already in use");
        assert!(condition["message"].as_str().unwrap().contains(&message), "{condition}");
        assert!(!is_true(&found, ESTABLISHED));
        // Whoever writes its status gets no further.
        let names = json!({"plural": plural, "singular": "x", "kind": kind, "listKind": "Xs"});
        let conditions: Value = ["NamesAccepted", "Established"]
            .map(|of| json!({"type": of, "status": "True", "reason": "a", "message": "b", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
            .into_iter()
            .collect();
        let status = json!({"status": {"acceptedNames": names, "conditions": conditions}});
        server.patch(&format!("{}/status", path(&name)), &status).await;
        server.until(&path(&name), |found| !is_true(found, NAMES_ACCEPTED)).await;
        assert!(server.api.catalogue.load().custom(group, plural).is_none());
        let (code, answer) = server.ask(Method::DELETE, &path(&name), &Value::Null).await;
        assert_eq!(code, 200, "{answer}");
        server.until(&path(&name), Value::is_null).await;
        assert_eq!(server.get(&format!("{LEASES}/a")).await["spec"], lease["spec"]);
        assert_eq!(server.items(DEFINITIONS).await.len(), 1);
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        assert!(!server.items(roles).await.is_empty());
    }
    let (code, answer) = server
        .ask(
            Method::POST,
            DEFINITIONS,
            &definition("apps", "deployments", "Deployment", &anything()),
        )
        .await;
    assert_eq!(code, 422);
    assert!(answer["message"].as_str().unwrap().contains("spec.group: Invalid value: \"apps\""));
    server.stop().await;
}
