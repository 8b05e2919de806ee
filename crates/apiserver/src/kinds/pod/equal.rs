//! Whether two specs say the same, though one has not been through the last clean-up.
//!
//! Go compares decoded structures, where a field left out and a field at its zero value are one,
//! unless the field is a pointer. A value here does not know its type, so the names of pointers to
//! plain values, and of structures that are no pointers, stand below.

use serde_json::{Map, Value};

/// Fields where `0`, `false` and `""` differ from nothing.
const POINTERS: &[&str] = &[
    "activeDeadlineSeconds",
    "allowPrivilegeEscalation",
    "automountServiceAccountToken",
    "defaultMode",
    "enableServiceLinks",
    "expirationSeconds",
    "fsGroup",
    "hostUsers",
    "hostnameOverride",
    "localhostProfile",
    "maxSurge",
    "maxUnavailable",
    "minDomains",
    "mode",
    "optional",
    "priority",
    "privileged",
    "progressDeadlineSeconds",
    "readOnlyRootFilesystem",
    "replicas",
    "revisionHistoryLimit",
    "runAsGroup",
    "runAsNonRoot",
    "runAsUser",
    "runtimeClassName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "terminationGracePeriodSeconds",
    "tolerationSeconds",
];

/// Maps: an empty one is nothing, but an empty text in it is a value.
const MAPS: &[&str] =
    &["annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"];

/// Structures that are not behind a pointer: with nothing inside they are nothing.
const PLAIN_STRUCTURES: &[&str] = &["metadata", "resources", "strategy", "updateStrategy"];

/// Whether two values are the same to Kubernetes.
pub(crate) fn same<'a>(one: &'a Value, other: &'a Value) -> bool {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let names = ones.keys().chain(others.keys());
            let field = |fields: &'a Map<String, Value>, name: &str| {
                fields.get(name).unwrap_or(&Value::Null)
            };
            names.into_iter().all(|name| same_field(name, field(ones, name), field(others, name)))
        }
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(a, b)| same(a, b))
        }
        _ => one == other || (is_nothing("", one) && is_nothing("", other)),
    }
}

fn same_field(name: &str, one: &Value, other: &Value) -> bool {
    if is_nothing(name, one) || is_nothing(name, other) {
        return is_nothing(name, one) && is_nothing(name, other);
    }
    if MAPS.contains(&name) { one == other } else { same(one, other) }
}

fn is_nothing(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty() && !POINTERS.contains(&name),
        Value::Bool(on) => !on && !POINTERS.contains(&name),
        Value::Number(number) => number.as_f64() == Some(0.0) && !POINTERS.contains(&name),
        Value::Object(fields) if MAPS.contains(&name) => fields.is_empty(),
        Value::Object(fields) => {
            PLAIN_STRUCTURES.contains(&name)
                && fields.iter().all(|(name, value)| is_nothing(name, value))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn zero_is_nothing_unless_it_is_pointed_to() {
        for (one, other, equal) in [
            (json!({"hostNetwork": false}), json!({}), true),
            (json!({"hostNetwork": true}), json!({}), false),
            (json!({"hostUsers": false}), json!({}), false),
            (json!({"tolerations": []}), json!({}), true),
            (
                json!({"containers": [{"name": "c", "resources": {}}]}),
                json!({"containers": [{"name": "c"}]}),
                true,
            ),
            (json!({"resources": {"limits": {}}}), json!({}), true),
            (json!({"emptyDir": {}}), json!({}), false),
            (json!({"replicas": 0}), json!({}), false),
            (json!({"minReadySeconds": 0}), json!({}), true),
            (json!({"a": null}), json!({}), true),
            (json!({"nodeSelector": {"k": ""}}), json!({}), false),
            (json!({"nodeSelector": {"k": ""}}), json!({"nodeSelector": {"l": ""}}), false),
            (json!({"a": ["x"]}), json!({"a": ["y"]}), false),
        ] {
            assert_eq!(same(&one, &other), equal, "{one} {other}");
            assert_eq!(same(&other, &one), equal, "{other} {one}");
        }
    }
}
