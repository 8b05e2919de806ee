//! Whether two specs are equal, although one has not been normalised yet.
//!
//! Go compares decoded structures, where an omitted field equals one at its zero value, unless the
//! field is a pointer. A JSON value does not know its type, so the names of pointers to plain
//! values, and of structures that are not pointers, are listed below.

use serde_json::{Map, Value};

/// Fields where `0`, `false` and `""` differ from absence.
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

/// Maps: an empty one equals absence, but an empty string in it is a value.
const MAPS: &[&str] =
    &["annotations", "labels", "limits", "matchLabels", "nodeSelector", "overhead", "requests"];

/// Structures that are not pointers: equal to absence if they are empty.
const PLAIN_STRUCTURES: &[&str] = &["metadata", "resources", "strategy", "updateStrategy"];

/// Whether Kubernetes considers two values equal. Visits each part once.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => same_fields(ones, others),
        (Value::Array(ones), Value::Array(others)) => {
            ones.len() == others.len() && ones.iter().zip(others).all(|(a, b)| same(a, b))
        }
        _ => one == other || (is_nothing("", one) && is_nothing("", other)),
    }
}

fn same_fields(ones: &Map<String, Value>, others: &Map<String, Value>) -> bool {
    let here = |(name, one): (&String, &Value)| {
        same_field(name, one, others.get(name).unwrap_or(&Value::Null))
    };
    // Those on both sides were compared above.
    let only_there = others.iter().filter(|(name, _)| !ones.contains_key(*name));
    ones.iter().all(here) && only_there.into_iter().all(|(name, other)| is_nothing(name, other))
}

/// Structures and lists present on both sides are compared part by part, which also covers the case
/// that one or both are empty: checking for that first would visit the whole subtree at every
/// level.
fn same_field(name: &str, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(_), Value::Object(_)) if MAPS.contains(&name) => one == other,
        (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)) => {
            same(one, other)
        }
        _ => one == other || (is_nothing(name, one) && is_nothing(name, other)),
    }
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The same comparison, written plainly: each field of either side, emptiness first.
    fn same_slowly(one: &Value, other: &Value) -> bool {
        match (one, other) {
            (Value::Object(ones), Value::Object(others)) => {
                ones.keys().chain(others.keys()).all(|name| {
                    let [one, other] = [one, other].map(|side| &side[name]);
                    match [one, other].map(|value| is_nothing(name, value)) {
                        [false, false] if MAPS.contains(&name.as_str()) => one == other,
                        [false, false] => same_slowly(one, other),
                        nothing => nothing == [true, true],
                    }
                })
            }
            (Value::Array(ones), Value::Array(others)) => {
                ones.len() == others.len()
                    && ones.iter().zip(others).all(|(a, b)| same_slowly(a, b))
            }
            _ => one == other,
        }
    }

    /// Some fields of each sort, with few values, so that many are equal.
    fn structure() -> impl Strategy<Value = Value> {
        let leaf = || {
            let text = prop::sample::select(&["", "x"][..]);
            let map = prop::option::of(prop::sample::select(&["", "v"][..]));
            let map = map.prop_map(|v| v.map_or(json!({}), |v| json!({"k": v})));
            (any::<bool>(), 0..2, 0..2, text, map).prop_map(|(flag, plain, pointer, text, map)| {
                json!({"hostNetwork": flag, "minReadySeconds": plain, "replicas": pointer,
                    "image": text, "labels": map})
            })
        };
        let some = |value: Value, kept: u8| match value {
            Value::Object(fields) => {
                let kept = fields.into_iter().enumerate().filter(|(at, _)| kept >> at & 1 == 0);
                Value::Object(kept.map(|(_, field)| field).collect())
            }
            other => other,
        };
        let leaf = (leaf(), any::<u8>()).prop_map(move |(value, kept)| some(value, kept));
        leaf.prop_recursive(3, 12, 2, move |inner| {
            let list = prop::collection::vec(inner.clone(), 0..2);
            (inner.clone(), inner, list, any::<u8>()).prop_map(move |(a, b, list, kept)| {
                some(json!({"metadata": a, "emptyDir": b, "tolerations": list}), kept)
            })
        })
    }

    proptest! {
        #[test]
        fn comparing_each_part_once_gives_the_same_result(one in structure(), other in structure()) {
            prop_assert_eq!(same(&one, &other), same_slowly(&one, &other));
            prop_assert!(same(&one, &one));
        }
    }

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
            (json!({"metadata": {"a": 0}}), json!({"metadata": {"b": ""}}), true),
            (json!({"metadata": {"a": 0}}), json!({"metadata": {"b": "x"}}), false),
            (json!({"metadata": {"metadata": {"a": 0}}}), json!({}), true),
            (json!({"emptyDir": {"medium": ""}}), json!({"emptyDir": {}}), true),
            (json!({"labels": {}}), json!({"labels": {"k": ""}}), false),
            (json!({"a": {}}), json!({"a": []}), false),
            (json!({"a": 0}), json!({"a": false}), true),
        ] {
            assert_eq!(same(&one, &other), equal, "{one} {other}");
            assert_eq!(same(&other, &one), equal, "{other} {one}");
        }
    }

    /// Each level doubled the work; then a comparison this deep would not finish.
    #[test]
    fn the_work_does_not_grow_with_the_depth() {
        let nested = |name: &str, leaf: Value| {
            (0..400).fold(leaf, |inside, _| json!({name: inside, "z": 0}))
        };
        for name in ["a", "metadata", "labels"] {
            let (one, other) = (nested(name, json!(1)), nested(name, json!(2)));
            assert!(same(&one, &nested(name, json!(1))));
            assert!(!same(&one, &other));
            assert!(!same(&nested(name, json!([0])), &nested(name, json!([0, 0]))));
        }
    }
}
