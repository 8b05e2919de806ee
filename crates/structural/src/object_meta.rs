//! Embedded resources: `x-kubernetes-embedded-resource`.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`. An embedded resource
//! needs `apiVersion` and `kind`; its `metadata` has the fields of ObjectMeta and no others. The
//! names, labels and so on in it are validated by the API server, by the rules for every object:
//! [`Schema::embedded_metadata`] finds them.

use serde_json::{Map, Value};

use crate::{
    error::{Errors, FieldError},
    path::Path,
    schema::Schema,
};

const TEXTS: [&str; 6] =
    ["generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"];
const OTHERS: [&str; 9] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "managedFields",
    "ownerReferences",
];
const OWNER: [&str; 6] = ["apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"];
const MANAGED: [&str; 7] =
    ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"];

impl Schema {
    /// The metadata of the resources embedded in an object, each with its path. The caller checks
    /// them like the metadata of a new object of any name, namespaced if it has a namespace.
    pub fn embedded_metadata<'v>(&self, object: &'v Value) -> Vec<(String, &'v Value)> {
        let mut found = Vec::new();
        each(self, object, &Path::root(""), &mut |path, fields| {
            if let Some(metadata) = fields.get("metadata") {
                found.push((path.child("metadata").to_string(), metadata));
            }
        });
        found
    }
}

/// Lists errors in `apiVersion`, `kind` and the types of `metadata` of embedded resources.
pub(crate) fn check(schema: &Schema, object: &Value, path: &Path<'_>, errors: &mut Errors) {
    each(schema, object, path, &mut |path, fields| check_resource(fields, path, errors));
}

/// Lists errors of a part of an embedded resource, whose type is added if it is not part of it.
pub(crate) fn check_as_resource(part: &mut Value, errors: &mut Errors) {
    let Value::Object(fields) = part else { return };
    for (name, value) in [("apiVersion", "validation/v1"), ("kind", "Validation")] {
        fields.entry(name).or_insert_with(|| value.into());
    }
    check_resource(fields, &Path::root(""), errors);
}

/// Removes what is no field of ObjectMeta, after `note` of its path and name.
pub(crate) fn prune(metadata: &mut Value, path: &Path<'_>, note: &mut dyn FnMut(&Path<'_>, &str)) {
    let Value::Object(fields) = metadata else { return };
    retain(fields, &[&TEXTS[..], &OTHERS[..]], path, note);
    for (name, known) in [("ownerReferences", &OWNER[..]), ("managedFields", &MANAGED[..])] {
        let Some(Value::Array(items)) = fields.get_mut(name) else { continue };
        let path = path.child(name);
        for (index, item) in items.iter_mut().enumerate() {
            if let Value::Object(fields) = item {
                retain(fields, &[known], &path.index(index), note);
            }
        }
    }
}

fn retain(
    fields: &mut Map<String, Value>,
    known: &[&[&str]],
    path: &Path<'_>,
    note: &mut dyn FnMut(&Path<'_>, &str),
) {
    fields.retain(|name, _| {
        let keep = known.iter().any(|known| known.contains(&name.as_str()));
        if !keep {
            note(path, name);
        }
        keep
    });
}

/// Calls `found` with every embedded resource below a value.
fn each<'v>(
    schema: &Schema,
    value: &'v Value,
    path: &Path<'_>,
    found: &mut dyn FnMut(&Path<'_>, &'v Map<String, Value>),
) {
    if !schema.contains.resources {
        return;
    }
    match value {
        Value::Object(fields) => {
            if schema.embedded_resource {
                found(path, fields);
            }
            for (name, value) in fields {
                if let Some(child) = schema.properties.get(name) {
                    each(child, value, &path.child(name), found);
                } else if let Some(child) = schema.additional_properties() {
                    each(child, value, &path.key(name), found);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                each(schema, item, &path.index(index), found);
            }
        }
        _ => {}
    }
}

fn check_resource(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for name in ["apiVersion", "kind"] {
        let path = path.child(name);
        match fields.get(name) {
            None => errors.add(|| FieldError::required(&path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.add(|| FieldError::invalid_text(&path, text, "must not be empty"));
            }
            Some(Value::String(text)) => {
                if let Some(detail) = wrong_type_meta(name, text) {
                    errors.add(|| FieldError::invalid_text(&path, text, detail));
                }
            }
            Some(value) => errors.add(|| FieldError::invalid(&path, value, "must be a string")),
        }
    }
    if let Some(metadata) = fields.get("metadata")
        && let Some(detail) = wrong_metadata(metadata)
    {
        errors.add(|| FieldError::invalid(&path.child("metadata"), metadata, detail));
    }
}

fn wrong_type_meta(name: &str, text: &str) -> Option<String> {
    if name == "apiVersion" {
        let wrong = text.matches('/').count() > 1;
        return wrong.then(|| format!("unexpected GroupVersion string: {text}"));
    }
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push("must be no more than 63 bytes");
    }
    let lower = text.to_lowercase();
    let label = lower.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
    if !(label && lower.starts_with(|c: char| c.is_ascii_lowercase()) && !lower.ends_with('-')) {
        wrong.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character (e.g. \
             'my-name',  or 'abc-123', regex used for validation is \
             '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    let detail = || format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
    (!wrong.is_empty()).then(detail)
}

/// What Go says when it decodes JSON that is no ObjectMeta.
fn wrong_metadata(metadata: &Value) -> Option<String> {
    let Value::Object(fields) = metadata else {
        let detail =
            |name| format!("json: cannot unmarshal {name} into Go value of type v1.ObjectMeta");
        return (!metadata.is_null()).then(|| detail(json_type(metadata)));
    };
    fields.iter().filter(|(_, value)| !value.is_null()).find_map(|(name, value)| {
        let (value, type_) = match name.as_str() {
            name if TEXTS.contains(&name) => (Some(value).filter(|v| !v.is_string()), "string"),
            "generation" | "deletionGracePeriodSeconds" => {
                (Some(value).filter(|value| !value.is_i64()), "int64")
            }
            "labels" | "annotations" => match value {
                Value::Object(values) => {
                    (values.values().find(|v| !v.is_string() && !v.is_null()), "string")
                }
                other => (Some(other), "map[string]string"),
            },
            "finalizers" => match value {
                Value::Array(values) => {
                    (values.iter().find(|v| !v.is_string() && !v.is_null()), "string")
                }
                other => (Some(other), "[]string"),
            },
            "ownerReferences" => (Some(value).filter(|v| !v.is_array()), "[]v1.OwnerReference"),
            "managedFields" => (Some(value).filter(|v| !v.is_array()), "[]v1.ManagedFieldsEntry"),
            _ => (None, ""),
        };
        let found = json_type(value?);
        Some(format!(
            "json: cannot unmarshal {found} into Go struct field ObjectMeta.{name} of type {type_}"
        ))
    })
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests;
