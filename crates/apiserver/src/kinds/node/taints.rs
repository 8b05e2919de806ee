//! Taints: each combination of key and effect is unique, with or without a value.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{
    names,
    read::{at, text},
};
use crate::invalid::{Errors, FieldError, FieldErrorType, Path, quoted};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

pub(super) fn validate(taints: &[Value], path: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        errors.extend(wrong_taint(taint, &path));
        if !seen.insert(["key", "effect"].map(|field| text(taint, &[field]))) {
            errors.push(FieldError {
                path,
                type_: FieldErrorType::Duplicate(printed(taint)),
                detail: "taints must be unique by key and effect pair".to_owned(),
            });
        }
    }
    errors
}

fn wrong_taint(taint: &Value, path: &Path) -> Errors {
    let [key, value, effect] = ["key", "value", "effect"].map(|field| text(taint, &[field]));
    let invalid = |words| FieldError::invalid(path.child("key"), &json!(key), words);
    let mut errors: Errors = names::qualified_name(key).into_iter().map(invalid).collect();
    let wrong = names::label_value(value);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path.child("value"), &json!(value), wrong.join(";")));
    }
    let path = path.child("effect");
    match effect {
        "" => errors.push(FieldError::required(path, "")),
        _ if EFFECTS.contains(&effect) => {}
        _ => errors.push(FieldError::not_supported(path, &json!(effect), &EFFECTS)),
    }
    errors
}

/// As Go prints its internal struct, which has different names and field order.
fn printed(taint: &Value) -> String {
    let [key, value, effect] =
        ["key", "value", "effect"].map(|field| quoted(text(taint, &[field])));
    let added = at(taint, &["timeAdded"]);
    format!(r#"{{"Key":{key},"Value":{value},"Effect":{effect},"TimeAdded":{added}}}"#)
}
