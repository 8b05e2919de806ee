//! Columns of `kubectl get nodes`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{
    Column,
    read::{entries, flag, list, text},
};
use crate::table;

pub(super) const COLUMNS: &[Column] = &[
    table::NAME,
    Column {
        name: "Status",
        description: "The status of the node",
        cell: |o, _| status(o),
        ..PLAIN
    },
    Column { name: "Roles", description: "The roles of the node", cell: |o, _| roles(o), ..PLAIN },
    table::AGE,
    Column {
        name: "Version",
        description: "io.k8s.api.core.v1.NodeSystemInfo#kubeletVersion",
        cell: |object, _| json!(info(object, "kubeletVersion")),
        ..PLAIN
    },
    Column {
        name: "Internal-IP",
        description: "io.k8s.api.core.v1.NodeStatus#addresses",
        cell: |object, _| address(object, "InternalIP"),
        ..WIDE
    },
    Column {
        name: "External-IP",
        description: "io.k8s.api.core.v1.NodeStatus#addresses",
        cell: |object, _| address(object, "ExternalIP"),
        ..WIDE
    },
    Column {
        name: "OS-Image",
        description: "io.k8s.api.core.v1.NodeSystemInfo#osImage",
        cell: |object, _| json!(or_unknown(info(object, "osImage"))),
        ..WIDE
    },
    Column {
        name: "Kernel-Version",
        description: "io.k8s.api.core.v1.NodeSystemInfo#kernelVersion",
        cell: |object, _| kernel(object),
        ..WIDE
    },
    Column {
        name: "Container-Runtime",
        description: "io.k8s.api.core.v1.NodeSystemInfo#containerRuntimeVersion",
        cell: |object, _| json!(or_unknown(info(object, "containerRuntimeVersion"))),
        ..WIDE
    },
];

const PLAIN: Column = Column {
    name: "",
    type_: "string",
    format: "",
    priority: 0,
    description: "",
    cell: |_, _| Value::Null,
};

const WIDE: Column = Column { priority: 1, ..PLAIN };

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE: &str = "kubernetes.io/role";

fn status(object: &Value) -> Value {
    let conditions = list(object, &["status", "conditions"]);
    let ready = conditions.iter().rfind(|condition| condition["type"] == "Ready");
    let mut words = match ready.map(|condition| condition["status"] == "True") {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if flag(object, &["spec", "unschedulable"]) {
        words.push_str(",SchedulingDisabled");
    }
    json!(words)
}

fn roles(object: &Value) -> Value {
    let role = |(key, value): (&'_ str, &'_ Value)| -> Option<String> {
        let role = match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => role,
            None if key == ROLE => value.as_str()?,
            None => return None,
        };
        (!role.is_empty()).then(|| role.to_owned())
    };
    let roles: BTreeSet<String> =
        entries(object, &["metadata", "labels"]).filter_map(role).collect();
    if roles.is_empty() {
        return json!("<none>");
    }
    json!(roles.into_iter().collect::<Vec<_>>().join(","))
}

fn address(object: &Value, type_: &str) -> Value {
    let addresses = list(object, &["status", "addresses"]);
    let found = addresses.iter().find(|address| address["type"] == type_);
    json!(found.map_or("<none>", |address| text(address, &["address"])))
}

fn kernel(object: &Value) -> Value {
    let version = or_unknown(info(object, "kernelVersion"));
    match info(object, "architecture") {
        "" => json!(version),
        architecture => json!(format!("{version} ({architecture})")),
    }
}

fn info<'a>(object: &'a Value, field: &str) -> &'a str {
    text(object, &["status", "nodeInfo", field])
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "<unknown>" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_node() {
        let now = "2020-01-01T00:02:00Z".parse().unwrap();
        let node = json!({
            "metadata": {
                "name": "n",
                "creationTimestamp": "2020-01-01T00:00:00Z",
                "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "control"},
            },
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "amd64"},
            },
        });
        let cells: Vec<Value> = COLUMNS.iter().map(|column| (column.cell)(&node, now)).collect();
        assert_eq!(
            json!(cells),
            json!([
                "n",
                "Ready,SchedulingDisabled",
                "control,worker",
                "2m",
                "v1.37.0",
                "10.0.0.1",
                "<none>",
                "<unknown>",
                "6.1 (amd64)",
                "<unknown>",
            ])
        );
        let bare = json!({"metadata": {"name": "n"}});
        let cells: Vec<Value> = COLUMNS.iter().map(|column| (column.cell)(&bare, now)).collect();
        assert_eq!(
            json!(cells),
            json!([
                "n",
                "Unknown",
                "<none>",
                "<unknown>",
                "",
                "<none>",
                "<none>",
                "<unknown>",
                "<unknown>",
                "<unknown>",
            ])
        );
    }
}
