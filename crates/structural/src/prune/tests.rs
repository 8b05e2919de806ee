use serde_json::{Value, json};

use crate::schema::Schema;

fn check(schema: &Value, object: &Value, expected: &Value, unknown: &[&str]) {
    let mut object = object.clone();
    let pruned = Schema::parse(schema).unwrap().prune(&mut object);
    assert_eq!(object, *expected, "{schema}");
    assert_eq!(pruned, unknown, "{schema}");
}

/// Cases of Kubernetes' `pruning/algorithm_test.go`, on resources.
#[test]
fn what_is_not_specified_is_removed_and_named() {
    check(
        &json!({"type": "object"}),
        &json!({"apiVersion": "v1", "kind": "K", "metadata": {"unspecified": 1}, "a": 1, "b": {"c": 2}}),
        &json!({"apiVersion": "v1", "kind": "K", "metadata": {"unspecified": 1}}),
        &["a", "b"],
    );
    let spec = |spec: Value| json!({"type": "object", "properties": {"spec": spec}});
    check(
        &spec(
            json!({"type": "object", "properties": {"a": {}, "l": {"items": {"properties": {"x": {}}}}}}),
        ),
        &json!({"spec": {"a": 1, "z": 1, "l": [{"x": 1}, {"y": 2, "x": 1}, 5]}}),
        &json!({"spec": {"a": 1, "l": [{"x": 1}, {"x": 1}, 5]}}),
        &["spec.l[1].y", "spec.z"],
    );
    check(
        &spec(json!({"additionalProperties": {"properties": {"x": {}}}})),
        &json!({"spec": {"a": {"x": 1, "y": 1}, "b": 5}}),
        &json!({"spec": {"a": {"x": 1}, "b": 5}}),
        &["spec.a.y"],
    );
    check(
        &spec(json!({"additionalProperties": true})),
        &json!({"spec": {"a": {"y": 1}, "b": 5, "c": [{"d": 1}]}}),
        &json!({"spec": {"a": {}, "b": 5, "c": [{}]}}),
        &["spec.a.y", "spec.c[0].d"],
    );
}

#[test]
fn unknown_fields_are_preserved_where_the_schema_says_so() {
    let preserving = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "pruned": {"type": "object", "properties": {"a": {"type": "string"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    check(
        &preserving,
        &json!({"x": {"y": [1]}, "pruned": {"a": "1", "b": 1}, "free": {"c": {"d": 1}}}),
        &json!({"x": {"y": [1]}, "pruned": {"a": "1"}, "free": {"c": {"d": 1}}}),
        &["pruned.b"],
    );
    check(
        &json!({"properties": {"l": {
            "type": "array", "x-kubernetes-preserve-unknown-fields": true,
            "items": {"type": "object", "properties": {"a": {"type": "object"}}},
        }}}),
        &json!({"l": [{"a": {"x": 1}, "b": 1}, [{"c": 1}]]}),
        &json!({"l": [{"a": {}, "b": 1}, [{"c": 1}]]}),
        &["l[0].a.x"],
    );
}

#[test]
fn embedded_resources_keep_their_type_and_metadata() {
    check(
        &json!({"properties": {"pod": {
            "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}},
        }}}),
        &json!({"pod": {
            "apiVersion": "v1", "kind": "Pod", "other": 1, "spec": {"x": 1},
            "metadata": {"name": "a", "bogus": 1, "ownerReferences": [{"kind": "K", "x": 1}], "labels": {"a": "b"}},
        }}),
        &json!({"pod": {
            "apiVersion": "v1", "kind": "Pod", "spec": {},
            "metadata": {"name": "a", "ownerReferences": [{"kind": "K"}], "labels": {"a": "b"}},
        }}),
        &["pod.metadata.bogus", "pod.metadata.ownerReferences[0].x", "pod.other", "pod.spec.x"],
    );
}

#[test]
fn at_most_a_hundred_fields_are_named() {
    let fields = (0..1000).map(|i| (format!("f{i}"), json!(1))).collect();
    let mut object = Value::Object(fields);
    let pruned = Schema::parse(&json!({"type": "object"})).unwrap().prune(&mut object);
    assert_eq!((object, pruned.len()), (json!({}), 100));
}
