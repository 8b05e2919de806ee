use serde_json::{Value, json};

use crate::{error::Errors, path::Path, schema::Schema};

fn check(list: &Value, value: &Value, expected: &[&str]) {
    let schema = json!({"properties": {"l": list}, "type": "object"});
    let mut errors = Errors::new();
    let schema = Schema::parse(&schema).unwrap();
    super::check(&schema, &json!({"l": value}), &Path::root(""), &mut errors);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts, expected);
}

#[test]
fn items_of_sets_are_unique() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {}});
    check(&set, &json!(["a", "b", 1, 1.0, null, true]), &[]);
    check(
        &set,
        &json!(["a", "b", "a", "a", null, null, {"x": 1}, {"x": 1}]),
        &[
            "l[2]: Duplicate value: \"a\"",
            "l[5]: Duplicate value: null",
            "l[7]: Duplicate value: {\"x\":1}",
        ],
    );
    check(
        &json!({"additionalProperties": set}),
        &json!({"k": [1, 1]}),
        &["l[k][1]: Duplicate value: 1"],
    );
    check(&json!({"type": "array", "items": {}}), &json!([1, 1]), &[]);
}

#[test]
fn keys_of_maps_are_unique() {
    let map = |keys: Value| {
        json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "properties": {"inner": {"x-kubernetes-list-type": "set", "items": {}}}},
        })
    };
    check(&map(json!(["a"])), &json!([{"a": 1, "v": 1}, {"a": 2, "v": 1}, {"v": 2}]), &[]);
    check(
        &map(json!(["a"])),
        &json!([{"a": 1, "v": 1}, {"a": 1, "v": 2}, {"v": 1}, {"v": 2}, null]),
        &["l[1]: Duplicate value: {\"a\":1}", "l[3]: Duplicate value: {}"],
    );
    check(
        &map(json!(["b", "a"])),
        &json!([{"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 1}, {"a": 1, "x": 2}]),
        &["l[2]: Duplicate value: {\"a\":1,\"b\":1}", "l[3]: Duplicate value: {\"a\":1}"],
    );
    check(
        &map(json!(["a"])),
        &json!([{"a": 1}, 5]),
        &["l[1]: Invalid value: 5: must be an object for an array of list-type map"],
    );
    check(
        &map(json!(["a"])),
        &json!([{"a": 1, "inner": [1, 1]}]),
        &["l[0].inner[1]: Duplicate value: 1"],
    );
}
