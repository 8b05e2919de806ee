//! Validation of a definition, in Kubernetes' order and words. Source: `validation/validation.go`.
//!
//! The work is linear in the definition, and so are the errors, whose values are shown as long as
//! they fit.

mod spec;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::spec::spec;
use super::{approval, names};
use crate::{
    custom::conditions::{self, ESTABLISHED},
    invalid::{Errors, FieldError, FieldErrorType, Path, Shown},
    kinds::read::{at, flag, list, text},
};

/// The errors of a new definition.
pub(super) fn create(new: &Value) -> Errors {
    let mut errors = name(new);
    errors.extend(definition(new, None));
    errors
}

/// The errors of an update.
pub(super) fn update(new: &Value, old: &Value) -> Errors {
    definition(new, Some(old))
}

/// The errors of a status.
pub(super) fn status(new: &Value) -> Errors {
    let path = Path::root("status").child("acceptedNames");
    names::validate(at(new, &["status", "acceptedNames"]), &path)
}

fn definition(new: &Value, old: Option<&Value>) -> Errors {
    let mut errors = spec(new, old);
    errors.extend(old.map(|old| immutable(new, old)).unwrap_or_default());
    errors.extend(status(new));
    errors.extend(stored_versions(new));
    errors.extend(approval::validate(new, old));
    errors.extend(preserves_unknown_fields(new, old));
    errors
}

/// The form of the name itself is checked with the rest of the metadata.
fn name(new: &Value) -> Errors {
    let [plural, group] =
        [&["spec", "names", "plural"][..], &["spec", "group"]].map(|path| text(new, path));
    let required = format!("{plural}.{group}");
    let words = "must be spec.names.plural+\".\"+spec.group";
    let wrong = ["generateName", "name"].into_iter().filter(|field| {
        let given = text(new, &["metadata", field]);
        !given.is_empty() && given != required
    });
    let error = |field: &str| {
        let path = Path::root("metadata").child(field);
        FieldError::invalid(path, at(new, &["metadata", field]), words)
    };
    wrong.map(error).collect()
}

/// What determines how objects are stored and found does not change.
fn immutable(new: &Value, old: &Value) -> Errors {
    const ONCE_ESTABLISHED: [&[&str]; 2] = [&["scope"], &["names", "kind"]];
    const ALWAYS: [&[&str]; 2] = [&["group"], &["names", "plural"]];
    let established =
        ONCE_ESTABLISHED.into_iter().filter(|_| conditions::is_true(old, ESTABLISHED));
    let mut errors = Errors::new();
    for path in established.chain(ALWAYS) {
        let [after, before] = [new, old].map(|object| text(at(object, &["spec"]), path));
        if after != before {
            let path = path.iter().fold(Path::root("spec"), |path, name| path.child(name));
            errors.push(FieldError::immutable(path, &json!(after)));
        }
    }
    errors
}

/// Objects may be stored in these versions, so that they must remain.
fn stored_versions(new: &Value) -> Errors {
    let stored = list(new, &["status", "storedVersions"]);
    let path = Path::root("status").child("storedVersions");
    if stored.is_empty() {
        let words = "must have at least one stored version";
        return vec![FieldError::invalid(path, &Value::Null, words)];
    }
    let text_of = |stored: &'_ Value| stored.as_str().unwrap_or_default().to_owned();
    let mut open: BTreeMap<String, usize> =
        stored.iter().enumerate().map(|(i, stored)| (text_of(stored), i)).collect();
    let shown = Shown::new(json!(stored).to_string());
    let mut errors = Errors::new();
    for version in list(new, &["spec", "versions"]) {
        let name = text(version, &["name"]);
        if open.remove(name).is_none() && flag(version, &["storage"]) {
            let type_ = FieldErrorType::Invalid(shown.text());
            let detail = format!("must have the storage version {name}");
            errors.push(FieldError { path: path.clone(), type_, detail });
        }
    }
    let mut missing: Vec<(usize, String)> = open.into_iter().map(|(name, i)| (i, name)).collect();
    missing.sort_unstable();
    errors.extend(missing.into_iter().map(|(i, name)| {
        let words = format!("missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions");
        FieldError::invalid(path.index(i), &json!(name), words)
    }));
    errors
}

fn preserves_unknown_fields(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    let preserves = |object: &Value| flag(object, &["spec", "preserveUnknownFields"]);
    if old.is_some_and(preserves) || !preserves(new) {
        return None;
    }
    let path = Path::root("spec").child("preserveUnknownFields");
    let words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
    Some(FieldError::invalid(path, &json!(true), words))
}
