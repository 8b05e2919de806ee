//! Lease.

use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, fixed,
    names,
    read::{at, number, remove, text},
};
use crate::{
    invalid::{Errors, FieldError, Path},
    table,
};

pub(crate) static LEASE: KindRef = Held::Static(&Kind {
    group: fixed("coordination.k8s.io"),
    version: fixed("v1"),
    kind: fixed("Lease"),
    plural: fixed("leases"),
    singular: fixed("lease"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: true,
    schema: fixed("io.k8s.api.coordination.v1.Lease"),
    verbs: EVERY_VERB,
    subresources: &[],
    fields: &[],
    creates_on_update: true,
    updates_unconditionally: false,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: &[
        table::NAME,
        Column {
            name: "Holder",
            type_: "string",
            format: "",
            priority: 0,
            description: "io.k8s.api.coordination.v1.LeaseSpec#holderIdentity",
            cell: |object, _| json!(text(object, &["spec", "holderIdentity"])),
        },
        table::AGE,
    ],
    strategy: Held::Static(&LeaseStrategy),
    custom: None,
});

/// Fields of coordinated leader election, a feature that is off: they are dropped unless the stored
/// object has them.
const COORDINATED: [&str; 2] = ["strategy", "preferredHolder"];

#[derive(Debug)]
struct LeaseStrategy;

impl Strategy for LeaseStrategy {
    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        for field in COORDINATED {
            remove(object, &["spec", field]);
        }
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        validate(object)
    }

    fn prepare_update(&self, _: Part, new: &mut Value, old: &Value, _: &Admission) {
        for field in COORDINATED {
            if at(old, &["spec", field]).is_null() {
                remove(new, &["spec", field]);
            }
        }
    }

    fn validate_update(&self, _: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        validate(new)
    }
}

fn validate(object: &Value) -> Errors {
    let spec = Path::root("spec");
    let mut errors = Errors::new();
    for (field, least, words) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        let found = number(object, &["spec", field]).filter(|found| *found < least);
        let error = |found| FieldError::invalid(spec.child(field), &json!(found), words);
        errors.extend(found.map(error));
    }
    let strategy = at(object, &["spec", "strategy"]);
    errors.extend(wrong_strategy(strategy, &spec.child("strategy")));
    let preferred = text(object, &["spec", "preferredHolder"]);
    if !preferred.is_empty() && strategy.as_str().is_none_or(str::is_empty) {
        let words = "may only be specified if `strategy` is defined";
        errors.push(FieldError::forbidden(spec.child("preferredHolder"), words));
    }
    errors
}

fn wrong_strategy(strategy: &Value, path: &Path) -> Errors {
    let Some(name) = strategy.as_str() else {
        return Errors::new();
    };
    // The name occurs twice in Kubernetes' path.
    let path = path.child("strategy");
    if name.contains('/') {
        let wrong = names::qualified_name(name).into_iter();
        return wrong.map(|words| FieldError::invalid(path.clone(), strategy, words)).collect();
    }
    match name {
        "OldestEmulationVersion" => Errors::new(),
        _ => vec![FieldError::not_supported(path, strategy, &["OldestEmulationVersion"])],
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    #[test]
    fn numbers_of_a_lease_have_a_least_value() {
        for (spec, wrong) in [
            (
                json!({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0}),
                vec![],
            ),
            (
                json!({"leaseDurationSeconds": 0}),
                vec!["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            ),
            (
                json!({"leaseTransitions": -1}),
                vec![
                    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                ],
            ),
            (
                json!({"preferredHolder": "x"}),
                vec![
                    "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
                ],
            ),
            (
                json!({"strategy": "x"}),
                vec![
                    "spec.strategy.strategy: Unsupported value: \"x\": supported values: \"OldestEmulationVersion\"",
                ],
            ),
        ] {
            assert_eq!(facts::texts(&validate(&json!({"spec": spec}))), wrong);
        }
    }

    #[test]
    fn fields_of_a_disabled_feature_are_kept_only_if_stored() {
        let at = facts::admission();
        let given = json!({"spec": {"strategy": "a", "preferredHolder": "x"}});
        let mut created = given.clone();
        LeaseStrategy.prepare_create(&mut created, &at);
        assert_eq!(created, json!({"spec": {}}));
        let mut updated = given.clone();
        LeaseStrategy.prepare_update(Part::Main, &mut updated, &given, &at);
        assert_eq!(updated, given);
    }
}
