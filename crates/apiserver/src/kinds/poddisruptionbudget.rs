//! PodDisruptionBudget: stored and shown. Nobody computes its status, and evictions don't depend on it:
//! without a status from a controller Kubernetes would refuse all of them.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed,
    pod::validate,
    read::{at, entry, number},
    workload::{self, columns, percent},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table::{AGE, NAME},
};

pub(crate) static POD_DISRUPTION_BUDGET: KindRef = Held::Static(&Kind {
    group: fixed("policy"),
    version: fixed("v1"),
    kind: fixed("PodDisruptionBudget"),
    plural: fixed("poddisruptionbudgets"),
    singular: fixed("poddisruptionbudget"),
    short_names: Held::Static(&[fixed("pdb")]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.policy.v1.PodDisruptionBudget"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: false,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&PodDisruptionBudgetStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Min Available",
        type_: "string",
        format: "",
        priority: 0,
        description: "The minimum number of pods that must be available.",
        cell: |object, _| json!(amount(at(object, &["spec", "minAvailable"]))),
    },
    Column {
        name: "Max Unavailable",
        type_: "string",
        format: "",
        priority: 0,
        description: "The maximum number of pods that may be unavailable.",
        cell: |object, _| json!(amount(at(object, &["spec", "maxUnavailable"]))),
    },
    columns::integer(
        "Allowed Disruptions",
        "Calculated number of pods that may be disrupted at this time.",
        |object, _| json!(number(object, &["status", "disruptionsAllowed"]).unwrap_or_default()),
    ),
    AGE,
];

/// Counts in the status, which are always there.
const COUNTS: [&str; 4] =
    ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

const POLICIES: [&str; 2] = ["AlwaysAllow", "IfHealthyBudget"];

#[derive(Debug)]
struct PodDisruptionBudgetStrategy;

impl Strategy for PodDisruptionBudgetStrategy {
    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
        for name in COUNTS {
            *entry(object, &["status", name]) = json!(0);
        }
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate_spec(object)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        if part == Part::Status {
            return workload::keep_spec(new, old);
        }
        workload::keep_status(new, old);
        if workload::differs(new, old, &["spec"]) {
            workload::raise_generation(new, old);
        }
    }

    fn validate_update(&self, part: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        if part == Part::Main {
            return validate_spec(new);
        }
        let mut errors = Errors::new();
        for name in COUNTS {
            let count = number(new, &["status", name]).unwrap_or_default();
            validate::nonnegative(&mut errors, count, &Path::root("status").child(name));
        }
        errors
    }
}

fn validate_spec(object: &Value) -> Errors {
    let (spec, path) = (at(object, &["spec"]), Path::root("spec"));
    let mut errors = Errors::new();
    let amounts = ["minAvailable", "maxUnavailable"];
    if amounts.iter().all(|name| !at(spec, &[name]).is_null()) {
        let message = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid(path.clone(), &printed(spec), message));
    }
    for name in amounts {
        let (value, path) = (at(spec, &[name]), path.child(name));
        if !value.is_null() {
            percent::positive(&mut errors, value, &path);
            percent::at_most_all(&mut errors, value, &path);
        }
    }
    let selector = at(spec, &["selector"]);
    if selector.is_object() {
        validate::label_selector(&mut errors, selector, &path.child("selector"));
    }
    let policy = at(spec, &["unhealthyPodEvictionPolicy"]);
    if policy.as_str().is_some_and(|policy| !POLICIES.contains(&policy)) {
        let path = path.child("unhealthyPodEvictionPolicy");
        errors.push(FieldError::not_supported(path, policy, &POLICIES));
    }
    errors
}

/// With the names that fields have inside Kubernetes.
fn printed(spec: &Value) -> Value {
    json!({
        "MinAvailable": at(spec, &["minAvailable"]),
        "Selector": at(spec, &["selector"]),
        "MaxUnavailable": at(spec, &["maxUnavailable"]),
        "UnhealthyPodEvictionPolicy": at(spec, &["unhealthyPodEvictionPolicy"]),
    })
}

fn amount(value: &Value) -> String {
    match value {
        Value::Null => "N/A".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn a_budget_has_one_amount_and_a_valid_selector() {
        let words = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        for (spec, wrong) in [
            (json!({"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}), vec![]),
            (json!({"minAvailable": "50%", "unhealthyPodEvictionPolicy": "AlwaysAllow"}), vec![]),
            (json!({}), vec![]),
            (
                json!({"minAvailable": -1}),
                vec!["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0".to_owned()],
            ),
            (
                json!({"maxUnavailable": "x"}),
                vec![format!("spec.maxUnavailable: Invalid value: \"x\": {words}")],
            ),
            (
                json!({"maxUnavailable": "101%"}),
                vec!["spec.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%".to_owned()],
            ),
            (
                json!({"unhealthyPodEvictionPolicy": "Never"}),
                vec!["spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: \"AlwaysAllow\", \"IfHealthyBudget\"".to_owned()],
            ),
        ] {
            assert_eq!(facts::texts(&validate_spec(&json!({"spec": spec}))), wrong);
        }
        let both = validate_spec(&json!({"spec": {"minAvailable": 1, "maxUnavailable": 1}}));
        assert!(facts::texts(&both)[0].ends_with("cannot be both set"));
    }

    #[test]
    fn the_generation_follows_the_spec_and_the_status_is_the_controllers() {
        let at = facts::admission();
        let mut object =
            json!({"metadata": {}, "spec": {"maxUnavailable": 1}, "status": {"expectedPods": 9}});
        POD_DISRUPTION_BUDGET.strategy.prepare_create(&mut object, &at);
        assert_eq!(number(&object, &["metadata", "generation"]), Some(1));
        assert_eq!(number(&object, &["status", "expectedPods"]), Some(0));
        let mut changed = object.clone();
        changed["spec"]["maxUnavailable"] = json!(2);
        changed["status"]["expectedPods"] = json!(9);
        POD_DISRUPTION_BUDGET.strategy.prepare_update(Part::Main, &mut changed, &object, &at);
        assert_eq!(number(&changed, &["metadata", "generation"]), Some(2));
        assert_eq!(number(&changed, &["status", "expectedPods"]), Some(0));
    }
}
