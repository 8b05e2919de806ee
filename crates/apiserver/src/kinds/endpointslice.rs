//! EndpointSlices.
//!
//! Changes of addresses, ports and labels increment the generation; annotations do not.

mod columns;
mod validate;

use serde_json::{Value, json};

use crate::{
    invalid::{Errors, Path},
    kinds::{
        Admission, DeleteAnswers, Held, Kind, KindRef, Part, Strategy,
        addresses::ip_warnings,
        fixed,
        read::{at, entries, entry, list, number, remove, text},
    },
};

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// Controllers that write only valid addresses, so that theirs are not checked.
const TRUSTED: [&str; 2] =
    ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

pub(crate) static ENDPOINT_SLICE: KindRef = Held::Static(&Kind {
    group: fixed("discovery.k8s.io"),
    version: fixed("v1"),
    kind: fixed("EndpointSlice"),
    plural: fixed("endpointslices"),
    singular: fixed("endpointslice"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.discovery.v1.EndpointSlice"),
    verbs: &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    subresources: &[],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: columns::COLUMNS,
    strategy: Held::Static(&EndpointSliceStrategy),
    custom: None,
});

#[derive(Debug)]
struct EndpointSliceStrategy;

impl Strategy for EndpointSliceStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        let ports = object.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            for (name, value) in [("name", ""), ("protocol", "TCP")] {
                if port[name].is_null() {
                    *entry(port, &[name]) = json!(value);
                }
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        *entry(object, &["metadata", "generation"]) = json!(1);
        drop_topology(object);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate::validate(object, None)
    }

    fn prepare_update(&self, _: Part, new: &mut Value, old: &Value, _: &Admission) {
        let labels = ["metadata", "labels"];
        let same_labels = entries_of(at(new, &labels)) == entries_of(at(old, &labels));
        if !same_labels || differ(new, old) {
            let counted = number(old, &["metadata", "generation"]).unwrap_or_default() + 1;
            *entry(new, &["metadata", "generation"]) = json!(counted);
        }
        drop_topology(new);
    }

    fn validate_update(&self, _: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        validate::validate(new, Some(old))
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() && text(new, &["addressType"]) == "FQDN" {
            warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        if TRUSTED.contains(&text(new, &["metadata", "labels", MANAGED_BY])) {
            return warnings;
        }
        for (i, endpoint) in list(new, &["endpoints"]).iter().enumerate() {
            let path = Path::root("endpoints").index(i).child("addresses");
            for (j, address) in list(endpoint, &["addresses"]).iter().enumerate() {
                let address = address.as_str().unwrap_or_default();
                warnings.extend(ip_warnings(&path.index(j), address));
            }
        }
        warnings
    }
}

/// Whether anything but the metadata differs. Empty and absent are equal.
fn differ(new: &Value, old: &Value) -> bool {
    text(new, &["addressType"]) != text(old, &["addressType"])
        || ["endpoints", "ports"]
            .iter()
            .any(|name| !same_list(list(new, &[name]), list(old, &[name])))
}

fn same_list(new: &[Value], old: &[Value]) -> bool {
    new.len() == old.len()
        && new.iter().zip(old).all(|(new, old)| without_empty(new) == without_empty(old))
}

/// A copy without empty lists, maps and structures, to compare a client's object with the stored
/// one.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_empty).collect()),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        other => other.is_null(),
    }
}

fn entries_of(labels: &Value) -> Vec<(&str, &Value)> {
    entries(labels, &[]).collect()
}

/// `deprecatedTopology` comes from an older version of the API: this one accepts and drops it.
fn drop_topology(slice: &mut Value) {
    let endpoints = slice.get_mut("endpoints").and_then(Value::as_array_mut);
    for endpoint in endpoints.into_iter().flatten() {
        remove(endpoint, &["deprecatedTopology"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Features;

    fn admission() -> Admission {
        Admission { now: "2026-01-01T00:00:00Z".parse().unwrap(), features: Features::default() }
    }

    fn stored() -> Value {
        json!({
            "metadata": {"name": "a", "generation": 4, "labels": {"x": "y"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {}}],
            "ports": [{"name": "", "port": 80, "protocol": "TCP"}],
        })
    }

    #[test]
    fn the_generation_counts_all_but_annotations() {
        for (pointer, value, generation) in [
            ("/metadata/annotations", json!({"a": "b"}), 4),
            ("/metadata/labels", json!({"x": "z"}), 5),
            ("/endpoints", json!([{"addresses": ["10.1.1.1"]}]), 4),
            ("/endpoints", json!([{"addresses": ["10.1.1.1"], "conditions": {"ready": false}}]), 5),
            ("/endpoints", json!([]), 5),
            ("/ports", json!([]), 5),
        ] {
            let mut new = stored();
            let path: Vec<&str> = pointer.split('/').skip(1).collect();
            *entry(&mut new, &path) = value.clone();
            EndpointSliceStrategy.prepare_update(Part::Main, &mut new, &stored(), &admission());
            assert_eq!(new["metadata"]["generation"], generation, "{pointer} {value}");
        }
    }

    #[test]
    fn empty_slices_and_slices_without_type_are_told_apart() {
        let wrong = |slice: Value, old: Option<&Value>| -> Vec<String> {
            validate::validate(&slice, old).iter().map(ToString::to_string).collect()
        };
        assert!(wrong(json!({"addressType": "IPv4"}), None).is_empty());
        assert_eq!(
            wrong(json!({"endpoints": [{}]}), None),
            ["addressType: Required value", "endpoints[0].addresses: Required value"]
        );
        assert_eq!(
            wrong(json!({"addressType": "X"}), Some(&stored())),
            [
                "addressType: Unsupported value: \"X\": supported values: \"FQDN\", \"IPv4\", \"IPv6\"",
                "addressType: Invalid value: null: field is immutable",
            ]
        );
        assert_eq!(
            wrong(
                json!({"addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}]}),
                None
            ),
            [
                "endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ]
        );
    }

    #[test]
    fn names_of_hosts_and_odd_addresses_are_warned_about() {
        let slice = json!({"addressType": "FQDN", "endpoints": [{"addresses": ["FD00::1"]}]});
        assert_eq!(
            EndpointSliceStrategy.warnings(&slice, None),
            [
                "spec.addressType: FQDN endpoints are deprecated",
                "endpoints[0].addresses[0]: IPv6 address \"FD00::1\" should be in RFC 5952 canonical format (\"fd00::1\")",
            ]
        );
        assert_eq!(EndpointSliceStrategy.warnings(&slice, Some(&slice)).len(), 1);
        let mut trusted = slice;
        *entry(&mut trusted, &["metadata", "labels", MANAGED_BY]) = json!(TRUSTED[0]);
        assert!(EndpointSliceStrategy.warnings(&trusted, Some(&stored())).is_empty());
    }
}
