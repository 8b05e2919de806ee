//! Recorded scenarios, with strategies run over them without a server.

use std::{collections::BTreeMap, fs};

use serde_json::{Map, Value, json};

use super::{
    Admission, KINDS, KindRef, Part, Subresource, namespace,
    read::{entry, list, text},
};
use crate::{
    invalid::{Errors, FieldError},
    settings::Features,
};

/// An admission context for strategies that need nothing from it.
pub(crate) fn admission() -> Admission {
    Admission {
        now: "2020-01-01T00:00:00Z".parse().expect("a time"),
        features: Features::default(),
    }
}

pub(crate) fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(FieldError::to_string).collect()
}

/// All scenarios of a file.
pub(crate) fn scenarios(file: &str) -> Vec<Value> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/apiserver");
    let lines = fs::read_to_string(format!("{root}/{file}.jsonl")).expect("recorded scenarios");
    lines.lines().map(|line| serde_json::from_str(line).expect("a scenario")).collect()
}

pub(crate) fn scenario(file: &str, id: &str) -> Value {
    let found = scenarios(file).into_iter().find(|scenario| scenario["id"] == id);
    found.unwrap_or_else(|| panic!("no scenario {id} in {file}"))
}

/// The kind, name and subresource of a path.
fn place(path: &str) -> Option<(&'static KindRef, String, String, &str)> {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version) = match parts.first()? {
        &"api" => ("", parts.get(1)?.to_owned()),
        _ => (*parts.get(1)?, parts.get(2)?.to_owned()),
    };
    parts.drain(..if group.is_empty() { 2 } else { 3 });
    let mut namespace = "";
    if parts.first() == Some(&"namespaces") && parts.len() > 2 && !SUBRESOURCES.contains(&parts[2])
    {
        namespace = parts[1];
        parts.drain(..2);
    }
    let fits = |kind: &&&KindRef| {
        let place = (group, version, *parts.first().unwrap_or(&""));
        (&*kind.group, &*kind.version, &*kind.plural) == place
    };
    let kind = KINDS.iter().find(fits).filter(|kind| RUN.contains(&&*kind.plural))?;
    let name = parts.get(1).unwrap_or(&"").to_string();
    Some((kind, namespace.to_owned(), name, parts.get(2).copied().unwrap_or("")))
}

const SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Kinds whose strategy alone determines the response; others need pools or a schema.
const RUN: [&str; 7] =
    ["configmaps", "events", "leases", "namespaces", "nodes", "secrets", "serviceaccounts"];

fn body(request: &Value) -> Value {
    let repeat = &request["body_repeat"];
    let Some(count) = repeat["count"].as_u64() else {
        return request["body"].clone();
    };
    let [prefix, unit, suffix] = ["prefix", "unit", "suffix"].map(|part| text(repeat, &[part]));
    let units = unit.repeat(usize::try_from(count).expect("a small count"));
    serde_json::from_str(&format!("{prefix}{units}{suffix}")).expect("a repeated body")
}

/// Removes metadata set by the server and zero values that Go prints.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), pruned(value)));
            let is_zero = |value: &Value| {
                [json!(null), json!(""), json!(0), json!({}), json!([])].contains(value)
            };
            Value::Object(kept.filter(|(_, value)| !is_zero(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        other => other.clone(),
    }
}

fn comparable(object: &Value) -> Value {
    let mut object = pruned(object);
    if let Some(metadata) = entry(&mut object, &["metadata"]).as_object_mut() {
        for field in
            ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "namespace"]
        {
            metadata.remove(field);
        }
    }
    object
}

fn merged(mut object: Value, patch: &Value) -> Value {
    let Some(patch) = patch.as_object() else {
        return patch.clone();
    };
    for (field, value) in patch {
        let place = entry(&mut object, &[field]);
        *place = merged(place.take(), value);
    }
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// The strategies of the kinds, and the objects they were applied to.
#[derive(Default)]
struct Bench {
    stored: BTreeMap<String, Value>,
    compared: usize,
}

impl Bench {
    fn step(&mut self, step: &Value) {
        let request = &step["request"];
        let path = text(request, &["path"]);
        let Some((kind, namespace, name, subresource)) = place(path) else {
            return;
        };
        let body = &body(request);
        let name = if name.is_empty() { text(body, &["metadata", "name"]) } else { &name };
        let key = format!("{}/{}/{namespace}/{name}", kind.group, kind.plural);
        let content = text(request, &["content_type"]);
        match (text(request, &["method"]), content) {
            ("POST", _) if body.is_object() && !name.is_empty() => {
                self.create(kind, &key, &namespace, body.clone(), step);
            }
            ("PUT", _) if self.stored.contains_key(&key) => {
                self.update(kind, &key, subresource, body.clone(), step);
            }
            ("PATCH", "application/merge-patch+json") if self.stored.contains_key(&key) => {
                let new = merged(self.stored[&key].clone(), body);
                self.update(kind, &key, subresource, new, step);
            }
            ("DELETE", _) if kind.plural == "namespaces" && self.stored.contains_key(&key) => {
                let object = self.stored.get_mut(&key).expect("is stored");
                namespace::terminate(object, admission().now);
            }
            // Other patches are not applied here; their recorded result is used.
            ("PATCH", _) if step["response"]["body"]["metadata"]["name"] == name => {
                self.stored.insert(key, step["response"]["body"].clone());
            }
            _ => {}
        }
    }

    fn create(
        &mut self,
        kind: &KindRef,
        key: &str,
        namespace: &str,
        mut object: Value,
        step: &Value,
    ) {
        if kind.namespaced {
            *entry(&mut object, &["metadata", "namespace"]) = json!(namespace);
        }
        let at = admission();
        kind.strategy.default(&mut object, &at);
        kind.strategy.prepare_create(&mut object, &at);
        let errors = kind.strategy.validate_create(&object, &at);
        self.compare(step, &object, &errors);
        if errors.is_empty() {
            self.stored.insert(key.to_owned(), object);
        }
    }

    fn update(
        &mut self,
        kind: &KindRef,
        key: &str,
        subresource: &str,
        mut new: Value,
        step: &Value,
    ) {
        let at = admission();
        let old = self.stored[key].clone();
        *entry(&mut new, &["metadata", "namespace"]) = old["metadata"]["namespace"].clone();
        kind.strategy.default(&mut new, &at);
        let errors = if subresource == "finalize" {
            let Some(Subresource::Finalize(edit)) = kind.subresource(subresource) else {
                panic!("{} has no finalize", kind.kind)
            };
            (edit.prepare)(&mut new, &old);
            (edit.validate)(&new, &old)
        } else {
            let part = if subresource == "status" { Part::Status } else { Part::Main };
            kind.strategy.prepare_update(part, &mut new, &old, &at);
            kind.strategy.validate_update(part, &new, &old, &at)
        };
        self.compare(step, &new, &errors);
        if errors.is_empty() {
            self.stored.insert(key.to_owned(), new);
        }
    }

    fn compare(&mut self, step: &Value, object: &Value, errors: &Errors) {
        let (request, response) = (&step["request"], &step["response"]);
        if response["status"] == 422 {
            let causes: Vec<Value> = errors
                .iter()
                .map(|error| {
                    let (field, reason) = (error.path.to_string(), error.reason());
                    json!({"field": field, "message": error.message(), "reason": reason})
                })
                .collect();
            let recorded = &response["body"]["details"]["causes"];
            if !list(recorded, &[]).iter().all(|cause| cause["field"] != "metadata.resourceVersion")
            {
                return;
            }
            assert_eq!(&json!(causes), recorded, "{request}");
            self.compared += 1;
        } else if [json!(200), json!(201)].contains(&response["status"]) {
            assert!(errors.is_empty(), "{request}: {:?}", texts(errors));
            let whole = step["compare"].is_null() && response["body"]["kind"] == object["kind"];
            if whole {
                assert_eq!(comparable(object), comparable(&response["body"]), "{request}");
                self.compared += 1;
            }
        }
    }
}

#[test]
fn objects_come_out_as_recorded() {
    let mut compared = 0;
    for file in ["kinds", "verbs"] {
        for scenario in scenarios(file) {
            let mut bench = Bench::default();
            for step in list(&scenario, &["steps"]) {
                bench.step(step);
            }
            compared += bench.compared;
        }
    }
    assert!(compared >= 30, "only {compared} answers were compared");
}

#[test]
fn merging_takes_nulls_away() {
    let object = merged(json!({"a": 1, "b": {"c": 2}}), &json!({"a": null, "b": {"d": 3}}));
    assert_eq!(object, json!({"b": {"c": 2, "d": 3}}));
    assert_eq!(pruned(&Value::Object(Map::new())), json!({}));
}
