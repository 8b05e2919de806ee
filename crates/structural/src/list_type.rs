//! Lists with `x-kubernetes-list-type`: items of a set and keys of a map are unique.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`. Items are hashed, not
//! compared with each other: linear in the size of the object, times the keys of a map.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
};

use serde_json::{Map, Value};

use crate::{
    error::{Errors, FieldError},
    path::Path,
    schema::{ListType, Schema},
};

/// Number of values of keys that are looked up in one list. Kubernetes has no such limit.
const MOST_LOOKED_UP: usize = 1 << 23;

/// Lists repeated items of sets and keys of maps below an object.
pub(crate) fn check(schema: &Schema, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !schema.contains.list_types {
        return;
    }
    match value {
        Value::Object(fields) => check_fields(schema, fields, path, errors),
        Value::Array(items) => {
            match schema.extensions().list_type {
                Some(ListType::Set) => check_set(items, path, errors),
                Some(ListType::Map) => {
                    check_map(items, &schema.extensions().list_map_keys, path, errors);
                }
                _ => {}
            }
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                check(schema, item, &path.index(index), errors);
            }
        }
        _ => {}
    }
}

fn check_fields(
    schema: &Schema,
    fields: &Map<String, Value>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    if let Some(schema) = schema.additional_properties() {
        for (name, value) in fields {
            check(schema, value, &path.key(name), errors);
        }
    }
    let mut properties = schema.properties.cursor();
    for (name, value) in fields {
        if let Some(schema) = properties.get(name) {
            check(schema, value, &path.child(name), errors);
        }
    }
}

fn check_set(items: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for index in repeated(items.iter().map(Item)) {
        errors.add(|| FieldError::duplicate(&path.index(index), &items[index]));
    }
}

fn check_map(items: &[Value], keys: &[Box<str>], path: &Path<'_>, errors: &mut Errors) {
    let wrong = |item: &Value| !item.is_null() && !item.is_object();
    if let Some(index) = items.iter().position(wrong) {
        let detail = "must be an object for an array of list-type map";
        return errors.add(|| FieldError::invalid(&path.index(index), &items[index], detail));
    }
    if !can_look_up(items, keys) {
        let detail = format!("has more than {MOST_LOOKED_UP} keys");
        return errors.add(|| FieldError::forbidden(path, detail));
    }
    let keys_of = |item| Keys { item, keys };
    for index in repeated(items.iter().map(keys_of)) {
        let key = keys.iter().filter_map(|key| {
            let value = items[index].get(&**key)?;
            Some((String::from(&**key), value.clone()))
        });
        let key = Value::Object(key.collect());
        errors.add(|| FieldError::duplicate(&path.index(index), &key));
    }
}

/// Whether there are few enough keys to look all of them up.
pub(crate) fn can_look_up(items: &[Value], keys: &[Box<str>]) -> bool {
    items.len().saturating_mul(keys.len()) <= MOST_LOOKED_UP
}

/// The index of the second occurrence of each item that occurs more than once.
fn repeated<T: Eq + Hash>(items: impl ExactSizeIterator<Item = T>) -> Vec<usize> {
    if items.len() <= 1 {
        return Vec::new();
    }
    let mut seen = HashMap::with_capacity(items.len());
    let mut repeated = Vec::new();
    for (index, item) in items.enumerate() {
        let times = seen.entry(item).or_insert(0_u32);
        *times = times.saturating_add(1);
        if *times == 2 {
            repeated.push(index);
        }
    }
    repeated
}

/// An item of a set, by its value.
#[derive(Debug)]
pub(crate) struct Item<'a>(pub(crate) &'a Value);

/// An item of a map, by its keys.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    pub(crate) item: &'a Value,
    pub(crate) keys: &'a [Box<str>],
}

impl PartialEq for Item<'_> {
    fn eq(&self, other: &Item<'_>) -> bool {
        self.0 == other.0
    }
}

impl Eq for Item<'_> {}

impl Hash for Item<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<'a> Keys<'a> {
    fn values(&self) -> impl Iterator<Item = Option<&'a Value>> {
        self.keys.iter().map(|key| self.item.get(&**key))
    }
}

impl PartialEq for Keys<'_> {
    fn eq(&self, other: &Keys<'_>) -> bool {
        self.values().eq(other.values())
    }
}

impl Eq for Keys<'_> {}

impl Hash for Keys<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.values().for_each(|value| value.hash(state));
    }
}

#[cfg(test)]
mod tests;
