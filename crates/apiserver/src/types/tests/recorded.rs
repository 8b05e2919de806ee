//! Objects from responses of a real server.

use std::fs;

use evenkeel_store::schema::{Type, canonical, check};
use serde_json::{Value, json};

use crate::types::schema;

/// A recorded response with real values in place of the masks.
fn unmasked(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("<time>") => {
            *value = json!("2026-08-20T00:00:00Z");
        }
        Value::String(text) if text.starts_with("<port:") => *value = json!(30000),
        Value::Array(elements) => elements.iter_mut().for_each(unmasked),
        Value::Object(members) => members.values_mut().for_each(unmasked),
        _ => {}
    }
}

fn type_of(body: &Value) -> Option<&'static Type> {
    let (group, version) = match body["apiVersion"].as_str()?.split_once('/') {
        Some((group, version)) => (group.split('.').next()?, version),
        None => ("core", body["apiVersion"].as_str()?),
    };
    schema().named(&format!("io.k8s.api.{group}.{version}.{}", body["kind"].as_str()?))
}

/// The items of a list, with the kind that they omit; or the object itself.
fn objects(body: &Value) -> Vec<Value> {
    let kind = body["kind"].as_str().unwrap_or_default();
    let (Some(kind), Some(items)) = (kind.strip_suffix("List"), body["items"].as_array()) else {
        return vec![body.clone()];
    };
    let mut items = items.clone();
    for item in items.iter_mut().filter(|item| item["metadata"].is_object()) {
        item["kind"] = json!(kind);
        item["apiVersion"] = body["apiVersion"].clone();
    }
    items
}

/// All complete objects in recorded responses.
fn recorded_objects() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/apiserver");
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).expect("the vectors are in the tree") {
        let text = fs::read_to_string(entry.expect("a file").path()).expect("a text");
        for line in text.lines().filter(|line| line.starts_with('{')) {
            let scenario: Value = serde_json::from_str(line).expect("JSON");
            let steps = scenario["steps"].as_array().cloned().unwrap_or_default();
            for step in steps.into_iter().filter(|step| step["compare"].is_null()) {
                let id = scenario["id"].as_str().unwrap_or_default();
                let response = &step["response"];
                let events = response["events"].as_array().into_iter().flatten();
                let bodies = events.map(|event| &event["object"]).chain([&response["body"]]);
                out.extend(bodies.flat_map(objects).map(|object| (id.to_owned(), object)));
            }
        }
    }
    out
}

#[test]
fn recorded_objects_are_read_without_findings_and_printed_as_recorded() {
    let mut compared = 0;
    for (id, mut body) in recorded_objects() {
        let Some(of) = type_of(&body) else { continue };
        unmasked(&mut body);
        let Ok(read) = check(schema(), of, body.clone()) else {
            // Micro times are masked like others.
            assert!(body.to_string().contains("2026-08-20T00:00:00Z"), "{id}: {body}");
            continue;
        };
        assert_eq!(read.unknown, [], "{id}");
        let mut printed = read.value;
        canonical(schema(), of, &mut printed);
        assert_eq!(printed, body, "{id}");
        compared += 1;
    }
    assert!(compared > 300, "only {compared} objects were compared");
}
