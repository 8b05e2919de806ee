//! Objects and requests of careless clients.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value, json};

use super::{
    DEFINITIONS, NAME, WIDGETS, anything, establish, send, start, widget, widgets, with_field,
};

const JSON: (&str, &str) = ("content-type", "application/json");

fn nested(levels: usize) -> String {
    let (open, close) = ("{\"a\":".repeat(levels), "}".repeat(levels));
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"deep"}},"spec":{open}1{close}}}"#
    )
}

fn fields(n: usize) -> Value {
    let fields: Map<String, Value> = (0..n).map(|n| (format!("f{n}"), json!(n))).collect();
    fields.into()
}

#[tokio::test]
async fn bodies_that_are_large_deep_or_broken_get_an_answer() {
    let server = start().await;
    establish(&server, &widgets(&anything())).await;
    let strict = "?fieldValidation=Strict";
    let start =
        r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"generateName":"a"},"#;
    let twice = format!(r#"{start}"spec":{{"a":1,"a":2}}}}"#);
    let mut invalid = format!(r#"{start}"spec":{{"a":""#).into_bytes();
    invalid.extend(b"\xff\xfe\"}}");
    let long = "x".repeat(4 << 20);
    let cases: [(&str, &str, Bytes, u16); 11] = [
        ("4 MB", "", widget("big", &json!({"a": long})).to_string().into(), 413),
        ("100,000 fields", strict, widget("wide", &fields(100_000)).to_string().into(), 201),
        ("50 levels", "", nested(50).into(), 201),
        ("20,000 levels", "", nested(20_000).into(), 400),
        ("200,000 levels", "", nested(200_000).into(), 400),
        ("brackets", "", "[".repeat(1 << 20).into(), 400),
        ("twice, strictly", strict, twice.clone().into(), 400),
        ("twice", "", twice.into(), 201),
        // Replaced, as in Go.
        ("not UTF-8", "", invalid.into(), 201),
        ("half a surrogate", "", format!(r#"{start}"spec":{{"a":"\ud800"}}}}"#).into(), 201),
        ("no object", "", "[]".into(), 400),
    ];
    for (what, query, body, expected) in cases {
        let target = format!("{WIDGETS}{query}");
        let (code, answer) = send(&server, Method::POST, &target, &[JSON], body).await;
        let shown: String = String::from_utf8_lossy(&answer).chars().take(500).collect();
        assert_eq!(code, expected, "{what}: {shown}");
    }
    let deep = "{\"a\":".repeat(20_000) + "1" + &"}".repeat(20_000);
    let (code, _) = send(&server, Method::POST, DEFINITIONS, &[JSON], deep.into()).await;
    assert_eq!(code, 400);
    server.stop().await;
}

#[tokio::test]
async fn unknown_fields_in_great_number_are_pruned_and_counted_within_bounds() {
    let server = start().await;
    establish(&server, &widgets(&with_field(json!({"type": "string"})))).await;
    let body = widget("a", &fields(100_000)).to_string();
    let strict = format!("{WIDGETS}?fieldValidation=Strict");
    let (code, answer) = send(&server, Method::POST, &strict, &[JSON], body.clone().into()).await;
    assert_eq!(code, 400);
    assert!(answer.len() < 64 << 10, "{}", answer.len());
    let (code, answer) = send(&server, Method::POST, WIDGETS, &[JSON], body.into()).await;
    assert_eq!(code, 201);
    let created: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(created["spec"], json!({}));
    server.stop().await;
}

/// With status and scale, and selectable.
fn complete() -> Value {
    let properties = json!({"replicas": {"type": "integer"}, "color": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": properties.clone()},
        "status": {"type": "object", "properties": properties},
    }});
    let mut definition = widgets(&schema);
    let version = &mut definition["spec"]["versions"][0];
    version["subresources"] = json!({"status": {}, "scale":
        {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}});
    version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    definition
}

#[tokio::test]
async fn many_status_patches_at_once_are_applied_one_after_the_other() {
    let server = start().await;
    establish(&server, &complete()).await;
    let created = server.create(WIDGETS, &widget("a", &json!({"replicas": 1}))).await;
    let target = format!("{WIDGETS}/a/status");
    let patches: Vec<_> = (0..300)
        .map(|n| {
            tokio::spawn(server.ask(Method::PATCH, &target, &json!({"status": {"replicas": n}})))
        })
        .collect();
    let mut versions = BTreeSet::new();
    for patch in patches {
        let (code, answer) = patch.await.unwrap();
        assert!(matches!(code, 200 | 409 | 429), "{answer}");
        if code == 200 {
            versions.insert(answer["metadata"]["resourceVersion"].to_string());
        }
    }
    assert!(!versions.is_empty());
    let found = server.get(&format!("{WIDGETS}/a")).await;
    assert!(versions.contains(&found["metadata"]["resourceVersion"].to_string()));
    assert_eq!(found["metadata"]["generation"], created["metadata"]["generation"]);
    assert_eq!(found["spec"], created["spec"]);
    server.stop().await;
}

#[tokio::test]
async fn replicas_beyond_any_range_are_refused() {
    let server = start().await;
    establish(&server, &complete()).await;
    server.create(WIDGETS, &widget("a", &json!({"replicas": 1}))).await;
    let target = format!("{WIDGETS}/a/scale");
    let texts = [
        "9223372036854775807",
        "-9223372036854775808",
        "2147483648",
        "-1",
        "1e30",
        "1e400",
        "1.5",
        "99999999999999999999",
        "\"1\"",
        "{}",
        "[1]",
        "true",
    ];
    for text in texts {
        let scale = format!(
            r#"{{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{{"name":"a","namespace":"default"}},"spec":{{"replicas":{text}}}}}"#
        );
        let patch = format!(r#"{{"spec":{{"replicas":{text}}}}}"#);
        let merge = ("content-type", "application/merge-patch+json");
        let object = format!("{WIDGETS}/a");
        for (method, target, media, body) in [
            (Method::PUT, &target, JSON, &scale),
            (Method::PATCH, &target, merge, &patch),
            (Method::PATCH, &object, merge, &patch),
        ] {
            let (code, answer) =
                send(&server, method.clone(), target, &[media], body.clone().into()).await;
            let shown = String::from_utf8_lossy(&answer);
            assert!(matches!(code, 400 | 422), "{method} {target} {text}: {code} {shown}");
        }
        assert_eq!(server.get(&object).await["spec"]["replicas"], 1, "{text}");
    }
    server.patch(&target, &json!({"spec": {"replicas": i32::MAX}})).await;
    assert_eq!(server.get(&target).await["spec"]["replicas"], i32::MAX);
    server.stop().await;
}

#[tokio::test]
async fn odd_field_selectors_and_media_types_get_an_answer() {
    let server = start().await;
    establish(&server, &complete()).await;
    server.create(WIDGETS, &widget("a", &json!({"color": "a=b,c\\d"}))).await;
    server.create(WIDGETS, &widget("b", &json!({}))).await;
    let long = "x".repeat(10_000);
    let many = vec!["spec.color!%3Dx"; 2_000].join(",");
    for (selector, expected) in [
        ("spec.color%3Da%5C%3Db%5C,c%5C%5Cd", (200, 1)),
        ("spec.color%3D", (200, 1)),
        ("spec.color!%3D", (200, 1)),
        ("spec.color%3D%5C", (400, 0)),
        ("spec.color", (400, 0)),
        ("spec.replicas%3D1", (400, 0)),
        (".spec.color%3D1", (400, 0)),
        ("%F0%9F%A6%80%3D1", (400, 0)),
        ("spec.color%3D%F0%9F%A6%80%00", (200, 0)),
        (&format!("spec.color%3D{long}"), (200, 0)),
        (&many, (200, 2)),
    ] {
        let target = format!("{WIDGETS}?fieldSelector={selector}");
        let (code, found) = server.ask(Method::GET, &target, &Value::Null).await;
        let n = found["items"].as_array().map_or(0, Vec::len);
        assert_eq!((code, n), expected, "{selector}: {found}");
    }
    let protobuf = "application/vnd.kubernetes.protobuf";
    let either = format!("{protobuf},application/json");
    for (accept, expected) in [(protobuf, 406), (&*either, 200), ("text/\u{e9}", 200), ("*/*", 200)]
    {
        let (code, _) =
            send(&server, Method::GET, WIDGETS, &[("accept", accept)], Bytes::new()).await;
        assert_eq!(code, expected, "{accept}");
    }
    let body = Bytes::from_static(b"k8s\0\x0a\x00");
    let (code, _) = send(&server, Method::POST, WIDGETS, &[("content-type", protobuf)], body).await;
    assert_eq!(code, 400);
    assert!(server.get(&super::path(NAME)).await.is_object());
    server.stop().await;
}
