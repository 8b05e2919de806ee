use serde_json::{Value, json};

use super::*;

fn node(name: &str) -> User {
    User { name: format!("system:node:{name}"), groups: vec![NODES.to_owned()], ..User::default() }
}

fn pod(name: &str, node: &str, secret: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "n0"},
        "spec": {"nodeName": node, "volumes": [{"secret": {"secretName": secret}}]}
    })
}

#[test]
fn a_node_has_a_name_and_is_in_its_group() {
    assert_eq!(identity(&node("n1")), Some("n1"));
    assert_eq!(identity(&User { groups: vec![], ..node("n1") }), None);
    assert_eq!(identity(&User { name: "bob".to_owned(), ..node("n1") }), None);
    let unknown = authorize(&node(""), &Attributes::path("get", "/"), &Graph::default());
    let reason = r#"unknown node for user "system:node:""#.to_owned();
    assert_eq!(unknown, Decision::NoOpinion(reason));
}

#[test]
fn names_are_counted() {
    let mut graph = Graph::default();
    let has = |graph: &Graph, name: &str| graph.has("n1", Referenced::Secret, "n0", name);
    let (a, b) = (PodRefs::of(&pod("a", "n1", "s")), PodRefs::of(&pod("b", "n1", "s")));
    graph.changed(None, Some(&a));
    graph.changed(None, Some(&b));
    graph.changed(Some(&a), None);
    assert!(has(&graph, "s"));
    let moved = PodRefs::of(&pod("b", "n1", "t"));
    graph.changed(Some(&b), Some(&moved));
    assert!(!has(&graph, "s") && has(&graph, "t"));
    graph.changed(Some(&moved), Some(&moved));
    graph.changed(Some(&moved), None);
    graph.changed(Some(&moved), None);
    assert!(!has(&graph, "t"));
    let unbound = PodRefs::of(&pod("c", "", "s"));
    graph.changed(None, Some(&unbound));
    assert!(!graph.has("", Referenced::Pod, "n0", "c"));
}

#[test]
fn malformed_pods_name_nothing() {
    for value in [
        json!(null),
        json!([]),
        json!({"spec": []}),
        json!({"spec": {"containers": {},
        "volumes": [1, {"secret": {"secretName": 1}}, {"projected": {"sources": 1}}],
        "imagePullSecrets": [{"name": {}}, null]}}),
    ] {
        assert_eq!(PodRefs::of(&value), PodRefs::default(), "{value}");
    }
}

// Recorded from Kubernetes with NodeRestriction.
#[test]
fn writes_that_concern_other_nodes_are_refused() {
    let mut graph = Graph::default();
    let (own, other) = (pod("a", "n1", "s"), pod("b", "n2", "s"));
    graph.changed(None, Some(&PodRefs::of(&own)));
    graph.changed(None, Some(&PodRefs::of(&other)));
    let mirror = |spec: Value, owners: Value| {
        json!({"metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": owners}, "spec": spec})
    };
    let owner = |controller: bool| json!([{"apiVersion": "v1", "kind": "Node", "name": "n1", "controller": controller}]);
    let token = |name: &str, uid: &str| {
        json!({"spec": {"boundObjectRef":
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}}})
    };
    let named = |name: &str| json!({"metadata": {"name": name}});
    let labelled = |labels: Value| json!({"metadata": {"name": "n1", "labels": labels}});
    let plain = named("n1");
    type Case<'a> = (&'a str, [&'a str; 3], &'a str, Option<&'a Value>, Option<Value>, &'a str);
    let cases: Vec<Case<'_>> = vec![
        (
            "delete",
            ["", "pods", ""],
            "b",
            Some(&other),
            None,
            r#"node "n1" can only delete pods with spec.nodeName set to itself"#,
        ),
        (
            "delete",
            ["", "pods", ""],
            "b",
            None,
            None,
            r#"node "n1" can only delete pods with spec.nodeName set to itself"#,
        ),
        ("delete", ["", "pods", ""], "a", Some(&own), None, ""),
        ("delete", ["", "pods", ""], "a", None, None, ""),
        (
            "patch",
            ["", "pods", "status"],
            "b",
            Some(&other),
            None,
            r#"node "n1" can only update pod status for pods with spec.nodeName set to itself"#,
        ),
        ("patch", ["", "pods", "status"], "a", Some(&own), None, ""),
        (
            "create",
            ["", "pods", "eviction"],
            "b",
            Some(&other),
            None,
            "node n1 can only evict pods with spec.nodeName set to itself",
        ),
        (
            "patch",
            ["", "nodes", ""],
            "n2",
            None,
            None,
            r#"node "n1" is not allowed to modify node "n2""#,
        ),
        (
            "patch",
            ["", "nodes", "status"],
            "n2",
            None,
            None,
            r#"node "n1" is not allowed to modify node "n2""#,
        ),
        (
            "create",
            ["", "nodes", ""],
            "",
            None,
            Some(named("n3")),
            r#"node "n1" is not allowed to modify node "n3""#,
        ),
        ("create", ["", "nodes", ""], "", None, Some(named("n1")), ""),
        ("patch", ["", "nodes", ""], "n1", Some(&plain), Some(labelled(json!({"a": "b"}))), ""),
        (
            "patch",
            ["", "nodes", ""],
            "n1",
            Some(&plain),
            Some(labelled(json!({"foo.kubernetes.io/b": "b", "kubernetes.io/os": "x",
                "x.node-restriction.kubernetes.io/a": "1"}))),
            "is not allowed to modify labels: foo.kubernetes.io/b, x.node-restriction.kubernetes.io/a",
        ),
        (
            "patch",
            ["", "nodes", ""],
            "n1",
            Some(&plain),
            Some(json!({"spec": {"taints": [{"key": "a"}]}})),
            r#"node "n1" is not allowed to modify taints"#,
        ),
        (
            "create",
            ["coordination.k8s.io", "leases", ""],
            "",
            None,
            Some(named("n3")),
            "can only access node lease with the same name as the requesting node",
        ),
        ("create", ["coordination.k8s.io", "leases", ""], "", None, Some(named("n1")), ""),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(named("p")),
            r#"pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(json!({}), json!([]))),
            r#"node "n1" can only create pods with spec.nodeName set to itself"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(json!({"nodeName": "n1"}), json!([]))),
            r#"node "n1" can only create pods with an owner reference set to itself"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(json!({"nodeName": "n1"}), owner(false))),
            r#"node "n1" can only create pods with a controller owner reference set to itself"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(json!({"nodeName": "n1", "serviceAccountName": "s"}), owner(true))),
            r#"node "n1" can not create pods that reference serviceaccounts"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(
                json!({"nodeName": "n1", "imagePullSecrets": [{"name": "s"}]}),
                owner(true),
            )),
            r#"node "n1" can not create pods that reference secrets"#,
        ),
        (
            "create",
            ["", "pods", ""],
            "",
            None,
            Some(mirror(json!({"nodeName": "n1"}), owner(true))),
            "",
        ),
        (
            "create",
            ["", "serviceaccounts", "token"],
            "s",
            None,
            Some(json!({"spec": {}})),
            "node requested token not bound to a pod",
        ),
        (
            "create",
            ["", "serviceaccounts", "token"],
            "s",
            None,
            Some(token("a", "")),
            "node requested token with a pod binding without a uid",
        ),
        (
            "create",
            ["", "serviceaccounts", "token"],
            "s",
            None,
            Some(token("b", "u")),
            "node requested token bound to a pod scheduled on a different node",
        ),
        ("create", ["", "serviceaccounts", "token"], "s", None, Some(token("a", "u")), ""),
        ("get", ["", "nodes", ""], "n2", None, None, ""),
        (
            "create",
            ["", "pods", "binding"],
            "a",
            Some(&own),
            None,
            r#"unexpected pod subresource "binding", only 'status' and 'eviction' are allowed"#,
        ),
    ];
    for (verb, [group, resource, part], name, before, after, expected) in cases {
        let namespace = if resource == "leases" { LEASES } else { "n0" };
        let attributes = Attributes::resource(verb, [group, resource, part, namespace, name]);
        let change = Change { before, after: after.as_ref() };
        let reason = restriction("n1", &attributes, change, &graph).unwrap_or_default();
        assert_eq!(reason, expected, "{verb} {resource}/{part} {name} {after:?}");
    }
}

#[test]
fn a_node_without_a_name_writes_nothing() {
    let attributes = Attributes::resource("create", ["", "configmaps", "", "n0", ""]);
    let reason = restriction("", &attributes, Change::default(), &Graph::default());
    assert_eq!(reason.as_deref(), Some(r#"could not determine node from user "system:node:""#));
}
