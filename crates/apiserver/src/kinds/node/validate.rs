//! Validation of nodes: of a create, and of an update.

use std::{collections::BTreeSet, net::IpAddr};

use evenkeel_model::quantity::Amount;
use serde_json::{Value, json};

use super::{
    super::{
        names,
        read::{entries, list, number, quantity, text},
    },
    annotations, taints,
};
use crate::invalid::{Errors, FieldError, FieldErrorType, Path, quoted};

/// Resources counted in whole numbers; those of domains other than Kubernetes' are too.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

pub(super) fn node(node: &Value) -> Errors {
    let metadata = Path::root("metadata");
    let mut errors = annotations::validate(node, &metadata.child("annotations"));
    errors.extend(taints::validate(list(node, &["spec", "taints"]), &metadata.child("taints")));
    errors.extend(resources(node));
    let swap = number(node, &["status", "nodeInfo", "swap", "capacity"]);
    errors.extend(swap.filter(|capacity| *capacity <= 0).map(|capacity| {
        let path = metadata.child("nodeSwapStatus").child("capacity");
        FieldError::invalid(path, &json!(capacity), "must be greater than zero")
    }));
    errors.extend(declared_features(node));
    errors.extend(pod_cidrs(node));
    errors
}

pub(super) fn update(new: &Value, old: &Value) -> Errors {
    let metadata = Path::root("metadata");
    let spec = Path::root("spec");
    let mut errors = annotations::validate(new, &metadata.child("annotations"));
    errors.extend(resources(new));
    errors.extend(declared_features(new));
    errors.extend(addresses(new));
    errors.extend(changed_pod_cidrs(new, old, &spec.child("podCIDRs")));
    errors.extend(changed_provider(new, old, spec.child("providerID")));
    errors.extend(taints::validate(list(new, &["spec", "taints"]), &metadata.child("taints")));
    if text(new, &["spec", "externalID"]) != text(old, &["spec", "externalID"]) {
        errors.push(FieldError::forbidden(spec.child("externalID"), "may not be updated"));
    }
    errors
}

fn resources(node: &Value) -> Errors {
    let mut errors = Errors::new();
    for field in ["capacity", "allocatable"] {
        for (name, value) in entries(node, &["status", field]) {
            let path = Path::root("status").child(field).child(name);
            let amount = quantity(value).unwrap_or(Amount::ZERO);
            if amount.is_negative() {
                let words = "must be greater than or equal to 0";
                errors.push(FieldError::invalid(path.clone(), value, words));
            }
            if is_counted(name) && !amount.is_whole() {
                errors.push(FieldError::invalid(path, value, "must be an integer"));
            }
        }
    }
    errors
}

fn is_counted(name: &str) -> bool {
    if COUNTED.contains(&name) {
        return true;
    }
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    let quota = format!("requests.{name}");
    !native && !name.starts_with("requests.") && names::qualified_name(&quota).is_empty()
}

fn declared_features(node: &Value) -> Errors {
    let path = Path::root("status").child("declaredFeatures");
    let features = list(node, &["status", "declaredFeatures"]);
    let mut errors = Errors::new();
    for (index, feature) in features.iter().enumerate() {
        let name = feature.as_str().unwrap_or_default();
        let wrong = wrong_feature(name);
        errors.extend(wrong.map(|words| FieldError::invalid(path.index(index), feature, words)));
        let Some(next) = features.get(index + 1) else {
            continue;
        };
        let path = path.index(index + 1);
        if feature == next {
            errors.push(FieldError::duplicate(path, next));
        } else if Some(name) > next.as_str() {
            errors.push(FieldError::invalid(path, next, "list must be sorted alphabetically"));
        }
    }
    errors
}

/// `MyFeature`, `MyFeature/mySubFeature`.
fn wrong_feature(name: &str) -> Option<String> {
    let shown = quoted(name);
    if name.len() > 253 {
        return Some(format!("invalid feature name {shown}: must be no more than 253 characters"));
    }
    let segment = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let fits = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.split('/').all(segment);
    (!fits).then(|| format!("invalid feature name {shown}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"))
}

fn pod_cidrs(node: &Value) -> Errors {
    let path = Path::root("spec").child("podCIDRs");
    let ranges = list(node, &["spec", "podCIDRs"]);
    let texts: Vec<&str> = ranges.iter().filter_map(Value::as_str).collect();
    let mut errors = Errors::new();
    for (index, range) in texts.iter().enumerate() {
        let wrong = names::legacy_cidr(range).into_iter();
        let invalid = |words| FieldError::invalid(path.index(index), &json!(range), words);
        errors.extend(wrong.map(invalid));
    }
    if texts.len() < 2 {
        return errors;
    }
    if let Some(bad) = texts.iter().find(|range| names::sloppy_cidr(range).is_none()) {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:failed to parse cidr value:{} with error:invalid CIDR address: {bad}",
            quoted(bad)
        );
        errors.push(FieldError { path: path.clone(), type_: FieldErrorType::Internal, detail });
    }
    let is_v6 = |range: &&str| names::sloppy_cidr(range).map(|(ip, _)| matches!(ip, IpAddr::V6(_)));
    let families: Vec<Option<bool>> = texts.iter().map(is_v6).collect();
    let dual = !families.contains(&None)
        && families.contains(&Some(true))
        && families.contains(&Some(false));
    if !dual || texts.len() > 2 {
        let words = "may specify no more than one CIDR for each IP family";
        errors.push(FieldError::invalid(path, &json!(ranges), words));
    }
    errors
}

fn changed_pod_cidrs(new: &Value, old: &Value, path: &Path) -> Errors {
    let [new, old] = [new, old].map(|node| list(node, &["spec", "podCIDRs"]));
    let changes = match old.len() {
        0 => 0,
        same if same == new.len() => new.iter().zip(old).filter(|(new, old)| new != old).count(),
        _ => 1,
    };
    let words = "node updates may not change podCIDR except from \"\" to valid";
    (0..changes).map(|_| FieldError::forbidden(path.clone(), words)).collect()
}

fn changed_provider(new: &Value, old: &Value, path: Path) -> Option<FieldError> {
    let [new, old] = [new, old].map(|node| text(node, &["spec", "providerID"]));
    let words = match (old, new) {
        ("", _) => return None,
        (_, "") => "field cannot be cleared once set",
        (old, new) if old == new => return None,
        _ => "field cannot be modified once set",
    };
    Some(FieldError::invalid(path, &Value::Null, words))
}

fn addresses(node: &Value) -> Errors {
    let addresses = list(node, &["status", "addresses"]);
    let path = Path::root("status").child("addresses");
    let mut seen = BTreeSet::new();
    let repeated = addresses.iter().enumerate().filter(|(_, address)| {
        !seen.insert(["type", "address"].map(|field| text(address, &[field])))
    });
    let error = |(index, address): (usize, &Value)| {
        let [type_, at] = ["type", "address"].map(|field| quoted(text(address, &[field])));
        FieldError {
            path: path.index(index),
            type_: FieldErrorType::Duplicate(format!(r#"{{"Type":{type_},"Address":{at}}}"#)),
            detail: String::new(),
        }
    };
    repeated.map(error).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::super::facts, *};

    #[test]
    fn new_nodes_are_checked() {
        for (object, wrong) in [
            (json!({"spec": {"podCIDRs": ["10.2.0.0/24", "fd00::/64"]}}), vec![]),
            (
                json!({"spec": {"taints": [{"key": "k", "effect": "Never"}, {"key": "k"}]}}),
                vec![
                    "metadata.taints[0].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
                    "metadata.taints[1].effect: Required value",
                ],
            ),
            (
                json!({"spec": {"taints": [
                    {"key": "k", "value": "v", "effect": "NoSchedule"},
                    {"key": "k", "value": "w", "effect": "NoSchedule"},
                ]}}),
                vec![
                    "metadata.taints[1]: Duplicate value: {\"Key\":\"k\",\"Value\":\"w\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair",
                ],
            ),
            (
                json!({"spec": {"podCIDRs": ["10.2.0.0/24", "10.3.0.0/24"]}}),
                vec![
                    "spec.podCIDRs: Invalid value: [\"10.2.0.0/24\",\"10.3.0.0/24\"]: may specify no more than one CIDR for each IP family",
                ],
            ),
            (
                json!({"spec": {"podCIDRs": ["x"]}}),
                vec![
                    "spec.podCIDRs[0]: Invalid value: \"x\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
                ],
            ),
            (
                json!({"status": {"capacity": {"cpu": "1500m", "pods": "1500m", "a.b/c": "1m", "memory": "-1"}}}),
                vec![
                    "status.capacity.a.b/c: Invalid value: \"1m\": must be an integer",
                    "status.capacity.memory: Invalid value: \"-1\": must be greater than or equal to 0",
                    "status.capacity.pods: Invalid value: \"1500m\": must be an integer",
                ],
            ),
            (
                json!({"status": {"declaredFeatures": ["B", "A", "A"]}}),
                vec![
                    "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically",
                    "status.declaredFeatures[2]: Duplicate value: \"A\"",
                ],
            ),
        ] {
            assert_eq!(facts::texts(&node(&object)), wrong, "{object}");
        }
    }

    #[test]
    fn what_is_set_once_stays() {
        let old = json!({"spec": {"podCIDRs": ["10.2.0.0/24"], "providerID": "a://b"}});
        for (new, wrong) in [
            (old.clone(), vec![]),
            (
                json!({"spec": {"podCIDRs": ["10.3.0.0/24"], "providerID": "c"}}),
                vec![
                    "spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid",
                    "spec.providerID: Invalid value: null: field cannot be modified once set",
                ],
            ),
            (
                json!({"spec": {"podCIDRs": ["10.2.0.0/24"], "externalID": "x"}}),
                vec![
                    "spec.providerID: Invalid value: null: field cannot be cleared once set",
                    "spec.externalID: Forbidden: may not be updated",
                ],
            ),
        ] {
            assert_eq!(facts::texts(&update(&new, &old)), wrong);
        }
    }

    #[test]
    fn addresses_are_unique() {
        let address = json!({"type": "InternalIP", "address": "10.0.0.1"});
        let new = json!({"status": {"addresses": [address, address]}});
        assert_eq!(
            facts::texts(&update(&new, &json!({}))),
            [
                "status.addresses[1]: Duplicate value: {\"Type\":\"InternalIP\",\"Address\":\"10.0.0.1\"}"
            ]
        );
    }
}
