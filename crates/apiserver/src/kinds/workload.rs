//! Common parts of Deployments, ReplicaSets and DaemonSets: a pod template, a selector that must
//! match it, a status of counts.

pub(crate) mod columns;
pub(crate) mod percent;
#[cfg(test)]
mod recorded;
pub(crate) mod scale;
pub(crate) mod selector;

use evenkeel_model::labels::LabelSelector;
use serde_json::{Value, json};

use super::{
    names,
    pod::{self, equal::same, validate},
    read::{at, carry_over, entry, list, number, text},
};
use crate::invalid::{Errors, FieldError, FieldErrorType, Path};

/// Sets the defaults of the template's pod spec.
pub(crate) fn default_template(object: &mut Value) {
    pod::defaults::spec(entry(object, &["spec", "template", "spec"]));
}

/// Sets a field of the spec if it is absent.
pub(crate) fn default_field(object: &mut Value, name: &str, value: Value) {
    let field = entry(object, &["spec", name]);
    if field.is_null() {
        *field = value;
    }
}

/// A new object starts at generation 1, without a status.
pub(crate) fn prepare_create(object: &mut Value) {
    *entry(object, &["metadata", "generation"]) = json!(1);
    *entry(object, &["status"]) = json!({});
}

/// A write of the object does not change its status.
pub(crate) fn keep_status(new: &mut Value, old: &Value) {
    carry_over(new, old, &["status"]);
    carry_over(new, old, &["metadata", "generation"]);
}

/// A write of the status does not change the rest.
pub(crate) fn keep_spec(new: &mut Value, old: &Value) {
    carry_over(new, old, &["spec"]);
    carry_over(new, old, &["metadata", "generation"]);
}

pub(crate) fn differs(new: &Value, old: &Value, path: &[&str]) -> bool {
    !same(at(new, path), at(old, path))
}

pub(crate) fn raise_generation(new: &mut Value, old: &Value) {
    let generation = number(old, &["metadata", "generation"]).unwrap_or_default() + 1;
    *entry(new, &["metadata", "generation"]) = json!(generation);
}

/// Whether the write changed anything that warnings depend on.
pub(crate) fn generation_changed(new: &Value, old: &Value) -> bool {
    let generation = |object: &Value| number(object, &["metadata", "generation"]);
    generation(new) != generation(old)
}

/// The selector and the template of a Deployment or a ReplicaSet.
pub(crate) fn validate_template(errors: &mut Errors, object: &Value) {
    let path = Path::root("spec");
    let given = &object["spec"]["selector"];
    if given.is_object() {
        validate::label_selector(errors, given, &path.child("selector"));
        if is_empty(given) {
            let detail = "empty selector is invalid for deployment";
            errors.push(selector_error(given, detail));
        }
    } else {
        errors.push(FieldError::required(path.child("selector"), ""));
    }
    match selector::compiled(given) {
        Some(parsed) => {
            if !parsed.is_empty() {
                fits(errors, &parsed, object);
            }
            let path = path.child("template");
            errors.extend(validate::template(&object["spec"]["template"], &path));
            always_restarts(errors, object, "ReplicaSet");
        }
        None => errors.push(selector_error(given, "invalid label selector")),
    }
}

pub(crate) fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object().is_none_or(serde_json::Map::is_empty);
    labels && list(selector, &["matchExpressions"]).is_empty()
}

pub(crate) fn selector_error(selector: &Value, detail: &str) -> FieldError {
    let path = Path::root("spec").child("selector");
    FieldError {
        path,
        type_: FieldErrorType::Invalid(selector::printed(selector)),
        detail: detail.to_owned(),
    }
}

/// The labels of the template must match.
pub(crate) fn fits(errors: &mut Errors, selector: &LabelSelector, object: &Value) {
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    if !selector.matches(labels) {
        let path = Path::root("spec").child("template").child("metadata").child("labels");
        let message = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(path, labels, message));
    }
}

pub(crate) fn always_restarts(errors: &mut Errors, object: &Value, kind: &str) {
    let path = Path::root("spec").child("template").child("spec");
    let spec = at(object, &["spec", "template", "spec"]);
    let policy = text(spec, &["restartPolicy"]);
    if policy != "Always" {
        let path = path.child("restartPolicy");
        errors.push(FieldError::not_supported(path, &json!(policy), &["Always"]));
    }
    if !spec["activeDeadlineSeconds"].is_null() {
        let message = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(FieldError::forbidden(path.child("activeDeadlineSeconds"), message));
    }
}

/// The selector is immutable.
pub(crate) fn immutable_selector(errors: &mut Errors, new: &Value, old: &Value) {
    if differs(new, old, &["spec", "selector"]) {
        errors.push(selector_error(&new["spec"]["selector"], "field is immutable"));
    }
}

/// Numbers under `parent` that must not be negative. Absent means zero.
pub(crate) fn nonnegative(errors: &mut Errors, object: &Value, parent: &str, names: &[&str]) {
    for name in names {
        let value = number(object, &[parent, name]).unwrap_or_default();
        validate::nonnegative(errors, value, &Path::root(parent).child(name));
    }
}

/// Counts of replicas must not exceed the total, nor available ones the ready ones.
pub(crate) fn counts(errors: &mut Errors, object: &Value, parts: &[&str]) {
    let count = |name: &str| number(object, &["status", name]).unwrap_or_default();
    let path = Path::root("status");
    for name in parts.iter().filter(|name| count(name) > count("replicas")) {
        let message = "cannot be greater than status.replicas";
        errors.push(FieldError::invalid(path.child(name), &json!(count(name)), message));
    }
    if count("availableReplicas") > count("readyReplicas") {
        let available = json!(count("availableReplicas"));
        let message = "cannot be greater than readyReplicas";
        errors.push(FieldError::invalid(path.child("availableReplicas"), &available, message));
    }
}

/// The collision count must not decrease.
pub(crate) fn collisions(errors: &mut Errors, new: &Value, old: &Value) {
    let count = |object: &Value| number(object, &["status", "collisionCount"]);
    let Some(before) = count(old) else { return };
    let after = count(new).unwrap_or_default();
    if count(new).is_none() || after < before {
        let path = Path::root("status").child("collisionCount");
        errors.push(FieldError::invalid(path, &json!(after), "cannot be decremented"));
    }
}

/// Warnings about a new name, and about a new or changed template.
pub(crate) fn warnings(object: &Value, named: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let wrong = names::dns1123_label(text(object, &["metadata", "name"]));
    if named && !wrong.is_empty() {
        warnings.push(format!("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]", wrong.join(" ")));
    }
    let path = Path::root("spec").child("template");
    warnings.extend(pod::warnings::of(&object["spec"]["template"], &path));
    warnings
}

#[cfg(test)]
mod tests;
