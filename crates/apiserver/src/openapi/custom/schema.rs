//! The schema of a version as Kubernetes publishes it, from the `openAPIV3Schema` that is stored.
//!
//! Sources: `apiextensions-apiserver/pkg/apiserver/schema/{kubeopenapi,unfold}.go` and, for what
//! version 2 can't express, `pkg/controller/openapi/v2/conversion.go`. Each node is visited once;
//! the stack is bounded by the nesting of stored objects.

use serde_json::{Map, Value, json};

use super::{CONVENTIONS, OpenApi, type_properties};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The schema of objects, with the fields that all kinds have.
pub(super) fn published(schema: &Value, openapi: OpenApi) -> Map<String, Value> {
    let is_open = openapi == OpenApi::V2 && schema[PRESERVE] == true;
    if is_open || !schema.is_object() {
        // Old clients refuse all fields that are not listed, so none may be.
        return Map::from_iter([("type".to_owned(), "object".into())]);
    }
    let mut schema = structural(schema, openapi);
    let properties = properties(&mut schema);
    properties.insert("metadata".to_owned(), openapi.object_metadata());
    properties.extend(type_properties());
    schema
}

/// A node that describes structure: the root, and all below it except for those of `allOf` and
/// the like.
fn structural(schema: &Value, openapi: OpenApi) -> Map<String, Value> {
    let mut out = node(schema, openapi, structural);
    match openapi {
        OpenApi::V2 => restrict(&mut out, schema),
        OpenApi::V3 if schema[INT_OR_STRING] == true => unfold(&mut out),
        OpenApi::V3 => {}
    }
    if schema[EMBEDDED] == true && !(openapi == OpenApi::V2 && schema[PRESERVE] == true) {
        embed(&mut out, openapi);
    }
    out
}

/// A node below `allOf` and the like, which only restricts values.
fn restriction(schema: &Value, openapi: OpenApi) -> Map<String, Value> {
    node(schema, openapi, restriction)
}

type Convert = fn(&Value, OpenApi) -> Map<String, Value>;

fn node(schema: &Value, openapi: OpenApi, below: Convert) -> Map<String, Value> {
    let fields = schema.as_object().into_iter().flatten();
    let kept =
        fields.filter_map(|(key, value)| Some((key.clone(), field(key, value, openapi, below)?)));
    kept.collect()
}

/// The value of a field, if it is published: nothing that is empty is, nor unknown fields.
fn field(key: &str, value: &Value, openapi: OpenApi, below: Convert) -> Option<Value> {
    let is_v2 = openapi == OpenApi::V2;
    match key {
        "allOf" | "anyOf" | "oneOf" | "not" | "nullable" | "default" if is_v2 => None,
        "description"
        | "title"
        | "type"
        | "format"
        | "pattern"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => {
            value.as_str().is_some_and(|text| !text.is_empty()).then(|| value.clone())
        }
        "nullable" | "exclusiveMaximum" | "exclusiveMinimum" | "uniqueItems" | PRESERVE
        | EMBEDDED | INT_OR_STRING => (value == true).then(|| value.clone()),
        "maximum" | "minimum" | "multipleOf" | "maxLength" | "minLength" | "maxItems"
        | "minItems" | "maxProperties" | "minProperties" => {
            value.is_number().then(|| value.clone())
        }
        "default" | "example" => (!value.is_null()).then(|| value.clone()),
        "externalDocs" => value.is_object().then(|| value.clone()),
        "enum" | "required" | "x-kubernetes-list-map-keys" | "x-kubernetes-validations" => {
            value.as_array().is_some_and(|list| !list.is_empty()).then(|| value.clone())
        }
        "allOf" | "anyOf" | "oneOf" => {
            let list = value.as_array().filter(|list| !list.is_empty())?;
            Some(list.iter().map(|one| restriction(one, openapi)).collect())
        }
        "not" => value.is_object().then(|| restriction(value, openapi).into()),
        "items" => value.is_object().then(|| below(value, openapi).into()),
        "properties" => {
            let named = value.as_object().filter(|named| !named.is_empty())?;
            let named = named.iter().map(|(name, one)| (name.clone(), below(one, openapi).into()));
            Some(named.collect::<Map<_, Value>>().into())
        }
        "additionalProperties" => match value {
            Value::Object(_) => Some(below(value, openapi).into()),
            Value::Bool(_) => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Version 2 knows neither null nor values without a type beside fields, and old clients refuse
/// everything that is not listed.
fn restrict(out: &mut Map<String, Value>, schema: &Value) {
    let (is_nullable, is_open) = (schema["nullable"] == true, schema[PRESERVE] == true);
    if is_nullable || is_open {
        out.remove("items");
        out.remove("properties");
    }
    let is =
        |out: &Map<String, Value>, type_: &str| out.get("type").is_some_and(|one| one == type_);
    let is_any_list = is(out, "array") && !out.contains_key("items");
    if is_nullable || is_any_list || is_open && is(out, "object") {
        out.remove("type");
    }
    if schema["additionalProperties"]["nullable"] == true {
        out.remove("required");
    }
    let may_be_null = |name: &Value| {
        let property = name.as_str().map(|name| &schema["properties"][name]);
        property.is_some_and(|property| property["nullable"] == true)
    };
    if let Some(Value::Array(required)) = out.get_mut("required")
        && !(is_nullable || is_open)
    {
        required.retain(|name| !may_be_null(name));
        if required.is_empty() {
            out.remove("required");
        }
    }
}

/// States the types of int-or-string, unless the definition does.
fn unfold(out: &mut Map<String, Value>) {
    let either = json!([{ "type": "integer" }, { "type": "string" }]);
    let all = out.get("allOf").and_then(Value::as_array);
    let first = all.and_then(|all| all.first()).and_then(|first| first.get("anyOf"));
    match out.get("anyOf") {
        Some(any) if *any == either => {}
        _ if first == Some(&either) => {}
        None => drop(out.insert("anyOf".to_owned(), either)),
        Some(_) => {
            let rest = out.remove("allOf");
            let mut all = vec![json!({ "anyOf": either })];
            all.extend(rest.as_ref().and_then(Value::as_array).into_iter().flatten().cloned());
            out.insert("allOf".to_owned(), all.into());
        }
    }
}

/// The fields of every object, in an object within another.
fn embed(out: &mut Map<String, Value>, openapi: OpenApi) {
    let version = format!(
        "apiVersion defines the versioned schema of this representation of an object. \
         More info: {CONVENTIONS}#resources"
    );
    let kind = format!(
        "kind is a string value representing the type of this object. In CamelCase. \
         More info: {CONVENTIONS}#types-kinds"
    );
    let properties = properties(out);
    for (name, words) in [("apiVersion", version), ("kind", kind)] {
        let property = json!({ "type": "string", "description": words });
        properties.insert(name.to_owned(), property);
    }
    properties.insert("metadata".to_owned(), openapi.object_metadata());
    if let Value::Array(required) = out.entry("required").or_insert_with(|| json!([])) {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|one| one == name) {
                required.push(name.into());
            }
        }
    }
}

/// The properties of a schema; there are some after this.
fn properties(schema: &mut Map<String, Value>) -> &mut Map<String, Value> {
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    properties.as_object_mut().expect("an object was inserted")
}
