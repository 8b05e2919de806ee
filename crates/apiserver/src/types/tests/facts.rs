//! The table compared with the recorded OpenAPI documents.

use std::{collections::BTreeMap, fs};

use evenkeel_store::schema::{Field, ListType, MapType, Shape, Type};
use serde_json::{Value, json};

use crate::types::schema;

/// Types that the table describes by their shape.
const LEAVES: &[&str] = &[
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
];

fn markers(field: &Field) -> Value {
    let mut out = BTreeMap::new();
    if let Some(list) = field.list {
        let name = match list {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map => "map",
        };
        out.insert("x-kubernetes-list-type", json!(name));
    }
    if !field.keys.is_empty() {
        out.insert("x-kubernetes-list-map-keys", json!(field.keys));
    }
    if let Some(map) = field.map {
        let name = if map == MapType::Atomic { "atomic" } else { "granular" };
        out.insert("x-kubernetes-map-type", json!(name));
    }
    let strategies = [
        (field.patch.merge, "merge"),
        (field.patch.replace, "replace"),
        (field.patch.retain_keys, "retainKeys"),
    ];
    let strategies: Vec<&str> =
        strategies.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    if !strategies.is_empty() {
        out.insert("x-kubernetes-patch-strategy", json!(strategies.join(",")));
    }
    if let Some(key) = &field.merge_key {
        out.insert("x-kubernetes-patch-merge-key", json!(key));
    }
    json!(out)
}

fn facts(of: &Type) -> Value {
    // Alternatives are not properties.
    let fields = if of.either { &[] } else { of.fields.as_slice() };
    let mut properties: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
    properties.sort_unstable();
    let mut required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| &*field.name).collect();
    required.sort_unstable();
    let annotated: BTreeMap<&str, Value> = fields
        .iter()
        .map(|field| (&*field.name, markers(field)))
        .filter(|(_, markers)| markers != &json!({}))
        .collect();
    let mut extensions = BTreeMap::new();
    if of.atomic {
        extensions.insert("x-kubernetes-map-type", json!("atomic"));
    }
    if let Some(unions) = &of.unions {
        extensions.insert("x-kubernetes-unions", unions.clone());
    }
    json!({
        "properties": properties,
        "required": required,
        "annotated_fields": annotated,
        "extensions": extensions,
    })
}

fn recorded() -> Vec<Value> {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/apiserver/openapi_facts.jsonl");
    let text = fs::read_to_string(path).expect("the recorded facts are in the tree");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    records.filter(|record| record["kind"] == "schema").collect()
}

#[test]
fn the_table_says_what_openapi_says() {
    let mut compared = 0;
    for record in recorded() {
        let name = record["schema"].as_str().expect("a name");
        let Some(of) = schema().named(name) else {
            assert!(LEAVES.contains(&name), "{name} is not in the table");
            continue;
        };
        let mut sorted = record.clone();
        for list in ["properties", "required"] {
            if let Some(names) = sorted[list].as_array_mut() {
                names.sort_unstable_by_key(Value::to_string);
            }
        }
        let expected = json!({
            "properties": sorted["properties"],
            "required": sorted["required"],
            "annotated_fields": sorted["annotated_fields"],
            "extensions": sorted.get("extensions").cloned().unwrap_or(json!({})),
        });
        assert_eq!(facts(of), expected, "{name}");
        compared += 1;
    }
    assert!(compared > 100, "only {compared} types were compared");
}

#[test]
fn lists_of_type_map_name_fields_of_their_elements() {
    for field in schema().types().flat_map(|of| &of.fields) {
        let Shape::List(element) = &field.shape else {
            assert!(field.keys.is_empty() && field.list.is_none(), "{}", field.name);
            continue;
        };
        let Shape::Struct(id) = **element else { continue };
        for key in field.keys.iter().chain(&field.merge_key) {
            assert!(schema().of(id).field(key).is_some(), "{} has no {key}", field.name);
        }
    }
}
