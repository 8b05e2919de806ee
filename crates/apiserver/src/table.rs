//! Objects as rows of a table, or as metadata only.
//!
//! Source: `k8s.io/apiserver/pkg/endpoints/handlers/response.go`, `pkg/printers`.

pub(crate) mod age;
mod conditions;
pub(crate) mod description;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    custom::CustomColumn,
    kinds::{Column, Kind},
};

/// The column `Name` that most kinds begin with.
pub(crate) const NAME: Column = Column {
    name: "Name",
    type_: "string",
    format: "name",
    priority: 0,
    description: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta#name",
    cell: |object, _| json!(object["metadata"]["name"].as_str().unwrap_or_default()),
};

/// The column `Age`.
pub(crate) const AGE: Column = Column {
    name: "Age",
    type_: "string",
    format: "",
    priority: 0,
    description: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta#creationTimestamp",
    cell: |object, now| json!(age::since(&object["metadata"]["creationTimestamp"], now)),
};

/// The options of a table request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    pub(crate) include_object: IncludeObject,
    /// Omit the column definitions: for all events of a watch except the first.
    pub(crate) no_headers: bool,
    /// `v1` or `v1beta1`, of `meta.k8s.io`.
    pub(crate) version: &'static str,
}

/// What a row includes of its object: the query's `includeObject`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

/// A Table of these objects. `list_meta` is the list's metadata, or `{"resourceVersion": …}` of a
/// single object.
pub(crate) fn table(
    kind: &Kind,
    objects: &[Value],
    options: TableOptions,
    list_meta: &Value,
    now: Timestamp,
) -> Value {
    let columns = match options.no_headers {
        true => Value::Null,
        false => definitions(kind),
    };
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{}", options.version),
        "metadata": list_meta,
        "columnDefinitions": columns,
        "rows": objects.iter().map(|object| row(kind, object, options, now)).collect::<Vec<_>>(),
    })
}

/// The row of one object.
pub(crate) fn row(kind: &Kind, object: &Value, options: TableOptions, now: Timestamp) -> Value {
    let mut row =
        json!({"cells": cells(kind, object, now), "object": included(kind, object, options)});
    if let Some(conditions) = conditions::of(&kind.group, &kind.kind, object) {
        row["conditions"] = conditions;
    }
    row
}

/// An object's metadata as a PartialObjectMetadata.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

/// A list of metadata, without its items.
pub(crate) fn partial_list(list_meta: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": list_meta,
    })
}

// === impl IncludeObject ===

impl IncludeObject {
    /// Parses the query parameter; the error is the message of the 400.
    pub(crate) fn parse(text: &str) -> Result<IncludeObject, String> {
        match text {
            "None" => Ok(IncludeObject::None),
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            _ => Err(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', or empty",
                crate::invalid::quoted(text)
            )),
        }
    }
}

fn definitions(kind: &Kind) -> Value {
    match &kind.custom {
        Some(custom) => {
            let own = custom.columns.iter().map(CustomColumn::definition);
            std::iter::once(definition(&NAME)).chain(own).collect()
        }
        None => kind.columns.iter().map(definition).collect(),
    }
}

fn cells(kind: &Kind, object: &Value, now: Timestamp) -> Vec<Value> {
    match &kind.custom {
        Some(custom) => {
            let own = custom.columns.iter().map(|column| column.cell(object, now));
            std::iter::once((NAME.cell)(object, now)).chain(own).collect()
        }
        None => kind.columns.iter().map(|column| (column.cell)(object, now)).collect(),
    }
}

fn definition(column: &Column) -> Value {
    json!({
        "name": column.name,
        "type": column.type_,
        "format": column.format,
        "description": description::text(column.description),
        "priority": column.priority,
    })
}

fn included(kind: &Kind, object: &Value, options: TableOptions) -> Value {
    match options.include_object {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => partial(object, options.version),
        IncludeObject::Object => typed(kind, object),
    }
}

/// The object with its kind and version, which list items lack.
fn typed(kind: &Kind, object: &Value) -> Value {
    let mut fields: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    fields.insert("kind".to_owned(), json!(kind.kind));
    fields.insert("apiVersion".to_owned(), json!(kind.api_version()));
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
