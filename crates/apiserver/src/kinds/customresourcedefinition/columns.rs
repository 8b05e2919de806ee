//! The columns of `kubectl get`. Source: `tableconvertor.go` of the kind's registry.

use serde_json::{Value, json};

use crate::{
    custom::conditions::{self, ESTABLISHED},
    kinds::{
        Column,
        read::{flag, list, text},
    },
    table::NAME,
};

pub(super) const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Scope",
        type_: "string",
        format: "",
        priority: 0,
        description: "Cluster/Namespaced",
        cell: |object, _| json!(text(object, &["spec", "scope"])),
    },
    Column {
        name: "Versions",
        type_: "string",
        format: "",
        priority: 0,
        description: "Served versions",
        cell: |object, _| json!(versions(object)),
    },
    Column {
        name: "Created At",
        type_: "date",
        format: "",
        priority: 0,
        description: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta#creationTimestamp",
        cell: |object, _| json!(text(object, &["metadata", "creationTimestamp"])),
    },
    Column {
        name: "Group",
        type_: "string",
        format: "",
        priority: 1,
        description: "API group",
        cell: |object, _| json!(text(object, &["spec", "group"])),
    },
    Column {
        name: "Kind",
        type_: "string",
        format: "",
        priority: 1,
        description: "CustomResource kind",
        cell: |object, _| json!(text(object, &["spec", "names", "kind"])),
    },
    Column {
        name: "ShortNames",
        type_: "string",
        format: "",
        priority: 1,
        description: "Short names",
        cell: |object, _| json!(joined(list(object, &["spec", "names", "shortNames"]))),
    },
    Column {
        name: "Established",
        type_: "boolean",
        format: "",
        priority: 1,
        description: "Established status",
        cell: |object, _| json!(conditions::is_true(object, ESTABLISHED)),
    },
];

/// The served versions, the stored one marked.
fn versions(object: &Value) -> String {
    let served =
        list(object, &["spec", "versions"]).iter().filter(|version| flag(version, &["served"]));
    let mut labels: Vec<String> = served
        .map(|version| {
            let mark = if flag(version, &["storage"]) { "(storage)" } else { "" };
            format!("{}{mark}", text(version, &["name"]))
        })
        .collect();
    labels.sort_unstable();
    labels.join(",")
}

fn joined(names: &[Value]) -> String {
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    names.join(",")
}
