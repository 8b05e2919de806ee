//! `x-kubernetes-list-type` and `x-kubernetes-list-map-keys`.
//!
//! Source: `ValidateCustomResourceDefinitionOpenAPISchema` and `validateMapListKeysMapSet` in
//! `k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Tolerance, openapi::wrong_type};
use crate::{
    error::{Errors, FieldError, FieldErrorType},
    path::Path,
    schema::{Items, ListType, Schema, Type},
};

pub(super) fn check(schema: &Schema, path: &Path<'_>, tolerance: Tolerance, errors: &mut Errors) {
    let extensions = schema.extensions();
    let list_type = extensions.list_type.as_ref();
    if list_type.is_some() && schema.type_ != Type::Array {
        let detail = "must be array if x-kubernetes-list-type is specified";
        errors.add(|| wrong_type(schema, path, detail));
    } else if let Some(name) = non_atomic_item(schema).filter(|_| !tolerance.non_atomic_sets) {
        let items = path.child("items");
        // Kubernetes prints the list type in either case.
        let value = schema.items().and_then(|items| items.extensions().list_type.as_ref());
        let value = value.map_or(Value::Null, |type_| type_.as_str().into());
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        errors.add(|| FieldError::invalid(&items.child(name), &value, detail));
    }
    let at = path.child("x-kubernetes-list-type");
    if let Some(ListType::Other(type_)) = list_type {
        errors.add(|| FieldError::not_supported(&at, type_, &["atomic", "set", "map"]));
    }
    if !extensions.list_map_keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.add(|| FieldError::required(&at, detail)),
            Some(ListType::Map) => {}
            Some(other) => errors.add(|| FieldError::invalid_text(&at, other.as_str(), detail)),
        }
    }
    if list_type == Some(&ListType::Map) {
        check_map(schema, path, errors);
    }
    if !tolerance.invalid_map_keys {
        check_keys(schema, path, errors);
    }
}

/// The extension that makes the items of a set not atomic.
pub(super) fn non_atomic_item(schema: &Schema) -> Option<&'static str> {
    let items = schema.items().filter(|_| schema.extensions().list_type == Some(ListType::Set))?;
    let extensions = items.extensions();
    match items.type_ {
        Type::Array if !matches!(extensions.list_type, None | Some(ListType::Atomic)) => {
            Some("x-kubernetes-list-type")
        }
        Type::Object if extensions.map_type.as_deref() != Some("atomic") => {
            Some("x-kubernetes-map-type")
        }
        _ => None,
    }
}

fn check_map(schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    let keys = &schema.extensions().list_map_keys;
    let keys_at = path.child("x-kubernetes-list-map-keys");
    if keys.is_empty() {
        let detail = "must not be empty if x-kubernetes-list-type is map";
        errors.add(|| FieldError::required(&keys_at, detail));
    }
    let items_at = path.child("items");
    let items = match schema.items.as_deref() {
        None => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            return errors.add(|| FieldError::required(&items_at, detail));
        }
        Some(Items::Schemas(_)) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            let type_ = FieldErrorType::Invalid(String::new());
            return errors.add(|| FieldError::new(&items_at, type_, detail));
        }
        Some(Items::Schema(items)) => items,
    };
    if items.type_ != Type::Object {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        let path = items_at.child("type");
        return errors.add(|| FieldError::invalid_text(&path, items.type_.as_str(), detail));
    }
    let properties = items_at.child("properties");
    let all = || json!(keys.iter().map(|key| &**key).collect::<Vec<&str>>());
    let mut seen = HashSet::new();
    for key in keys {
        match items.properties.get(key).map(|property| &property.type_) {
            Some(Type::Array | Type::Object) => {
                let detail =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let path = properties.key(key);
                let path = path.child("type");
                errors.add(|| FieldError::invalid_text(&path, "object", detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.add(|| FieldError::invalid(&keys_at, &all(), detail));
            }
        }
        if !seen.insert(key) {
            let detail = "must not contain duplicate entries";
            errors.add(|| FieldError::invalid(&keys_at, &all(), detail));
        }
    }
}

/// Items of sets and maps, and the keys of maps, must have a value.
pub(super) fn check_keys(schema: &Schema, path: &Path<'_>, errors: &mut Errors) {
    let extensions = schema.extensions();
    let Some(list_type @ (ListType::Set | ListType::Map)) = &extensions.list_type else { return };
    let Some(items) = schema.items() else { return };
    let items_at = path.child("items");
    if items.nullable {
        let detail =
            format!("cannot be nullable when x-kubernetes-list-type is {}", list_type.as_str());
        errors.add(|| FieldError::forbidden(&items_at.child("nullable"), detail));
    }
    if *list_type != ListType::Map {
        return;
    }
    let required: HashSet<&str> = items.values().required.iter().map(|name| &**name).collect();
    let properties = items_at.child("properties");
    for key in &extensions.list_map_keys {
        let Some(property) = items.properties.get(key) else { continue };
        let path = properties.key(key);
        if !required.contains(&**key) && property.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.add(|| FieldError::required(&path.child("default"), detail));
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.add(|| FieldError::forbidden(&path.child("nullable"), detail));
        }
    }
}
