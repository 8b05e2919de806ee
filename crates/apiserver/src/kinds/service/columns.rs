//! Columns of `kubectl get services`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::facts::{cluster_ips, external_ips, ports, service_type};
use crate::{
    kinds::{
        Column,
        read::{at, entries, list, text},
    },
    table::age::since,
};

pub(super) const COLUMNS: &[Column] = &[
    Column {
        name: "Name",
        type_: "string",
        format: "name",
        priority: 0,
        description: "Unique among the Services of a namespace.",
        cell: |service, _| json!(text(service, &["metadata", "name"])),
    },
    column("Type", 0, "How the Service is exposed.", |service, _| json!(service_type(service))),
    column("Cluster-IP", 0, "The address within the cluster.", cluster_ip),
    column("External-IP", 0, "Addresses from outside the cluster.", |service, _| {
        json!(external_ip(service))
    }),
    column("Port(s)", 0, "Ports and the protocols they speak.", |service, _| {
        json!(or_none(ports(service).iter().map(port)))
    }),
    column("Age", 0, "The time since it was created.", |service, now| {
        json!(since(at(service, &["metadata", "creationTimestamp"]), now))
    }),
    column("Selector", 1, "Labels of the Pods behind the Service.", selector),
];

const fn column(
    name: &'static str,
    priority: u8,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { name, type_: "string", format: "", priority, description, cell }
}

fn cluster_ip(service: &Value, _: Timestamp) -> Value {
    json!(cluster_ips(service).first().unwrap_or(&"<none>"))
}

fn external_ip(service: &Value) -> String {
    let given = external_ips(service).into_iter().map(str::to_owned);
    match service_type(service) {
        "ClusterIP" | "NodePort" => or_none(given),
        "LoadBalancer" => {
            let all: Vec<String> = balancers(service).into_iter().chain(given).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn balancers(service: &Value) -> BTreeSet<String> {
    let ingress = list(service, &["status", "loadBalancer", "ingress"]);
    let shown = ingress.iter().map(|ingress| match text(ingress, &["ip"]) {
        "" => text(ingress, &["hostname"]).to_owned(),
        ip => ip.to_owned(),
    });
    shown.filter(|name| !name.is_empty()).collect()
}

fn port(port: &Value) -> String {
    let number = port["port"].as_i64().unwrap_or_default();
    let protocol = text(port, &["protocol"]);
    match port["nodePort"].as_i64() {
        Some(node) if node > 0 => format!("{number}:{node}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn selector(service: &Value, _: Timestamp) -> Value {
    let labels = entries(service, &["spec", "selector"]);
    let pairs = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    json!(or_none(pairs))
}

fn or_none(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "<none>".to_owned() } else { parts.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_as_kubectl_shows_them() {
        let now: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
        let service = json!({
            "metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:01Z"},
            "spec": {
                "type": "LoadBalancer", "clusterIPs": ["10.96.0.7"], "selector": {"b": "2", "a": "1"},
                "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30080}, {"port": 53, "protocol": "UDP"}],
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb.example.com"}]}},
        });
        let cells: Vec<Value> = COLUMNS.iter().map(|column| (column.cell)(&service, now)).collect();
        assert_eq!(
            json!(cells),
            json!([
                "web",
                "LoadBalancer",
                "10.96.0.7",
                "1.2.3.4,lb.example.com",
                "80:30080/TCP,53/UDP",
                "119s",
                "a=1,b=2"
            ])
        );
        let bare = json!({"spec": {"type": "ClusterIP"}});
        let cells: Vec<Value> = COLUMNS.iter().map(|column| (column.cell)(&bare, now)).collect();
        assert_eq!(
            json!(cells),
            json!(["", "ClusterIP", "<none>", "<none>", "<none>", "<unknown>", "<none>"])
        );
    }
}
