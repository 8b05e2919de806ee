//! Scheduling constraints: labels, selectors, affinity, spread, tolerations, gates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::checks::{invalid, positive, texts};
use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::{
        names,
        read::{entries, list, number, text},
    },
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A map of labels; its errors name the map, not the key.
pub(crate) fn labels(errors: &mut Errors, labels: &Value, path: &Path) {
    for (key, value) in entries(labels, &[]) {
        invalid(errors, key, path, names::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        invalid(errors, value, path, names::label_value(value));
    }
}

/// A label selector, if there is one.
pub(crate) fn label_selector(errors: &mut Errors, selector: &Value, path: &Path) {
    labels(errors, &selector["matchLabels"], &path.child("matchLabels"));
    for (i, requirement) in list(selector, &["matchExpressions"]).iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        values_for_operator(errors, requirement, &path, false);
        let key = text(requirement, &["key"]);
        invalid(errors, key, &path.child("key"), names::qualified_name(key));
        label_values(errors, requirement, &path.child("values"));
    }
}

fn values_for_operator(errors: &mut Errors, requirement: &Value, path: &Path, of_node: bool) {
    let values = list(requirement, &["values"]);
    match text(requirement, &["operator"]) {
        "In" | "NotIn" if values.is_empty() => {
            let message = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(path.child("values"), message));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(path.child("values"), message));
        }
        "Gt" | "Lt" if of_node => {
            if values.len() != 1 {
                let message = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(path.child("values"), message));
            }
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let message = "not a valid selector operator";
            errors.push(FieldError::invalid(path.child("operator"), &json!(other), message));
        }
    }
}

fn label_values(errors: &mut Errors, requirement: &Value, path: &Path) {
    for (i, value) in texts(requirement, "values").into_iter().enumerate() {
        invalid(errors, value, &path.index(i), names::label_value(value));
    }
}

// === affinity ===

pub(super) fn affinity(errors: &mut Errors, affinity: &Value, path: &Path) {
    node_affinity(errors, &affinity["nodeAffinity"], &path.child("nodeAffinity"));
    for name in ["podAffinity", "podAntiAffinity"] {
        let (terms, path) = (&affinity[name], path.child(name));
        for (i, term) in list(terms, &[REQUIRED]).iter().enumerate() {
            pod_term(errors, term, &path.child(REQUIRED).index(i));
        }
        for (i, term) in list(terms, &[PREFERRED]).iter().enumerate() {
            let path = path.child(PREFERRED).index(i);
            weight(errors, term, &path);
            pod_term(errors, &term["podAffinityTerm"], &path.child("podAffinityTerm"));
        }
    }
}

fn node_affinity(errors: &mut Errors, affinity: &Value, path: &Path) {
    if affinity[REQUIRED].is_object() {
        let path = path.child(REQUIRED).child("nodeSelectorTerms");
        let terms = list(affinity, &[REQUIRED, "nodeSelectorTerms"]);
        if terms.is_empty() {
            let message = "must have at least one node selector term";
            errors.push(FieldError::required(path.clone(), message));
        }
        for (i, term) in terms.iter().enumerate() {
            node_term(errors, term, true, &path.index(i));
        }
    }
    for (i, term) in list(affinity, &[PREFERRED]).iter().enumerate() {
        let path = path.child(PREFERRED).index(i);
        weight(errors, term, &path);
        node_term(errors, &term["preference"], false, &path.child("preference"));
    }
}

fn weight(errors: &mut Errors, term: &Value, path: &Path) {
    let weight = number(term, &["weight"]).unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let message = "must be in the range 1-100";
        errors.push(FieldError::invalid(path.child("weight"), &json!(weight), message));
    }
}

fn node_term(errors: &mut Errors, term: &Value, values_checked: bool, path: &Path) {
    for (i, requirement) in list(term, &["matchExpressions"]).iter().enumerate() {
        let path = path.child("matchExpressions").index(i);
        values_for_operator(errors, requirement, &path, true);
        let key = text(requirement, &["key"]);
        invalid(errors, key, &path.child("key"), names::qualified_name(key));
        if values_checked {
            label_values(errors, requirement, &path.child("values"));
        }
    }
    for (i, requirement) in list(term, &["matchFields"]).iter().enumerate() {
        node_field(errors, requirement, &path.child("matchFields").index(i));
    }
}

fn node_field(errors: &mut Errors, requirement: &Value, path: &Path) {
    let values = texts(requirement, "values");
    let operator = text(requirement, &["operator"]);
    if !["In", "NotIn"].contains(&operator) {
        let message = "not a valid selector operator";
        errors.push(FieldError::invalid(path.child("operator"), &json!(operator), message));
    } else if values.len() != 1 {
        let message =
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        errors.push(FieldError::required(path.child("values"), message));
    }
    let key = text(requirement, &["key"]);
    if key != "metadata.name" {
        let message = "not a valid field selector key";
        return errors.push(FieldError::invalid(path.child("key"), &json!(key), message));
    }
    for (i, value) in values.into_iter().enumerate() {
        invalid(errors, value, &path.child("values").index(i), names::dns1123_subdomain(value));
    }
}

fn pod_term(errors: &mut Errors, term: &Value, path: &Path) {
    for name in ["labelSelector", "namespaceSelector"] {
        label_selector(errors, &term[name], &path.child(name));
    }
    for name in texts(term, "namespaces") {
        invalid(errors, name, &path.child("namespace"), names::dns1123_label(name));
    }
    label_keys(errors, term, path);
    let key = text(term, &["topologyKey"]);
    if key.is_empty() {
        errors.push(FieldError::required(path.child("topologyKey"), "can not be empty"));
    }
    invalid(errors, key, &path.child("topologyKey"), names::qualified_name(key));
}

/// Label keys whose values are taken from the pod. The server adds them to the selector as
/// expressions before this check, so a key counts as a duplicate only beyond the first.
fn label_keys(errors: &mut Errors, term: &Value, path: &Path) {
    let selector = &term["labelSelector"];
    for name in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = texts(term, name);
        if !keys.is_empty() && !selector.is_object() {
            let message = "must not be specified when labelSelector is not set";
            errors.push(FieldError::forbidden(path.child(name), message));
            continue;
        }
        for (i, key) in keys.into_iter().enumerate() {
            invalid(errors, key, &path.child(name).index(i), names::qualified_name(key));
        }
    }
    let matched = texts(term, "matchLabelKeys");
    let last: BTreeMap<&str, usize> =
        matched.iter().enumerate().map(|(i, key)| (*key, i)).collect();
    let mut seen: BTreeSet<&str> =
        entries(selector, &["matchLabels"]).map(|(key, _)| key).collect();
    for expression in list(selector, &["matchExpressions"]) {
        let key = text(expression, &["key"]);
        if let Some(i) = last.get(key)
            && seen.contains(key)
        {
            let message = "exists in both matchLabelKeys and labelSelector";
            errors.push(FieldError::invalid(path.index(*i), &json!(key), message));
        }
        seen.insert(key);
    }
    let mismatched: BTreeSet<&str> = texts(term, "mismatchLabelKeys").into_iter().collect();
    for (i, key) in matched.into_iter().enumerate().filter(|(_, key)| mismatched.contains(key)) {
        let message = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(FieldError::invalid(
            path.child("matchLabelKeys").index(i),
            &json!(key),
            message,
        ));
    }
}

// === gates and spread ===

/// Readiness gates and scheduling gates of a pod.
pub(super) fn gates(errors: &mut Errors, spec: &Value, path: &Path) {
    for (i, gate) in list(spec, &["readinessGates"]).iter().enumerate() {
        let condition = text(gate, &["conditionType"]);
        let path = path.child("readinessGates").index(i).child("conditionType");
        invalid(errors, condition, &path, names::qualified_name(condition));
    }
    let mut seen = BTreeSet::new();
    for (i, gate) in list(spec, &["schedulingGates"]).iter().enumerate() {
        let (name, path) = (text(gate, &["name"]), path.child("schedulingGates").index(i));
        invalid(errors, name, &path, names::qualified_name(name));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(path, &json!(name)));
        }
    }
}

pub(super) fn spread(errors: &mut Errors, spec: &Value, path: &Path) {
    let constraints = list(spec, &["topologySpreadConstraints"]);
    // All duplicates but the last are reported.
    let mut left: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for constraint in constraints {
        *left.entry(domain(constraint)).or_default() += 1;
    }
    for (i, constraint) in constraints.iter().enumerate() {
        let path = path.index(i);
        positive(
            errors,
            number(constraint, &["maxSkew"]).unwrap_or_default(),
            &path.child("maxSkew"),
        );
        let key = text(constraint, &["topologyKey"]);
        if key.is_empty() {
            errors.push(FieldError::required(path.child("topologyKey"), "can not be empty"));
        }
        let action = text(constraint, &["whenUnsatisfiable"]);
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        if !actions.contains(&action) {
            let path = path.child("whenUnsatisfiable");
            errors.push(FieldError::not_supported(path, &json!(action), &actions));
        }
        let left = left.entry((key, action)).or_default();
        *left = left.saturating_sub(1);
        if *left > 0 {
            let path = path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(FieldError::duplicate(path, &json!(format!("{{{key}, {action}}}"))));
        }
        spread_details(errors, constraint, action, &path);
    }
}

/// The identity of a constraint, which must be unique.
fn domain(constraint: &Value) -> (&str, &str) {
    (text(constraint, &["topologyKey"]), text(constraint, &["whenUnsatisfiable"]))
}

fn spread_details(errors: &mut Errors, constraint: &Value, action: &str, path: &Path) {
    if let Some(domains) = number(constraint, &["minDomains"]) {
        let path = path.child("minDomains");
        positive(errors, domains, &path);
        if action != "DoNotSchedule" {
            let message =
                format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            errors.push(FieldError::invalid(path, &json!(domains), message));
        }
    }
    for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        let supported = ["Honor", "Ignore"];
        if let Some(policy) = constraint[name].as_str().filter(|policy| !supported.contains(policy))
        {
            errors.push(FieldError::not_supported(path.child(name), &json!(policy), &supported));
        }
    }
    label_keys(errors, constraint, path);
    label_selector(errors, &constraint["labelSelector"], &path.child("labelSelector"));
}

// === tolerations ===

pub(crate) fn tolerations(errors: &mut Errors, tolerations: &[Value], path: &Path) {
    for (i, toleration) in tolerations.iter().enumerate() {
        self::toleration(errors, toleration, &path.index(i));
    }
}

fn toleration(errors: &mut Errors, toleration: &Value, path: &Path) {
    let [key, operator, value, effect] =
        ["key", "operator", "value", "effect"].map(|name| text(toleration, &[name]));
    if !key.is_empty() {
        invalid(errors, key, &path.child("key"), names::qualified_name(key));
    } else if operator != "Exists" {
        let message = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(path.child("operator"), &json!(operator), message));
    }
    if number(toleration, &["tolerationSeconds"]).is_some() && effect != "NoExecute" {
        let message = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(FieldError::invalid(path.child("effect"), &json!(effect), message));
    }
    toleration_value(errors, operator, value, &path.child("operator"));
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect) {
        errors.push(FieldError::not_supported(path.child("effect"), &json!(effect), &effects));
    }
}

fn toleration_value(errors: &mut Errors, operator: &str, value: &str, path: &Path) {
    match operator {
        "Equal" | "" => {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                errors.push(FieldError::invalid(path.clone(), &json!(value), wrong.join(";")));
            }
        }
        "Exists" => {
            if !value.is_empty() {
                let message = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(path.clone(), &json!(value), message));
            }
        }
        "Lt" | "Gt" => {
            let supported = ["Equal", "Exists", "Lt", "Gt"];
            errors.push(FieldError::not_supported(path.clone(), &json!(operator), &supported));
        }
        other => {
            errors.push(FieldError::not_supported(
                path.clone(),
                &json!(other),
                &["Equal", "Exists"],
            ));
        }
    }
}
