//! Schemas of types, for version 3.
//!
//! Generated from the table of types and from a small one here, of the server's version. A field
//! that refers to a type wraps the reference in `allOf`, since nothing may stand beside `$ref`.

use std::sync::OnceLock;

use evenkeel_store::schema::{Field, ListType, MapType, PatchStrategy, Schema, Shape, Type};
use serde_json::{Map, Value, json};

use super::{described, operation::reference};
use crate::types;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/// The schema of a named type: from the tables, or one of the few that are not structs, or from
/// `k8s-openapi`.
pub(super) fn named(name: &str) -> Value {
    let known = [types::schema(), version()]
        .into_iter()
        .find_map(|facts| Some((facts, facts.named(name)?)));
    let mut schema = match (known, plain(name)) {
        (Some((facts, type_)), _) => of(facts, type_),
        (None, Some(schema)) => schema,
        (None, None) => elsewhere(name),
    };
    if let (Some(object), Some(words)) = (schema.as_object_mut(), described::description(name)) {
        object.entry("description").or_insert(words.into());
    }
    schema
}

/// Adds a group and version to a kind's list.
pub(super) fn also_of(kinds: &mut Value, group: &str, version: &str) {
    let Some(list) = kinds.as_array_mut() else { return };
    let Some(kind) = list.first().map(|first| first["kind"].clone()) else { return };
    let kind = json!({ "group": group, "kind": kind, "version": version });
    if !list.contains(&kind) {
        list.push(kind);
    }
}

fn version() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        Schema::parse(&[include_str!("types/version.txt")])
            .expect("the table of types is well formed")
    })
}

/// Types that are encoded as something simpler than a struct.
fn plain(name: &str) -> Option<Value> {
    Some(match name.rsplit('.').next()? {
        "Quantity" => json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] }),
        "IntOrString" => {
            json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
        }
        "Time" | "MicroTime" => json!({ "type": "string", "format": "date-time" }),
        "Duration" => json!({ "type": "string" }),
        "FieldsV1" | "Patch" | "RawExtension" => json!({ "type": "object" }),
        "JSON" => json!({}),
        _ => return None,
    })
}

/// A type that only `k8s-openapi` has. Its references name the same schemas; it declares metadata
/// as required, although it is optional.
fn elsewhere(name: &str) -> Value {
    let mut schema = described::type_(name).cloned().unwrap_or_else(|| json!({ "type": "object" }));
    let Some(object) = schema.as_object_mut() else { return schema };
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.retain(|field| field != "metadata");
    }
    object.retain(|key, value| key != "required" || value != &json!([]));
    let is_kind = ["apiVersion", "kind", "metadata"].iter().all(|key| {
        object.get("properties").is_some_and(|properties| properties.get(key).is_some())
    });
    if let (true, Some(kind)) = (is_kind, group_version_kind(name)) {
        object.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    }
    schema
}

fn of(facts: &Schema, type_: &Type) -> Value {
    if type_.either {
        return json!({});
    }
    let fields: Map<String, Value> = type_
        .fields
        .iter()
        .map(|field| (field.name.to_string(), property(facts, type_, field)))
        .collect();
    let required: Vec<Value> =
        type_.fields.iter().filter(|one| one.required).map(|one| (*one.name).into()).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !fields.is_empty() {
        schema.insert("properties".to_owned(), fields.into());
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    if type_.atomic {
        schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    if let Some(unions) = &type_.unions {
        schema.insert("x-kubernetes-unions".to_owned(), unions.clone());
    }
    let says_kind =
        |field: &Field| *field.name == *"kind" && field.via.as_deref() == Some("TypeMeta");
    let is_kind = type_.fields.iter().any(says_kind) || type_.name.ends_with(".meta.v1.WatchEvent");
    if let (true, Some(kind)) = (is_kind, group_version_kind(&type_.name)) {
        schema.insert("x-kubernetes-group-version-kind".to_owned(), kind);
    }
    schema.into()
}

fn property(facts: &Schema, type_: &Type, field: &Field) -> Value {
    let mut said = Map::new();
    if let Some(words) = described::field(&type_.name, &field.name) {
        said.insert("description".to_owned(), words.into());
    }
    if let Some(default) = &field.default {
        said.insert("default".to_owned(), default.clone());
    }
    said.extend(markers(field));
    let mut property = shape(facts, &field.shape, &field.go);
    if property.contains_key("$ref") {
        property = Map::from_iter([("allOf".to_owned(), json!([property]))]);
    }
    property.extend(said);
    property.into()
}

fn markers(field: &Field) -> Map<String, Value> {
    let mut markers = Map::new();
    let mut mark = |name: &str, value: Value| markers.insert(format!("x-kubernetes-{name}"), value);
    if let Some(list) = field.list {
        mark("list-type", list_type(list).into());
    }
    if !field.keys.is_empty() {
        mark("list-map-keys", field.keys.iter().map(|key| &**key).collect());
    }
    if let Some(map) = field.map {
        mark("map-type", if map == MapType::Atomic { "atomic" } else { "granular" }.into());
    }
    if let Some(strategy) = strategy(field.patch) {
        mark("patch-strategy", strategy.into());
    }
    if let Some(key) = &field.merge_key {
        mark("patch-merge-key", (**key).into());
    }
    markers
}

fn list_type(list: ListType) -> &'static str {
    match list {
        ListType::Atomic => "atomic",
        ListType::Set => "set",
        ListType::Map => "map",
    }
}

fn strategy(strategy: PatchStrategy) -> Option<String> {
    let PatchStrategy { merge, replace, retain_keys } = strategy;
    let words = [(merge, "merge"), (replace, "replace"), (retain_keys, "retainKeys")];
    let said: Vec<&str> =
        words.into_iter().filter(|(said, _)| *said).map(|(_, word)| word).collect();
    if said.is_empty() { None } else { Some(said.join(",")) }
}

fn shape(facts: &Schema, shape_: &Shape, go: &str) -> Map<String, Value> {
    let schema = match shape_ {
        Shape::Text(_) => json!({ "type": "string" }),
        Shape::Int32 => json!({ "type": "integer", "format": "int32" }),
        Shape::Int64 => json!({ "type": "integer", "format": "int64" }),
        Shape::Float => json!({ "type": "number", "format": "double" }),
        Shape::Bool => json!({ "type": "boolean" }),
        Shape::Bytes => json!({ "type": "string", "format": "byte" }),
        Shape::Quantity => reference("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        Shape::IntOrString => reference("io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
        Shape::Time => reference(&format!("{META}.Time")),
        Shape::MicroTime => reference(&format!("{META}.MicroTime")),
        Shape::Duration => reference(&format!("{META}.Duration")),
        Shape::Any if go.ends_with("FieldsV1") => reference(&format!("{META}.FieldsV1")),
        Shape::Any if go.ends_with("v1.JSON") => reference(&format!("{EXTENSIONS}.JSON")),
        Shape::Any => reference("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        Shape::List(inner) => json!({ "type": "array", "items": shape(facts, inner, go) }),
        Shape::Map(inner) => {
            json!({ "type": "object", "additionalProperties": shape(facts, inner, go) })
        }
        Shape::Struct(id) | Shape::Either(id) => reference(&facts.of(*id).name),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// A kind's group and version are part of its type's name, except for the suffix of most groups.
fn group_version_kind(name: &str) -> Option<Value> {
    let mut words = name.rsplit('.');
    let (kind, version, package) = (words.next()?, words.next()?, words.next()?);
    let group = match package {
        "core" | "meta" => "",
        "apps" | "autoscaling" | "policy" => package,
        "flowcontrol" => "flowcontrol.apiserver.k8s.io",
        "rbac" => "rbac.authorization.k8s.io",
        "apiextensions" | "authentication" | "authorization" | "coordination" | "discovery"
        | "events" => &format!("{package}.k8s.io"),
        _ => return None,
    };
    Some(json!([{ "group": group, "kind": kind, "version": version }]))
}
