//! Definitions and objects that nobody means well with: bounded time, memory and text, no panic.

#![allow(clippy::unwrap_used, reason = "all of it is a test")]

use std::time::{Duration, Instant};

use evenkeel_structural::{Path, Schema, Tolerance, check_definition};
use serde_json::{Value, json};

/// Far above what is linear, even unoptimised on a busy machine, and far below what is not.
const LIMIT: Duration = Duration::from_secs(20);
/// Number of items at which what is quadratic takes minutes.
const MANY: usize = 100_000;

#[track_caller]
fn within_limit<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = what();
    let took = start.elapsed();
    assert!(took < LIMIT, "{took:?}");
    value
}

fn parse(schema: &Value) -> Schema {
    Schema::parse(schema).unwrap()
}

fn check(schema: &Schema) -> Vec<String> {
    let errors = check_definition(schema, &Path::root("S"), Tolerance::default());
    errors.iter().map(ToString::to_string).collect()
}

fn spec(schema: Value) -> Value {
    let mut root = json!({"type": "object", "properties": {}});
    root["properties"]["spec"] = schema;
    root
}

#[test]
fn a_hundred_thousand_properties() {
    let field = json!({"type": "string", "default": "x", "maxLength": 3});
    let fields: serde_json::Map<_, _> =
        (0..MANY).map(|i| (format!("f{i}"), field.clone())).collect();
    let object: serde_json::Map<_, _> =
        (0..MANY).map(|i| (format!("f{}", i * 2), json!("long"))).collect();
    within_limit(|| {
        let schema = parse(&spec(json!({"type": "object", "properties": fields})));
        assert_eq!(check(&schema), [""; 0]);
        let mut object = json!({ "spec": object });
        assert_eq!(schema.prune(&mut object).len(), 100);
        schema.fill_defaults(&mut object);
        assert_eq!(object["spec"].as_object().unwrap().len(), MANY);
        let errors = schema.validate(&object);
        let text: usize = errors.iter().map(|error| error.to_string().len()).sum();
        assert!(errors.len() > 10_000 && text < 1 << 21, "{} errors, {text} bytes", errors.len());
    });
}

#[test]
fn definitions_of_errors_only() {
    let wrong = json!({"type": "x", "x-kubernetes-list-type": "y", "pattern": "(", "$ref": "#/a"});
    let fields: serde_json::Map<_, _> =
        (0..MANY).map(|i| (format!("f{i}"), wrong.clone())).collect();
    let schema = parse(&spec(json!({"type": "object", "properties": fields})));
    let errors = within_limit(|| check(&schema));
    let text: usize = errors.iter().map(String::len).sum();
    assert!(errors.len() > 1000 && text < 1 << 21, "{} errors, {text} bytes", errors.len());
}

#[test]
fn sets_and_maps_of_a_hundred_thousand_items() {
    let schema = parse(&json!({"type": "object", "properties": {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "objects": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
        "map": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "v": {"type": "integer", "maximum": 5}}},
        },
    }}));
    let object = |v: usize| {
        json!({
            "set": (0..MANY).map(|i| i.to_string()).collect::<Vec<_>>(),
            "objects": (0..MANY).map(|i| json!({"a": i})).collect::<Vec<_>>(),
            "map": (0..MANY).map(|i| json!({"a": (i / 2).to_string(), "b": i % 2, "v": v})).collect::<Vec<_>>(),
        })
    };
    let (valid, large) = (object(1), object(9));
    within_limit(|| {
        assert!(schema.validate(&valid).is_empty());
        assert!(schema.validate(&large).len() > 1000);
        // All items are invalid and unchanged, in another order, and one item is new.
        let mut changed = large.clone();
        let items = changed["map"].as_array_mut().unwrap();
        items.reverse();
        items.push(json!({"a": "new", "b": 1, "v": 1}));
        assert!(schema.validate_update(&changed, &large).is_empty());
    });
    let same = json!({"set": vec!["a"; MANY]});
    assert_eq!(within_limit(|| schema.validate(&same)).len(), 1);
}

#[test]
fn alternatives_times_items_are_bounded() {
    let alternatives: Vec<Value> = (0..2000).map(|i| json!({"enum": [i.to_string()]})).collect();
    for junctor in ["anyOf", "oneOf", "allOf"] {
        let schema = parse(&spec(
            json!({"type": "array", "items": {"type": "string", (junctor): alternatives}}),
        ));
        let object = json!({"spec": vec!["x"; MANY]});
        let errors = within_limit(|| schema.validate(&object));
        let last = errors.iter().next_back().unwrap().to_string();
        assert!(last.contains("steps") || errors.is_full(), "{last}");
    }
    let values: Vec<String> = (0..MANY).map(|i| i.to_string()).collect();
    let schema =
        parse(&spec(json!({"type": "array", "items": {"type": "string", "enum": values}})));
    assert!(!within_limit(|| schema.validate(&json!({"spec": vec!["x"; MANY]}))).is_empty());
    let schema =
        parse(&spec(json!({"type": "array", "items": {"type": "object", "required": values}})));
    assert!(!within_limit(|| schema.validate(&json!({"spec": vec![json!({}); MANY]}))).is_empty());
}

#[test]
fn alternatives_in_alternatives_are_tried_once() {
    for junctor in ["anyOf", "oneOf", "allOf"] {
        let mut nested = json!({"minLength": 5});
        for _ in 0..45 {
            nested = json!({(junctor): [nested, {"maxLength": 0}]});
        }
        nested["type"] = json!("string");
        let schema = parse(&spec(nested));
        assert!(within_limit(|| check(&schema)).is_empty());
        let (new, old) = (json!({"spec": "abc"}), json!({"spec": "abd"}));
        assert!(!within_limit(|| schema.validate_update(&new, &old)).is_empty(), "{junctor}");
    }
    let mut negated = json!({"minLength": 5});
    for _ in 0..90 {
        negated = json!({"not": negated});
    }
    negated["type"] = json!("string");
    let schema = parse(&spec(negated));
    assert!(!within_limit(|| schema.validate(&json!({"spec": "abc"}))).is_empty());
}

#[test]
fn deep_schemas_are_refused_and_deep_objects_bounded() {
    let mut schema = json!({"type": "string"});
    for _ in 0..300 {
        schema = json!({"type": "array", "items": schema});
    }
    assert!(Schema::parse(&schema).is_err());
    let mut schema = json!({"type": "integer", "default": 1});
    let mut object = json!("wrong");
    for _ in 0..100 {
        schema = json!({"type": "object", "properties": {"a": schema}});
        object = json!({ "a": object });
    }
    let schema = parse(&schema);
    let mut deeper = json!({});
    for _ in 0..120 {
        deeper = json!([deeper]);
    }
    within_limit(|| {
        check(&schema);
        assert_eq!(schema.validate(&object).len(), 1);
        assert_eq!(schema.validate_update(&object, &json!({"a": 1})).len(), 1);
        schema.fill_defaults(&mut object);
        assert!(schema.prune(&mut json!({"x": deeper, "a": deeper})).len() == 1);
    });
}

#[test]
fn patterns_of_a_definition_are_bounded() {
    let nested = "((((a{1,100}){1,100}){1,100}){1,100}){1,100}";
    for (pattern, n) in [(".{1,1000}", 10_000), (r"[\p{L}\p{N}]+\w*", 20_000), (nested, 1000)] {
        let field = |i: usize| {
            (format!("f{i}"), json!({"type": "string", "pattern": format!("{pattern}{i}")}))
        };
        let fields: serde_json::Map<_, _> = (0..n).map(field).collect();
        let schema = parse(&spec(json!({"type": "object", "properties": fields})));
        let errors = within_limit(|| check(&schema));
        assert!(errors.iter().any(|error| error.contains("too large")), "{pattern}: {errors:?}");
    }
}

/// Engines that backtrack take longer than the age of the universe.
#[test]
fn patterns_take_linear_time() {
    let schema = parse(&spec(json!({"type": "string", "pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"})));
    assert_eq!(check(&schema), [""; 0]);
    let object = json!({"spec": "a".repeat(1 << 20)});
    assert_eq!(within_limit(|| schema.validate(&object)).len(), 1);
}

#[test]
fn large_values_are_printed_once() {
    let schema = parse(&spec(
        json!({"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string", "pattern": "^a"}}}),
    ));
    let object = json!({"spec": [{"x": "b".repeat(2 << 20)}, {"y": "b".repeat(1 << 20), "z": 1}]});
    let errors = within_limit(|| schema.validate(&object));
    assert_eq!(errors.len(), 1);
}

#[test]
fn a_schema_of_a_megabyte_with_rules_for_keys() {
    let keys: Vec<String> = (0..MANY).map(|i| format!("k{i}")).collect();
    let fields: serde_json::Map<_, _> =
        keys.iter().map(|key| (key.clone(), json!({"type": "string"}))).collect();
    let schema = parse(&spec(json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
        "items": {"type": "object", "required": keys, "properties": fields},
    })));
    assert_eq!(within_limit(|| check(&schema)), [""; 0]);
    let items: Vec<Value> = (0..MANY).map(|i| json!({"k0": i.to_string()})).collect();
    assert!(!within_limit(|| schema.validate(&json!({ "spec": items }))).is_empty());
}
