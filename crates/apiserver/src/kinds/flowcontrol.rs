//! What FlowSchemas and PriorityLevelConfigurations have in common: a spec that the fairness crate
//! reads, defaults and validates, and a status of conditions.
//!
//! Source: `pkg/registry/flowcontrol` of Kubernetes.

use std::collections::BTreeSet;

use evenkeel_fairness::dialect::kubernetes::{self, BadValue, FieldErrorKind};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    Part,
    read::{at, carry_over, entry, list, text},
    workload,
};
use crate::invalid::{Errors, FieldError, FieldErrorType, Path, quoted};

pub(super) const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// Fills in what is absent in the spec. What can't be read is left to the validation.
pub(super) fn default_spec<S>(object: &mut Value, set_defaults: fn(&mut S))
where
    S: Default + DeserializeOwned + Serialize,
{
    let spec = entry(object, &["spec"]);
    let read = if spec.is_null() { Ok(S::default()) } else { S::deserialize(&*spec) };
    if let Ok(mut read) = read {
        set_defaults(&mut read);
        if let Ok(defaulted) = serde_json::to_value(&read) {
            *spec = defaulted;
        }
    }
}

/// The generation follows the spec, and the status has a write of its own.
pub(super) fn prepare_update<S: DeserializeOwned>(
    part: Part,
    new: &mut Value,
    old: &Value,
    same: fn(&S, &S) -> bool,
) {
    if part == Part::Status {
        return keep_all_but_status(new, old);
    }
    workload::keep_status(new, old);
    let [after, before] = [&*new, old].map(|object| S::deserialize(at(object, &["spec"])));
    let is_same = matches!((after, before), (Ok(after), Ok(before)) if same(&after, &before));
    if !is_same {
        workload::raise_generation(new, old);
    }
}

/// A write of the status changes no label either.
fn keep_all_but_status(new: &mut Value, old: &Value) {
    const OWN: [&str; 2] = ["managedFields", "resourceVersion"];
    carry_over(new, old, &["spec"]);
    let mut metadata = at(old, &["metadata"]).clone();
    for name in OWN {
        carry_over(&mut metadata, at(new, &["metadata"]), &[name]);
    }
    *entry(new, &["metadata"]) = metadata;
}

/// The errors of the object without its status.
pub(super) fn validate<T: DeserializeOwned>(
    object: &Value,
    validate: fn(&T) -> Vec<kubernetes::FieldError>,
) -> Errors {
    match T::deserialize(object) {
        Ok(object) => validate(&object).into_iter().map(field_error).collect(),
        Err(error) => {
            let (path, type_) = (Path::root("spec"), FieldErrorType::Internal);
            vec![FieldError { path, type_, detail: error.to_string() }]
        }
    }
}

/// Conditions have distinct types.
pub(super) fn validate_status(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (i, condition) in list(object, &["status", "conditions"]).iter().enumerate() {
        let type_ = text(condition, &["type"]);
        let path = || Path::root("status").child("conditions").index(i).child("type");
        if !seen.insert(type_) {
            errors.push(FieldError::duplicate(path(), &json!(type_)));
        }
        if type_.is_empty() {
            errors.push(FieldError::required(path(), ""));
        }
    }
    errors
}

fn field_error(error: kubernetes::FieldError) -> FieldError {
    let value = match error.value {
        BadValue::None => String::new(),
        BadValue::Text(text) => quoted(&text),
        BadValue::Json(json) => json,
    };
    let type_ = match error.kind {
        FieldErrorKind::Invalid => FieldErrorType::Invalid(value),
        FieldErrorKind::NotSupported => FieldErrorType::NotSupported(value),
        FieldErrorKind::Required => FieldErrorType::Required,
        FieldErrorKind::Forbidden => FieldErrorType::Forbidden,
    };
    let detail = if error.declared { String::new() } else { error.detail };
    FieldError { path: Path::root(&error.field), type_, detail }
}
