//! Columns of `kubectl get endpointslices`.

use serde_json::{Value, json};

use crate::{
    kinds::{
        Column,
        read::{at, list, text},
    },
    table::age::since,
};

/// How many ports or addresses a cell lists before it only counts them.
const SHOWN: usize = 3;

pub(super) const COLUMNS: &[Column] = &[
    Column {
        name: "Name",
        type_: "string",
        format: "name",
        priority: 0,
        description: "Unique among the EndpointSlices of a namespace.",
        cell: |slice, _| json!(text(slice, &["metadata", "name"])),
    },
    Column {
        name: "AddressType",
        type_: "string",
        format: "",
        priority: 0,
        description: "What kind of addresses the slice holds.",
        cell: |slice, _| json!(text(slice, &["addressType"])),
    },
    Column {
        name: "Ports",
        type_: "string",
        format: "",
        priority: 0,
        description: "Ports that every endpoint of the slice has.",
        cell: |slice, _| json!(shortened(&ports(slice))),
    },
    Column {
        name: "Endpoints",
        type_: "string",
        format: "",
        priority: 0,
        description: "Addresses of the endpoints.",
        cell: |slice, _| json!(shortened(&addresses(slice))),
    },
    Column {
        name: "Age",
        type_: "string",
        format: "",
        priority: 0,
        description: "The time since it was created.",
        cell: |slice, now| json!(since(at(slice, &["metadata", "creationTimestamp"]), now)),
    },
];

fn ports(slice: &Value) -> Vec<String> {
    list(slice, &["ports"]).iter().map(port).collect()
}

fn port(port: &Value) -> String {
    match (port["port"].as_i64(), port["name"].as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    }
}

fn addresses(slice: &Value) -> Vec<String> {
    let endpoints = list(slice, &["endpoints"]).iter();
    let addresses = endpoints.flat_map(|endpoint| list(endpoint, &["addresses"]));
    addresses.map(|address| address.as_str().unwrap_or_default().to_owned()).collect()
}

fn shortened(items: &[String]) -> String {
    if items.is_empty() {
        return "<unset>".to_owned();
    }
    let shown = items[..items.len().min(SHOWN)].join(",");
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_counted() {
        let items = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(shortened(&items(0)), "<unset>");
        assert_eq!(shortened(&items(3)), "1,2,3");
        assert_eq!(shortened(&items(5)), "1,2,3 + 2 more...");
    }
}
