//! PriorityLevelConfiguration: how many requests of a priority level run at once, and which wait.

use evenkeel_fairness::dialect::kubernetes::{self, PriorityLevelSpec};
use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed, flowcontrol,
    read::{at, number, text},
    workload,
};
use crate::{
    invalid::Errors,
    table::{AGE, NAME},
};

pub(crate) static PRIORITY_LEVEL_CONFIGURATION: KindRef = Held::Static(&Kind {
    group: fixed(flowcontrol::GROUP),
    version: fixed("v1"),
    kind: fixed("PriorityLevelConfiguration"),
    plural: fixed("prioritylevelconfigurations"),
    singular: fixed("prioritylevelconfiguration"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&PriorityLevelStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "Type",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec#type",
        cell: |object, _| json!(text(object, &["spec", "type"])),
    },
    Column {
        name: "NominalConcurrencyShares",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration#nominalConcurrencyShares",
        cell: |object, _| of(at(object, &["spec", "limited"]), "nominalConcurrencyShares"),
    },
    Column {
        name: "Queues",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.QueuingConfiguration#queues",
        cell: |object, _| of(queuing(object), "queues"),
    },
    Column {
        name: "HandSize",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.QueuingConfiguration#handSize",
        cell: |object, _| of(queuing(object), "handSize"),
    },
    Column {
        name: "QueueLengthLimit",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.QueuingConfiguration#queueLengthLimit",
        cell: |object, _| of(queuing(object), "queueLengthLimit"),
    },
    AGE,
];

#[derive(Debug)]
struct PriorityLevelStrategy;

impl Strategy for PriorityLevelStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        flowcontrol::default_spec(object, PriorityLevelSpec::set_defaults);
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        flowcontrol::validate(object, kubernetes::validate_priority_level)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        flowcontrol::prepare_update(part, new, old, PriorityLevelSpec::eq);
    }

    fn validate_update(&self, part: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        match part {
            Part::Main => flowcontrol::validate(new, kubernetes::validate_priority_level),
            Part::Status => flowcontrol::validate_status(new),
        }
    }
}

fn queuing(object: &Value) -> &Value {
    at(object, &["spec", "limited", "limitResponse", "queuing"])
}

/// A number of a part, if there is the part.
fn of(part: &Value, name: &str) -> Value {
    match part {
        Value::Null => json!("<none>"),
        part => json!(number(part, &[name]).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    fn created(name: &str, spec: &Value) -> (Value, Vec<String>) {
        let mut object = json!({"metadata": {"name": name}, "spec": spec});
        let (strategy, at) = (&PRIORITY_LEVEL_CONFIGURATION.strategy, facts::admission());
        strategy.default(&mut object, &at);
        strategy.prepare_create(&mut object, &at);
        let errors = strategy.validate_create(&object, &at);
        (object, facts::texts(&errors))
    }

    #[test]
    fn what_the_types_declare_is_reported_last_and_without_words() {
        for (name, spec, expected) in [
            ("a", json!({"type": "Limited"}), vec!["spec.limited: Required value"]),
            ("a", json!({}), vec!["spec.type: Required value"]),
            (
                "a",
                json!({"type": "Foo", "exempt": {}, "limited": {"limitResponse": {"type": "Reject", "queuing": {}}}}),
                vec![
                    "spec.type: Unsupported value: \"Foo\": supported values: \"Exempt\", \"Limited\"",
                    "spec.exempt: Forbidden",
                    "spec.limited: Forbidden",
                    "spec.limited.limitResponse.queuing: Forbidden",
                ],
            ),
            (
                "a",
                json!({"type": "Limited", "exempt": {}, "limited": {"limitResponse": {}, "lendablePercent": 101, "borrowingLimitPercent": -1}}),
                vec![
                    "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
                    "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
                    "spec.exempt: Forbidden",
                    "spec.limited.limitResponse.type: Required value",
                ],
            ),
            (
                "a",
                json!({"type": "Exempt"}),
                vec![
                    "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
                ],
            ),
            (
                "catch-all",
                json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 1, "handSize": 2}}}}),
                vec![
                    "spec.limited.limitResponse.queuing.handSize: Invalid value: 2: should not be greater than queues (1)",
                    r#"spec: Invalid value: {"Type":"Limited","Limited":{"NominalConcurrencyShares":30,"LimitResponse":{"Type":"Queue","Queuing":{"Queues":1,"HandSize":2,"QueueLengthLimit":50}},"LendablePercent":0,"BorrowingLimitPercent":null},"Exempt":null}: spec of 'catch-all' must equal the fixed value"#,
                ],
            ),
        ] {
            assert_eq!(created(name, &spec).1, expected);
        }
    }

    #[test]
    fn the_exempt_level_may_be_given_shares() {
        let spec = json!({"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5}});
        let (object, errors) = created("exempt", &spec);
        assert_eq!(errors, [""; 0]);
        let exempt = json!({"nominalConcurrencyShares": 5, "lendablePercent": 0});
        assert_eq!(object["spec"]["exempt"], exempt);
    }

    #[test]
    fn a_limit_of_zero_is_not_an_absent_one() {
        let reject = json!({"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}});
        let (old, _) = created("a", &reject);
        let mut new = old.clone();
        new["spec"]["limited"]["borrowingLimitPercent"] = json!(0);
        let strategy = &PRIORITY_LEVEL_CONFIGURATION.strategy;
        strategy.prepare_update(Part::Main, &mut new, &old, &facts::admission());
        assert_eq!(number(&new, &["metadata", "generation"]), Some(2));
    }

    #[test]
    fn cells_are_numbers_where_there_is_a_part() {
        let cells = |object: &Value| -> Vec<Value> {
            let columns = PRIORITY_LEVEL_CONFIGURATION.columns[1..6].iter();
            columns.map(|column| (column.cell)(object, facts::admission().now)).collect()
        };
        let queue = json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}});
        assert_eq!(json!(cells(&created("a", &queue).0)), json!(["Limited", 30, 64, 8, 50]));
        let exempt = created("exempt", &json!({"type": "Exempt"})).0;
        let none = "<none>";
        assert_eq!(json!(cells(&exempt)), json!(["Exempt", none, none, none, none]));
    }
}
