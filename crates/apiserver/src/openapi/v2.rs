//! The document of version 2: all built-in documents of version 3 in the older format.
//!
//! Version 2 has no media types beside schemas (`consumes` and `produces` list them), a body is a
//! parameter, `$ref` may have a description beside it, and a schema has only one type:
//! int-or-string is declared as a string.

use serde_json::{Map, Value, json};

use super::{schemas::also_of, v3};

/// The paths and definitions of everything built in.
pub(super) fn document() -> Value {
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for name in v3::names() {
        let mut document = v3::document(&name);
        for (path, item) in taken(&mut document, "/paths") {
            paths.insert(path, path_item(item));
        }
        for (name, schema) in taken(&mut document, "/components/schemas") {
            define(&mut definitions, name, self::schema(schema));
        }
    }
    json!({ "paths": paths, "definitions": definitions })
}

/// The other fields of the document.
pub(super) fn about() -> Map<String, Value> {
    Map::from_iter([
        ("swagger".to_owned(), "2.0".into()),
        ("info".to_owned(), v3::info()),
        ("securityDefinitions".to_owned(), json!({ "BearerToken": v3::bearer_token() })),
        ("security".to_owned(), json!([{ "BearerToken": [] }])),
    ])
}

/// A type is the same in all documents except for its list of groups.
fn define(definitions: &mut Map<String, Value>, name: String, schema: Value) {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    let Some(present) = definitions.get_mut(&name) else {
        definitions.insert(name, schema);
        return;
    };
    let (Some(kinds), Some(more)) = (present.get_mut(KINDS), schema[KINDS].as_array()) else {
        return;
    };
    for one in more {
        let word = |key: &str| one[key].as_str().unwrap_or_default();
        also_of(kinds, word("group"), word("version"));
    }
}

fn taken(document: &mut Value, pointer: &str) -> Map<String, Value> {
    match document.pointer_mut(pointer).map(Value::take) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

pub(super) fn path_item(item: Value) -> Value {
    let Value::Object(item) = item else { return item };
    let converted = item.into_iter().map(|(key, value)| {
        let value = if key == "parameters" { parameters(value) } else { operation(value) };
        (key, value)
    });
    converted.collect::<Map<_, _>>().into()
}

fn operation(operation: Value) -> Value {
    let Value::Object(mut operation) = operation else { return operation };
    let body = operation.remove("requestBody").unwrap_or_default();
    let mut own = operation.remove("parameters").map_or(json!([]), parameters);
    if let (Some(list), Some(parameter)) = (own.as_array_mut(), body_parameter(&body)) {
        list.insert(0, parameter);
    }
    if own.as_array().is_some_and(|list| !list.is_empty()) {
        operation.insert("parameters".to_owned(), own);
    }
    let consumes = media_types(&body["content"]);
    if !consumes.is_empty() {
        operation.insert("consumes".to_owned(), consumes.into());
    }
    operation.insert(
        "produces".to_owned(),
        media_types(&operation["responses"]["200"]["content"]).into(),
    );
    operation.insert("schemes".to_owned(), json!(["https"]));
    if let Some(Value::Object(responses)) = operation.remove("responses") {
        let responses: Map<String, Value> =
            responses.into_iter().map(|(status, answer)| (status, response(&answer))).collect();
        operation.insert("responses".to_owned(), responses.into());
    }
    operation.into()
}

fn response(response: &Value) -> Value {
    let mut converted = json!({ "description": response["description"] });
    if let Some(schema) = first_schema(&response["content"]) {
        converted["schema"] = schema;
    }
    converted
}

fn body_parameter(body: &Value) -> Option<Value> {
    let mut parameter =
        json!({ "name": "body", "in": "body", "schema": first_schema(&body["content"])? });
    if body["required"] == true {
        parameter["required"] = true.into();
    }
    Some(parameter)
}

fn first_schema(content: &Value) -> Option<Value> {
    let (_, media) = content.as_object()?.iter().next()?;
    Some(schema(media["schema"].clone()))
}

fn media_types(content: &Value) -> Vec<Value> {
    content
        .as_object()
        .map_or(Vec::new(), |content| content.keys().map(|key| key.as_str().into()).collect())
}

/// A parameter's type is beside its name.
fn parameters(parameters: Value) -> Value {
    let Value::Array(list) = parameters else { return parameters };
    let converted = list.into_iter().map(|parameter| {
        let Value::Object(mut parameter) = parameter else { return parameter };
        if let Some(Value::Object(schema)) = parameter.remove("schema") {
            parameter.extend(schema);
        }
        parameter.into()
    });
    converted.collect()
}

fn schema(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    schema.remove("default");
    if schema.remove("oneOf").is_some() {
        schema.insert("type".to_owned(), "string".into());
    }
    if let Some(Value::Array(mut all)) = schema.remove("allOf")
        && let Some(Value::Object(only)) = all.pop()
    {
        schema.extend(only);
    }
    if let Some(Value::String(target)) = schema.get_mut("$ref") {
        *target = target.replacen("#/components/schemas/", "#/definitions/", 1);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(key) {
            *inner = self::schema(inner.take());
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(|inner| *inner = self::schema(inner.take()));
    }
    schema.into()
}
