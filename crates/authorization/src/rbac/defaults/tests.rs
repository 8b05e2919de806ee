use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::{
    Attributes, User,
    rbac::{Binding, Policy, Role, aggregate},
};

fn value(kind: &str, name: &str) -> Value {
    let all = objects();
    let found = all.iter().find(|object| (object.kind, object.name) == (kind, name));
    found.unwrap().value.clone()
}

/// A policy with all default objects, aggregated roles filled.
fn policy() -> Policy {
    let mut policy = Policy::default();
    let cluster_roles: BTreeMap<String, aggregate::ClusterRole> = objects()
        .iter()
        .filter(|object| object.kind == "ClusterRole")
        .map(|object| (object.name.to_owned(), aggregate::ClusterRole::of(&object.value)))
        .collect();
    for DefaultObject { kind, namespace, name, value } in objects() {
        if kind.ends_with("Binding") {
            policy.set_binding(namespace, name, Some(Binding::of(&value)));
        } else {
            let aggregated = namespace.is_none().then(|| aggregate::rules(name, &cluster_roles));
            let role = aggregated.flatten().map(|rules| Role { rules });
            policy.set_role(namespace, name, Some(role.unwrap_or_else(|| Role::of(&value))));
        }
    }
    policy
}

#[test]
fn the_data_is_readable_sorted_and_complete() {
    let all = data::read(data::TEXT).unwrap();
    assert_eq!(all, objects());
    let names: Vec<_> =
        all.iter().map(|object| (object.kind, object.namespace, object.name)).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "sorted, each once");
    for object in &all {
        let value = &object.value;
        if object.kind.ends_with("Binding") {
            let to = Binding::of(value).role_ref;
            let namespace = object.namespace.filter(|_| to.kind == "Role");
            let exists = |(kind, scope, name): &(&str, Option<&str>, &str)| {
                *kind == to.kind && *scope == namespace && *name == to.name
            };
            assert!(names.iter().any(exists), "{}", object.name);
        } else {
            let rules = Role::of(value).rules;
            assert!(!rules.is_empty() || value.get("aggregationRule").is_some(), "{}", object.name);
            let stored = value["rules"].as_array().cloned().unwrap_or_default();
            for (rule, stored) in rules.iter().zip(&stored) {
                assert_eq!(&rule.to_value(), stored, "{}", object.name);
            }
        }
        assert_eq!(reconcile(Some(value), value), Action::Nothing, "{}", object.name);
    }
}

#[test]
fn lines_that_are_none_are_found() {
    for text in [
        "  get core pods",
        "Robot r",
        "Role n",
        "ClusterRole a\n  get",
        "ClusterRole a x",
        "ClusterRole a\n  get core pods by x",
        "ClusterRoleBinding a",
        "ClusterRoleBinding a = X:y",
        "ClusterRoleBinding a = ServiceAccount:y",
        "ClusterRole a\n  aggregate b",
    ] {
        assert!(data::read(text).is_err(), "{text}");
    }
}

#[test]
fn objects_are_as_kubernetes_creates_them() {
    assert_eq!(
        value("ClusterRole", "edit"),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": "edit",
                "labels": {
                    "kubernetes.io/bootstrapping": "rbac-defaults",
                    "rbac.authorization.k8s.io/aggregate-to-admin": "true"
                },
                "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"}
            },
            "aggregationRule": {"clusterRoleSelectors": [
                {"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}}
            ]}
        })
    );
    let binding = value("RoleBinding", "system::leader-locking-kube-scheduler");
    assert_eq!(binding["metadata"]["namespace"], "kube-system");
    assert_eq!(
        binding["subjects"],
        json!([
            {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:kube-scheduler"},
            {"kind": "ServiceAccount", "name": "kube-scheduler", "namespace": "kube-system"}
        ])
    );
    assert_eq!(value("ClusterRoleBinding", "system:node").get("subjects"), None);
}

// Recorded from Kubernetes by SubjectAccessReviews.
#[test]
fn the_defaults_grant_what_kubernetes_grants() {
    let policy = policy();
    let user = |name: &str, groups: &[&str]| User {
        name: name.to_owned(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ..User::default()
    };
    let authenticated = user("bob", &["system:authenticated"]);
    let paths = ["/api", "/api/v1", "/apis", "/apis/apps/v1", "/openapi/v3", "/version", "/livez"];
    for path in paths {
        assert!(policy.allows(&authenticated, &Attributes::path("get", path)), "{path}");
    }
    for (verb, path) in
        [("post", "/api"), ("get", "/apix"), ("get", "/livez/ping"), ("get", "/metrics")]
    {
        assert!(!policy.allows(&authenticated, &Attributes::path(verb, path)), "{path}");
    }
    assert!(policy.allows(&User::anonymous(), &Attributes::path("get", "/healthz")));
    assert!(!policy.allows(&User::anonymous(), &Attributes::path("get", "/api")));
    let review = ["authentication.k8s.io", "selfsubjectreviews", "", "", ""];
    assert!(policy.allows(&authenticated, &Attributes::resource("create", review)));
    let master = user("root", &["system:masters"]);
    let anything = Attributes::resource("frob", ["x", "y", "z", "a", "b"]);
    assert_eq!(
        policy.authorize(&master, &anything).unwrap().to_string(),
        r#"RBAC: allowed by ClusterRoleBinding "cluster-admin" of ClusterRole "cluster-admin" to Group "system:masters""#
    );
    let node = user("system:node:n", &["system:nodes", "system:authenticated"]);
    assert!(!policy.allows(&node, &Attributes::resource("get", ["", "nodes", "", "", "n"])));
    let collector = "system:serviceaccount:kube-system:generic-garbage-collector";
    let delete = Attributes::resource("delete", ["apps", "replicasets", "", "a", "b"]);
    assert!(policy.allows(&user(collector, &[]), &delete));
}

#[test]
fn admin_edit_and_view_are_aggregated() {
    let mut policy = policy();
    for (name, role) in [("a", "admin"), ("e", "edit"), ("v", "view")] {
        let binding = json!({"roleRef": {"kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": name}]});
        policy.set_binding(Some("shop"), role, Some(Binding::of(&binding)));
    }
    let may = |name: &str, verb: &str, group: &str, resource: &str| {
        let user = User { name: name.to_owned(), ..User::default() };
        policy.allows(&user, &Attributes::resource(verb, [group, resource, "", "shop", "x"]))
    };
    let rbac = "rbac.authorization.k8s.io";
    for (name, expected) in
        [("a", [true, true, true]), ("e", [false, true, true]), ("v", [false, false, true])]
    {
        let actual = [
            may(name, "create", rbac, "rolebindings"),
            may(name, "get", "", "secrets"),
            may(name, "get", "apps", "deployments"),
        ];
        assert_eq!(actual, expected, "{name}");
    }
}

#[test]
fn roles_get_what_they_lack_and_keep_what_they_have() {
    let default = value("ClusterRole", "system:basic-user");
    assert_eq!(reconcile(None, &default), Action::Create(default.clone()));
    let mut stored = default.clone();
    stored["metadata"]["labels"] = json!({"own": "1"});
    stored["metadata"]["annotations"] = json!({AUTO_UPDATE: "yes"});
    stored["rules"] = json!([{"verbs": ["create", "get"], "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews"]}]);
    let Action::Update(updated) = reconcile(Some(&stored), &default) else { panic!() };
    assert_eq!(
        updated["metadata"]["labels"],
        json!({"own": "1", "kubernetes.io/bootstrapping": "rbac-defaults"})
    );
    assert_eq!(updated["metadata"]["annotations"], json!({AUTO_UPDATE: "yes"}));
    assert_eq!(
        updated["rules"],
        json!([
            {"verbs": ["create", "get"], "apiGroups": ["authorization.k8s.io"],
                "resources": ["selfsubjectaccessreviews"]},
            {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
                "resources": ["selfsubjectrulesreviews"]},
            {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"],
                "resources": ["selfsubjectreviews"]}
        ])
    );
    assert_eq!(reconcile(Some(&updated), &default), Action::Nothing);
    stored["metadata"]["annotations"] = json!({AUTO_UPDATE: "false"});
    assert_eq!(reconcile(Some(&stored), &default), Action::Nothing);
}

#[test]
fn aggregation_is_restored_or_removed() {
    let aggregated = value("ClusterRole", "view");
    let mut stored = aggregated.clone();
    stored["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"x": "y"}}]});
    stored["rules"] = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let Action::Update(updated) = reconcile(Some(&stored), &aggregated) else { panic!() };
    assert_eq!(
        updated["aggregationRule"]["clusterRoleSelectors"],
        json!([{"matchLabels": {"x": "y"}},
            {"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}])
    );
    assert_eq!(updated["rules"], stored["rules"]);
    let plain = value("ClusterRole", "system:kube-dns");
    let mut stored = plain.clone();
    stored["aggregationRule"] = json!({"clusterRoleSelectors": []});
    assert_eq!(reconcile(Some(&stored), &plain), Action::Update(plain));
}

#[test]
fn bindings_get_subjects_and_are_made_again_for_another_role() {
    let default = value("ClusterRoleBinding", "system:public-info-viewer");
    let mut stored = default.clone();
    let eve = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "eve"});
    stored["subjects"] = json!([eve, default["subjects"][1]]);
    let Action::Update(updated) = reconcile(Some(&stored), &default) else { panic!() };
    let all = [&eve, &default["subjects"][1], &default["subjects"][0]];
    assert_eq!(updated["subjects"], json!(all));
    stored["roleRef"]["name"] = json!("cluster-admin");
    assert_eq!(reconcile(Some(&stored), &default), Action::Recreate(default.clone()));
    stored["metadata"]["annotations"][AUTO_UPDATE] = json!("false");
    assert_eq!(reconcile(Some(&stored), &default), Action::Nothing);
    for malformed in [json!(null), json!([]), json!({"metadata": 1, "subjects": {}})] {
        assert_eq!(reconcile(Some(&malformed), &default), Action::Recreate(default.clone()));
    }
}
