//! A validator for the schemas here, as slow and plain as it can be. It fails at a keyword that it
//! does not know, so that none is left out of the comparison.

use std::sync::LazyLock;

use evenkeel_fairness::dialect::stored::ObjectKind;
use evenkeel_k8s::custom::definitions;
use kube_cel::Validator;
use regex::Regex;
use serde_json::{Map, Value};

/// The schema of a kind.
pub(super) struct Schema(Value);

impl Schema {
    pub(super) fn of(kind: ObjectKind) -> &'static Schema {
        static SCHEMAS: LazyLock<Vec<(String, Schema)>> = LazyLock::new(|| {
            let of = |definition: Value| {
                let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
                let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
                (kind, Schema(schema.clone()))
            };
            definitions().into_iter().map(of).collect()
        });
        &SCHEMAS.iter().find(|(name, _)| name == kind.name()).unwrap().1
    }

    /// As the server would store it: without fields that the schema does not have and without nulls,
    /// and with default values.
    pub(super) fn stored(&self, object: &Value) -> Value {
        let mut stored = object.clone();
        store(&self.0["properties"]["spec"], &mut stored["spec"]);
        stored
    }
}

fn store(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else { return };
            // Null is no value, except of a field that may be null.
            fields.retain(|name, value| {
                let known = known.get(name);
                known.is_some_and(|schema| !value.is_null() || schema["nullable"] == true)
            });
            for (name, schema) in known {
                if let Some(default) = schema.get("default") {
                    fields.entry(name.clone()).or_insert_with(|| default.clone());
                }
            }
            fields.iter_mut().for_each(|(name, value)| store(&known[name], value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| store(&schema["items"], item)),
        _ => {}
    }
}

/// `path: keyword` or `path: message of a rule`.
pub(super) fn problems(schema: &Schema, object: &Value) -> Vec<String> {
    let object = schema.stored(object);
    let mut problems = Vec::new();
    check(&schema.0["properties"]["spec"], &object["spec"], "spec", &mut problems);
    if problems.is_empty() {
        // In Kubernetes `has()` is false for null.
        let mut object = object;
        drop_nulls(&mut object);
        let rules = Validator::new().validate(&schema.0, &object, None).err();
        let rules = rules.map(kube_cel::ValidationErrors::into_vec).unwrap_or_default();
        problems
            .extend(rules.iter().map(|error| format!("{}: {}", error.field_path, error.message)));
    }
    problems
}

fn check(schema: &Value, value: &Value, path: &str, problems: &mut Vec<String>) {
    let keywords = schema.as_object().unwrap();
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let before = problems.len();
    for (keyword, wanted) in keywords {
        if let Some(at) = violated(keyword, wanted, value) {
            problems.push(format!("{path}{at}: {keyword}"));
        }
    }
    if problems.len() > before {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let schema = &schema["properties"][name];
                check(schema, value, &format!("{path}.{name}"), problems);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{i}]"), problems);
            }
        }
        _ => {}
    }
}

/// Where below the value, if the value is not as wanted.
fn violated(keyword: &str, wanted: &Value, value: &Value) -> Option<String> {
    let number = || value.as_f64().zip(wanted.as_f64());
    let length = || Some((value.as_str()?.chars().count() as u64, wanted.as_u64()?));
    let is_violated = match keyword {
        "type" => match wanted.as_str().unwrap() {
            "object" => !value.is_object(),
            "array" => !value.is_array(),
            "string" => !value.is_string(),
            "boolean" => !value.is_boolean(),
            "integer" => !value.is_i64() && !value.is_u64(),
            other => panic!("a type that this test does not know: {other}"),
        },
        "minimum" => number().is_some_and(|(value, wanted)| value < wanted),
        "maximum" => number().is_some_and(|(value, wanted)| value > wanted),
        "minLength" => length().is_some_and(|(length, wanted)| length < wanted),
        "maxLength" => length().is_some_and(|(length, wanted)| length > wanted),
        "pattern" => {
            let regex = Regex::new(wanted.as_str().unwrap()).unwrap();
            value.as_str().is_some_and(|text| !regex.is_match(text))
        }
        "required" => {
            let fields = value.as_object().cloned().unwrap_or_else(Map::new);
            let names = wanted.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            let mut missing = names.filter(|name| !fields.contains_key(*name));
            return missing.next().map(|name| format!(".{name}"));
        }
        "oneOf" => {
            let fits = |one: &&Value| {
                let one = one.as_object().unwrap();
                one.iter().all(|(keyword, wanted)| violated(keyword, wanted, value).is_none())
            };
            wanted.as_array().unwrap().iter().filter(fits).count() != 1
        }
        "description"
        | "default"
        | "format"
        | "items"
        | "nullable"
        | "properties"
        | "x-kubernetes-validations" => false,
        other => panic!("a keyword that this test does not know: {other}"),
    };
    is_violated.then(String::new)
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
