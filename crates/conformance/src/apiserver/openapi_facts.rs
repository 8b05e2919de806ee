//! Properties of a real server's OpenAPI documents: paths with their operations, documents,
//! schemas. Each is compared with the served document.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Where a schema may be: types used by several groups are in the first of them.
const DOCUMENTS: [&str; 9] = [
    "api/v1",
    "apis/apps/v1",
    "apis/discovery.k8s.io/v1",
    "apis/coordination.k8s.io/v1",
    "apis/events.k8s.io/v1",
    "apis/authentication.k8s.io/v1",
    "apis/rbac.authorization.k8s.io/v1",
    "apis/flowcontrol.apiserver.k8s.io/v1",
    "apis/apiextensions.k8s.io/v1",
];

/// Checks one property. `fetch` returns the JSON at a path, and may be called repeatedly.
pub(crate) fn check(
    fact: &Value,
    fetch: &mut dyn FnMut(&str) -> Result<Value, String>,
) -> Result<(), String> {
    match text(fact, "kind") {
        "path" => path(fact, &fetch(&address(text(fact, "group_version")))?),
        "document" => document(fact, &fetch(&address(text(fact, "group_version")))?),
        "schema" => schema(fact, fetch),
        other => Err(format!("no fact is of kind {other:?}")),
    }
}

fn address(document: &str) -> String {
    format!("/openapi/v3/{document}")
}

fn path(fact: &Value, document: &Value) -> Result<(), String> {
    let item = &document["paths"][text(fact, "path")];
    let Value::Object(of_path) = item else {
        return Err("the path is not in the document".to_owned());
    };
    let operations = of_path.iter().filter(|(key, _)| *key != "parameters");
    let methods: Map<String, Value> = operations
        .map(|(method, operation)| (method.clone(), facts_of(operation, &item["parameters"])))
        .collect();
    same("methods", &fact["methods"], &methods.into())
}

/// An operation in the recorded form.
fn facts_of(operation: &Value, of_path: &Value) -> Value {
    let parameters =
        [&operation["parameters"], of_path].into_iter().filter_map(Value::as_array).flatten();
    let query = parameters.filter(|one| one["in"] == "query").map(|one| text(one, "name"));
    let answers = operation["responses"].as_object().into_iter().flatten();
    let answer_types = answers.flat_map(|(_, answer)| keys(&answer["content"]));
    json!({
        "action": operation["x-kubernetes-action"],
        "request_types": keys(&operation["requestBody"]["content"]),
        "response_types": answer_types.collect::<BTreeSet<_>>(),
        "query": query.collect::<BTreeSet<_>>(),
        "statuses": keys(&operation["responses"]),
    })
}

/// Only the paths of some kinds were recorded: there may be others.
fn document(fact: &Value, document: &Value) -> Result<(), String> {
    same("openapi", &fact["openapi"], &document["openapi"])?;
    same("top_level_keys", &fact["top_level_keys"], &json!(keys(document)))?;
    same("component_keys", &fact["component_keys"], &json!(keys(&document["components"])))?;
    let kept = fact["paths_kept"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = kept.filter(|path| document["paths"][path].is_null()).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("paths are missing: {}", missing.join(", ")))
    }
}

fn schema(
    fact: &Value,
    fetch: &mut dyn FnMut(&str) -> Result<Value, String>,
) -> Result<(), String> {
    let name = text(fact, "schema");
    for document in DOCUMENTS {
        let Ok(document) = fetch(&address(document)) else { continue };
        let schema = &document["components"]["schemas"][name];
        if !schema.is_null() {
            return compare_schema(fact, schema);
        }
    }
    Err("no document has the schema".to_owned())
}

fn compare_schema(fact: &Value, schema: &Value) -> Result<(), String> {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    same("properties", &fact["properties"], &json!(keys(&schema["properties"])))?;
    same("required", &json!(sorted(&fact["required"])), &json!(sorted(&schema["required"])))?;
    same("group_version_kind", &fact["group_version_kind"], &schema[KINDS])?;
    let fields = schema["properties"].as_object().into_iter().flatten();
    let annotated = fields.map(|(name, field)| (name.clone(), extensions(field)));
    let annotated: Map<String, Value> = annotated
        .filter(|(_, said)| !said.is_empty())
        .map(|(name, said)| (name, said.into()))
        .collect();
    same("annotated_fields", &fact["annotated_fields"], &annotated.into())?;
    let mut own = extensions(schema);
    own.remove(KINDS);
    let own = if own.is_empty() { Value::Null } else { own.into() };
    same("extensions", &fact["extensions"], &own)
}

fn extensions(schema: &Value) -> Map<String, Value> {
    let all = schema.as_object().into_iter().flatten();
    all.filter(|(key, _)| key.starts_with("x-"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn same(what: &str, recorded: &Value, ours: &Value) -> Result<(), String> {
    if recorded == ours {
        return Ok(());
    }
    Err(format!("{what}: recorded {recorded}, ours {ours}"))
}

/// The keys of an object; serde_json keeps them sorted.
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

fn sorted(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    /// A small served document.
    fn served() -> Value {
        json!({
            "openapi": "3.0.0",
            "info": {},
            "components": { "schemas": { "io.k8s.api.core.v1.Secret": {
                "required": ["b", "a"],
                "properties": { "a": { "x-kubernetes-list-type": "atomic" }, "b": {} },
                "x-kubernetes-map-type": "atomic",
            } } },
            "paths": { "/api/v1/secrets": {
                "get": {
                    "x-kubernetes-action": "list",
                    "parameters": [{ "in": "query", "name": "limit" }, { "in": "path", "name": "name" }],
                    "responses": { "200": { "content": { "application/json": {} } }, "401": {} },
                },
                "parameters": [{ "in": "query", "name": "continue" }],
            } },
        })
    }

    fn path_fact() -> Value {
        json!({ "kind": "path", "group_version": "api/v1", "path": "/api/v1/secrets", "methods": { "get": {
            "action": "list", "request_types": [], "response_types": ["application/json"],
            "query": ["continue", "limit"], "statuses": ["200", "401"],
        } } })
    }

    fn schema_fact() -> Value {
        json!({ "kind": "schema", "schema": "io.k8s.api.core.v1.Secret", "required": ["a", "b"],
                "properties": ["a", "b"], "annotated_fields": { "a": { "x-kubernetes-list-type": "atomic" } },
                "extensions": { "x-kubernetes-map-type": "atomic" } })
    }

    fn document_fact() -> Value {
        json!({ "kind": "document", "group_version": "api/v1", "openapi": "3.0.0",
                "top_level_keys": ["components", "info", "openapi", "paths"],
                "component_keys": ["schemas"], "paths_kept": ["/api/v1/secrets"] })
    }

    fn checked(fact: &Value) -> Result<(), String> {
        check(fact, &mut |path| match path {
            "/openapi/v3/api/v1" => Ok(served()),
            other => Err(format!("{other} is not found")),
        })
    }

    #[test]
    fn facts_that_hold_pass() {
        for fact in [path_fact(), schema_fact(), document_fact()] {
            assert_eq!(checked(&fact), Ok(()), "{fact}");
        }
    }

    #[test]
    fn every_part_of_a_fact_counts() {
        let changes = [
            (path_fact(), "/path", json!("/api/v1/pods")),
            (path_fact(), "/group_version", json!("api/v2")),
            (path_fact(), "/methods/get/action", json!("get")),
            (path_fact(), "/methods/get/request_types", json!(["*/*"])),
            (path_fact(), "/methods/get/response_types", json!([])),
            (path_fact(), "/methods/get/query", json!(["limit"])),
            (path_fact(), "/methods/get/statuses", json!(["200"])),
            (path_fact(), "/methods", json!({})),
            (schema_fact(), "/schema", json!("io.k8s.api.core.v1.Pod")),
            (schema_fact(), "/required", json!(["a"])),
            (schema_fact(), "/properties", json!(["a"])),
            (schema_fact(), "/annotated_fields", json!({})),
            (schema_fact(), "/extensions", json!({})),
            (document_fact(), "/openapi", json!("3.0.1")),
            (document_fact(), "/top_level_keys", json!([])),
            (document_fact(), "/component_keys", json!([])),
            (document_fact(), "/paths_kept", json!(["/api/v1/pods"])),
            (document_fact(), "/kind", json!("else")),
        ];
        for (mut fact, pointer, value) in changes {
            *fact.pointer_mut(pointer).unwrap() = value;
            assert!(checked(&fact).is_err(), "{pointer}");
        }
    }
}
