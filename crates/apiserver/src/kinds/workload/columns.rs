//! Columns of kinds with a pod template.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::selector;
use crate::kinds::{
    Column,
    read::{at, entries, list, text},
};

pub(crate) const CONTAINERS: Column = Column {
    name: "Containers",
    type_: "string",
    format: "",
    priority: 1,
    description: "Names of each container in the template.",
    cell: |object, _| json!(joined(&object["spec"]["template"], "name")),
};

pub(crate) const IMAGES: Column = Column {
    name: "Images",
    type_: "string",
    format: "",
    priority: 1,
    description: "Images referenced by each container in the template.",
    cell: |object, _| json!(joined(&object["spec"]["template"], "image")),
};

/// The last column, whose description is that of the kind's own field.
pub(crate) const fn selector(
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { name: "Selector", type_: "string", format: "", priority: 1, description, cell }
}

/// A column with a number.
pub(crate) const fn integer(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { name, type_: "integer", format: "", priority: 0, description, cell }
}

/// The selector as text, `<none>` for an empty one.
pub(crate) fn selector_or_none(object: &Value) -> String {
    match selector::compiled(at(object, &["spec", "selector"])) {
        None => "<error>".to_owned(),
        Some(selector) => or_none(selector.to_string()),
    }
}

/// Labels as `key=value` pairs, `<none>` if there are none.
pub(crate) fn labels_or_none(labels: &Value) -> String {
    let pairs = entries(labels, &[])
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    or_none(pairs.collect::<Vec<_>>().join(","))
}

/// A field of all containers of a template.
pub(crate) fn joined(template: &Value, field: &str) -> String {
    let containers = list(template, &["spec", "containers"]);
    containers.iter().map(|container| text(container, &[field])).collect::<Vec<_>>().join(",")
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}
