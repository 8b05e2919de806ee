//! ResourceQuota: stored and shown. It limits nothing here: no controller counts what is used.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed,
    pod::validate::quota_resource,
    read::{at, carry_over, entries, entry, list, shown_quantity, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table::{AGE, NAME},
};

pub(crate) static RESOURCE_QUOTA: KindRef = Held::Static(&Kind {
    group: fixed(""),
    version: fixed("v1"),
    kind: fixed("ResourceQuota"),
    plural: fixed("resourcequotas"),
    singular: fixed("resourcequota"),
    short_names: Held::Static(&[fixed("quota")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.core.v1.ResourceQuota"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Object,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&ResourceQuotaStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Request",
        type_: "string",
        format: "",
        priority: 0,
        description: "Request represents a minimum amount of cpu/memory that a container may consume.",
        cell: |object, _| json!(used(object, |name| !name.starts_with("limits."))),
    },
    Column {
        name: "Limit",
        type_: "string",
        format: "",
        priority: 0,
        description: "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.",
        cell: |object, _| json!(used(object, |name| name.starts_with("limits."))),
    },
    AGE,
];

const PODS: [&str; 7] =
    ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// Scopes, and the resources that each may limit.
const SCOPES: [(&str, &[&str]); 7] = [
    ("Terminating", &PODS),
    ("NotTerminating", &PODS),
    ("BestEffort", &["pods"]),
    ("NotBestEffort", &PODS),
    ("PriorityClass", &PODS),
    ("CrossNamespacePodAffinity", &PODS),
    ("VolumeAttributesClass", &["persistentvolumeclaims", "requests.storage"]),
];

/// Scopes that contradict each other.
const CONFLICTS: [[&str; 2]; 2] =
    [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

const UNFIT: &str = "unsupported scope applied to resource";

#[derive(Debug)]
struct ResourceQuotaStrategy;

impl Strategy for ResourceQuotaStrategy {
    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        *entry(object, &["status"]) = json!({});
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate_spec(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        carry_over(new, old, &[if part == Part::Status { "spec" } else { "status" }]);
    }

    fn validate_update(&self, part: Part, new: &Value, old: &Value, _: &Admission) -> Errors {
        let mut errors = Errors::new();
        if part == Part::Status {
            for field in ["hard", "used"] {
                amounts(&mut errors, new, ["status", field]);
            }
            return errors;
        }
        errors.extend(validate_spec(new));
        if scopes(new) != scopes(old) {
            let path = Path::root("spec").child("scopes");
            errors.push(FieldError::immutable(path, at(new, &["spec", "scopes"])));
        }
        errors
    }
}

fn validate_spec(object: &Value) -> Errors {
    let mut errors = Errors::new();
    amounts(&mut errors, object, ["spec", "hard"]);
    let path = Path::root("spec").child("scopes");
    let given = at(object, &["spec", "scopes"]);
    // Each of these errors shows the whole list, and is the same for every scope.
    if !list(object, &["spec", "scopes"]).iter().all(is_scope) {
        errors.push(FieldError::invalid(path.clone(), given, "unsupported scope"));
    }
    let scopes = scopes(object);
    if !fits(object, &scopes) {
        errors.push(FieldError::invalid(path.clone(), given, UNFIT));
    }
    conflicts(&mut errors, &scopes, given, &path);
    if at(object, &["spec", "scopeSelector"]).is_object() {
        selector(&mut errors, object);
    }
    errors
}

fn selector(errors: &mut Errors, object: &Value) {
    let path = Path::root("spec").child("scopeSelector").child("matchExpressions");
    let requirements = list(object, &["spec", "scopeSelector", "matchExpressions"]);
    for requirement in requirements {
        let scope = &requirement["scopeName"];
        if !is_scope(scope) {
            let path = path.child("scopeName");
            errors.push(FieldError::invalid(path, scope, "unsupported scope"));
        }
        operator(errors, requirement, &path);
    }
    let scopes = requirements.iter().map(|requirement| text(requirement, &["scopeName"])).collect();
    if !fits(object, &scopes) {
        let given = at(object, &["spec", "scopeSelector"]);
        errors.push(FieldError::invalid(path.clone(), given, UNFIT));
    }
    conflicts(errors, &scopes, at(object, &["spec", "scopes"]), &path);
}

fn operator(errors: &mut Errors, requirement: &Value, path: &Path) {
    let operator = text(requirement, &["operator"]);
    let has_values =
        matches!(text(requirement, &["scopeName"]), "PriorityClass" | "VolumeAttributesClass");
    if is_scope(&requirement["scopeName"]) && !has_values && operator != "Exists" {
        let message = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push(FieldError::invalid(path.child("operator"), &json!(operator), message));
    }
    let values = list(requirement, &["values"]);
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let message =
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(FieldError::required(path.child("values"), message));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let message =
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push(FieldError::invalid(path.child("values"), &requirement["values"], message));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let message = "not a valid selector operator";
            errors.push(FieldError::invalid(path.child("operator"), &json!(other), message));
        }
    }
}

fn amounts(errors: &mut Errors, object: &Value, place: [&str; 2]) {
    let path = Path::root(place[0]).child(place[1]);
    for (name, amount) in entries(object, &place) {
        quota_resource(errors, name, amount, &path.key(name));
    }
}

/// Whether each of the limited resources is one that the scopes are about.
fn fits(object: &Value, scopes: &BTreeSet<&str>) -> bool {
    let mut about = SCOPES.iter().filter(|(name, _)| scopes.contains(name));
    about.all(|(_, about)| {
        let is_other = |name: &str| !name.contains('/') && !about.contains(&name);
        !entries(object, &["spec", "hard"]).any(|(name, _)| is_other(name))
    })
}

fn conflicts(errors: &mut Errors, scopes: &BTreeSet<&str>, given: &Value, path: &Path) {
    for pair in CONFLICTS {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.push(FieldError::invalid(path.clone(), given, "conflicting scopes"));
        }
    }
}

fn is_scope(scope: &Value) -> bool {
    SCOPES.iter().any(|(name, _)| scope == name)
}

fn scopes(object: &Value) -> BTreeSet<&str> {
    list(object, &["spec", "scopes"]).iter().filter_map(Value::as_str).collect()
}

/// `pods: 1/10, services: 2/5`.
fn used(object: &Value, is_shown: fn(&str) -> bool) -> String {
    let used = at(object, &["status", "used"]);
    let shown = entries(object, &["status", "hard"]).filter(|(name, _)| is_shown(name));
    let shown = shown.map(|(name, hard)| {
        let used = used.get(name).map_or_else(|| "0".to_owned(), shown_quantity);
        format!("{name}: {used}/{}", shown_quantity(hard))
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn a_quota_limits_resources_that_are_known_and_that_its_scopes_are_about() {
        let of_class = |operator: &str, values: Value| {
            let requirement =
                json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
            json!({"hard": {"pods": "10"}, "scopeSelector": {"matchExpressions": [requirement]}})
        };
        for (spec, wrong) in [
            (
                json!({"hard": {"pods": "10", "limits.cpu": "1500m", "example.com/gpu": "2"}}),
                vec![],
            ),
            (of_class("In", json!(["system-node-critical"])), vec![]),
            (
                of_class("In", json!([])),
                vec![
                    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
                ],
            ),
            (
                of_class("Like", json!([])),
                vec![
                    "spec.scopeSelector.matchExpressions.operator: Invalid value: \"Like\": not a valid selector operator",
                ],
            ),
            (
                json!({"hard": {"pods": "-1"}}),
                vec!["spec.hard[pods]: Invalid value: \"-1\": must be greater than or equal to 0"],
            ),
            (
                json!({"hard": {"pods": "1500m"}}),
                vec!["spec.hard[pods]: Invalid value: \"1500m\": must be an integer"],
            ),
            (
                json!({"hard": {"services": "1"}, "scopes": ["BestEffort"]}),
                vec![
                    "spec.scopes: Invalid value: [\"BestEffort\"]: unsupported scope applied to resource",
                ],
            ),
            (
                json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}),
                vec![
                    "spec.scopes: Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes",
                ],
            ),
            (
                json!({"scopes": ["Some"]}),
                vec!["spec.scopes: Invalid value: [\"Some\"]: unsupported scope"],
            ),
        ] {
            assert_eq!(facts::texts(&validate_spec(&json!({"spec": spec}))), wrong);
        }
        let unknown = validate_spec(&json!({"spec": {"hard": {"x": "1"}}}));
        assert_eq!(unknown.len(), 2, "neither a resource nor one for quotas");
    }

    #[test]
    fn what_is_used_is_shown_beside_the_limits() {
        let status = json!({"hard": {"limits.cpu": "2", "pods": "10"}, "used": {"pods": "3"}});
        let object = json!({"status": status});
        assert_eq!(used(&object, |name| !name.starts_with("limits.")), "pods: 3/10");
        assert_eq!(used(&object, |name| name.starts_with("limits.")), "limits.cpu: 0/2");
    }
}
