//! Pruning: fields that the schema does not specify are removed, and named.
//!
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning`. Below
//! `x-kubernetes-preserve-unknown-fields` nothing is removed, until a field with a schema that does
//! not preserve; `apiVersion`, `kind` and `metadata` of the object and of embedded resources stay.
//! Of the metadata of an embedded resource, what is no field of ObjectMeta is removed
//! (`pkg/apiserver/schema/objectmeta`). One pass over the object; paths are made for the first
//! [`MOST_NAMED`] fields only.

use serde_json::{Map, Value};

use crate::{
    object_meta,
    path::Path,
    schema::{Cursor, Schema},
};

/// Number of removed fields that are named; Kubernetes' limit on the warnings of a request is near.
const MOST_NAMED: usize = 100;

impl Schema {
    /// Removes fields that this schema, that of a whole resource, does not specify. Returns the
    /// paths of the first 100 of them, sorted: `spec.foo`, `spec.list[0].foo`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut pruned = Pruned::default();
        prune(object, Some(self), true, &Path::root(""), &mut pruned);
        pruned.named.sort_unstable();
        pruned.named
    }

    /// Whether [`Schema::prune`] of a value of this schema, embedded or not, would remove nothing.
    pub(crate) fn is_pruned(&self, value: &Value) -> bool {
        let mut pruned = Pruned::default();
        prune(
            &mut value.clone(),
            Some(self),
            self.embedded_resource,
            &Path::root("x"),
            &mut pruned,
        );
        !pruned.any
    }
}

#[derive(Debug, Default)]
struct Pruned {
    any: bool,
    named: Vec<String>,
}

pub(crate) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

fn prune(
    value: &mut Value,
    schema: Option<&Schema>,
    is_resource: bool,
    path: &Path<'_>,
    pruned: &mut Pruned,
) {
    match value {
        Value::Object(fields) => prune_fields(fields, schema, is_resource, path, pruned),
        Value::Array(items) => {
            // The preservation of unknown fields extends to items without a schema.
            if let Some(schema) = schema
                && schema.preserves_unknown_fields()
            {
                return preserve_items(items, schema, path, pruned);
            }
            let schema = schema.and_then(Schema::items);
            for (index, item) in items.iter_mut().enumerate() {
                let embedded = schema.is_some_and(|schema| schema.embedded_resource);
                prune(item, schema, embedded, &path.index(index), pruned);
            }
        }
        _ => {}
    }
}

fn preserve_items(items: &mut [Value], schema: &Schema, path: &Path<'_>, pruned: &mut Pruned) {
    let Some(schema) = schema.items() else { return };
    for (index, item) in items.iter_mut().enumerate() {
        let path = path.index(index);
        match item {
            Value::Object(fields) => {
                preserve_fields(fields, schema, schema.embedded_resource, &path, pruned);
            }
            Value::Array(items) => preserve_items(items, schema, &path, pruned),
            _ => {}
        }
    }
}

fn preserve_fields(
    fields: &mut Map<String, Value>,
    schema: &Schema,
    is_resource: bool,
    path: &Path<'_>,
    pruned: &mut Pruned,
) {
    let mut properties = schema.properties.cursor();
    for (name, value) in fields.iter_mut() {
        if is_resource && is_meta(name) {
            prune_meta(name, value, path, pruned);
        } else if let Specified::By(child) = specified(schema, &mut properties, name) {
            let embedded = child.is_some_and(|child| child.embedded_resource);
            prune(value, child, embedded, &path.child(name), pruned);
        }
    }
}

fn prune_fields(
    fields: &mut Map<String, Value>,
    schema: Option<&Schema>,
    is_resource: bool,
    path: &Path<'_>,
    pruned: &mut Pruned,
) {
    let Some(schema) = schema else {
        fields.keys().for_each(|name| pruned.note(path, name));
        return fields.clear();
    };
    if schema.preserves_unknown_fields() {
        return preserve_fields(fields, schema, is_resource, path, pruned);
    }
    let mut properties = schema.properties.cursor();
    fields.retain(|name, value| {
        if is_resource && is_meta(name) {
            prune_meta(name, value, path, pruned);
            return true;
        }
        let Specified::By(child) = specified(schema, &mut properties, name) else {
            pruned.note(path, name);
            return false;
        };
        let embedded = child.is_some_and(|child| child.embedded_resource);
        prune(value, child, embedded, &path.child(name), pruned);
        true
    });
}

/// Metadata of the resource itself is the API server's; that of an embedded resource is pruned here.
fn prune_meta(name: &str, value: &mut Value, path: &Path<'_>, pruned: &mut Pruned) {
    if name == "metadata" && !path.is_root() {
        let path = path.child("metadata");
        object_meta::prune(value, &path, &mut |path, name| pruned.note(path, name));
    }
}

enum Specified<'a> {
    By(Option<&'a Schema>),
    No,
}

fn specified<'a>(schema: &'a Schema, properties: &mut Cursor<'a>, name: &str) -> Specified<'a> {
    match properties.get(name) {
        Some(child) => Specified::By(Some(child)),
        None if schema.additional_properties.is_some() => {
            Specified::By(schema.additional_properties())
        }
        None => Specified::No,
    }
}

impl Pruned {
    fn note(&mut self, path: &Path<'_>, name: &str) {
        self.any = true;
        if self.named.len() < MOST_NAMED {
            self.named.push(path.child(name).to_string());
        }
    }
}

#[cfg(test)]
mod tests;
