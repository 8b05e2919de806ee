//! Small checks shared by many fields.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{list, number, text},
    },
};

/// One error for each message about a text.
pub(crate) fn invalid(errors: &mut Errors, value: &str, path: &Path, wrong: Vec<String>) {
    errors.extend(
        wrong.into_iter().map(|words| FieldError::invalid(path.clone(), &json!(value), words)),
    );
}

pub(super) fn number_invalid(errors: &mut Errors, value: i64, path: &Path, wrong: Vec<String>) {
    errors.extend(
        wrong.into_iter().map(|words| FieldError::invalid(path.clone(), &json!(value), words)),
    );
}

/// A field that is checked if it is not empty.
pub(super) fn filled(
    errors: &mut Errors,
    value: &Value,
    name: &str,
    path: &Path,
    check: fn(&str) -> Vec<String>,
) {
    let content = text(value, &[name]);
    if !content.is_empty() {
        invalid(errors, content, &path.child(name), check(content));
    }
}

/// A field that must have one of a few values.
pub(crate) fn one_of(errors: &mut Errors, value: &str, path: &Path, supported: &[&str]) {
    if value.is_empty() {
        errors.push(FieldError::required(path.clone(), ""));
    } else if !supported.contains(&value) {
        errors.push(FieldError::not_supported(path.clone(), &json!(value), supported));
    }
}

pub(crate) fn nonnegative(errors: &mut Errors, value: i64, path: &Path) {
    if value < 0 {
        let message = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.clone(), &json!(value), message));
    }
}

pub(super) fn positive(errors: &mut Errors, value: i64, path: &Path) {
    if value <= 0 {
        errors.push(FieldError::invalid(path.clone(), &json!(value), "must be greater than zero"));
    }
}

pub(super) fn address(errors: &mut Errors, value: &str, path: &Path) {
    invalid(errors, value, path, names::legacy_ip(value));
}

/// A relative path that stays below its start.
pub(super) fn descending_path(errors: &mut Errors, target: &str, path: &Path) {
    if target.starts_with('/') {
        errors.push(FieldError::invalid(path.clone(), &json!(target), "must be a relative path"));
    }
    no_backsteps(errors, target, path);
}

pub(super) fn no_backsteps(errors: &mut Errors, target: &str, path: &Path) {
    if target.split('/').any(|part| part == "..") {
        errors.push(FieldError::invalid(path.clone(), &json!(target), "must not contain '..'"));
    }
}

pub(super) fn texts<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    list(value, &[name]).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// A user id for file ownership, if one is given.
pub(super) fn id_range(errors: &mut Errors, value: &Value, name: &str, path: &Path) {
    if let Some(id) = number(value, &[name]) {
        number_invalid(errors, id, &path.child(name), names::in_range(id, 0, i64::from(i32::MAX)));
    }
}
