//! The names of a resource, in the spec and as accepted in the status.

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names::dns1035_label,
        read::{list, text},
    },
};

/// Names that the spec must have.
pub(super) fn required(names: &Value, path: &Path) -> Errors {
    let missing = ["plural", "singular", "kind", "listKind"]
        .into_iter()
        .filter(|name| text(names, &[name]).is_empty());
    missing.map(|name| FieldError::required(path.child(name), "")).collect()
}

/// The form of all names that are given.
pub(super) fn validate(names: &Value, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for name in ["plural", "singular"] {
        errors.extend(label(text(names, &[name]), &path.child(name)));
    }
    for name in ["kind", "listKind"] {
        errors.extend(mixed_case(text(names, &[name]), path.child(name)));
    }
    errors.extend(labels(names, "shortNames", path));
    let [kind, list_kind] = ["kind", "listKind"].map(|name| text(names, &[name]));
    if !kind.is_empty() && kind == list_kind {
        let words = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(path.child("listKind"), &json!(list_kind), words));
    }
    errors.extend(labels(names, "categories", path));
    errors
}

fn label(name: &str, path: &Path) -> Option<FieldError> {
    let wrong = if name.is_empty() { Vec::new() } else { dns1035_label(name) };
    let error = || FieldError::invalid(path.clone(), &json!(name), wrong.join(","));
    (!wrong.is_empty()).then(error)
}

fn mixed_case(name: &str, path: Path) -> Option<FieldError> {
    let wrong = if name.is_empty() { Vec::new() } else { dns1035_label(&name.to_lowercase()) };
    let words = "may have mixed case, but should otherwise match: ";
    let error = || FieldError::invalid(path, &json!(name), format!("{words}{}", wrong.join(",")));
    (!wrong.is_empty()).then(error)
}

fn labels(names: &Value, field: &str, path: &Path) -> Errors {
    let mut errors = Errors::new();
    for (i, name) in list(names, &[field]).iter().enumerate() {
        let wrong = dns1035_label(name.as_str().unwrap_or_default());
        if !wrong.is_empty() {
            let path = path.child(field).index(i);
            errors.push(FieldError::invalid(path, name, wrong.join(",")));
        }
    }
    errors
}
