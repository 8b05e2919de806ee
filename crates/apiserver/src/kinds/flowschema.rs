//! FlowSchema: which requests are of which priority level.

use evenkeel_fairness::dialect::kubernetes::{self, FlowSchemaSpec};
use serde_json::{Value, json};

use super::{
    Admission, Column, DeleteAnswers, EVERY_VERB, Held, Kind, KindRef, Part, Strategy, Subresource,
    fixed, flowcontrol,
    read::{at, list, number, text},
    workload,
};
use crate::{
    invalid::Errors,
    table::{AGE, NAME},
};

pub(crate) static FLOW_SCHEMA: KindRef = Held::Static(&Kind {
    group: fixed(flowcontrol::GROUP),
    version: fixed("v1"),
    kind: fixed("FlowSchema"),
    plural: fixed("flowschemas"),
    singular: fixed("flowschema"),
    short_names: Held::Static(&[]),
    categories: Held::Static(&[]),
    namespaced: false,
    schema: fixed("io.k8s.api.flowcontrol.v1.FlowSchema"),
    verbs: EVERY_VERB,
    subresources: &[Subresource::Status],
    fields: &[],
    creates_on_update: false,
    updates_unconditionally: true,
    delete_answers: DeleteAnswers::Status,
    alias: None,
    columns: COLUMNS,
    strategy: Held::Static(&FlowSchemaStrategy),
    custom: None,
});

const COLUMNS: &[Column] = &[
    NAME,
    Column {
        name: "PriorityLevel",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference#name",
        cell: |object, _| json!(text(object, &["spec", "priorityLevelConfiguration", "name"])),
    },
    Column {
        name: "MatchingPrecedence",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.FlowSchemaSpec#matchingPrecedence",
        cell: |object, _| json!(precedence(object)),
    },
    Column {
        name: "DistinguisherMethod",
        type_: "string",
        format: "",
        priority: 0,
        description: "io.k8s.api.flowcontrol.v1.FlowSchemaSpec#distinguisherMethod",
        cell: |object, _| json!(distinguisher(object)),
    },
    AGE,
    Column {
        name: "MissingPL",
        type_: "string",
        format: "",
        priority: 0,
        description: "references a broken or non-existent PriorityLevelConfiguration",
        cell: |object, _| json!(dangling(object)),
    },
];

#[derive(Debug)]
struct FlowSchemaStrategy;

impl Strategy for FlowSchemaStrategy {
    fn default(&self, object: &mut Value, _: &Admission) {
        flowcontrol::default_spec(object, FlowSchemaSpec::set_defaults);
    }

    fn prepare_create(&self, object: &mut Value, _: &Admission) {
        workload::prepare_create(object);
    }

    fn validate_create(&self, object: &Value, _: &Admission) -> Errors {
        flowcontrol::validate(object, kubernetes::validate_flow_schema)
    }

    fn prepare_update(&self, part: Part, new: &mut Value, old: &Value, _: &Admission) {
        flowcontrol::prepare_update(part, new, old, FlowSchemaSpec::means_the_same);
    }

    fn validate_update(&self, part: Part, new: &Value, _: &Value, _: &Admission) -> Errors {
        match part {
            Part::Main => flowcontrol::validate(new, kubernetes::validate_flow_schema),
            Part::Status => flowcontrol::validate_status(new),
        }
    }

    /// In the order in which requests are compared with them.
    fn row_rank(&self) -> Option<fn(&Value) -> i64> {
        Some(precedence)
    }
}

fn precedence(object: &Value) -> i64 {
    number(object, &["spec", "matchingPrecedence"]).unwrap_or_default()
}

fn distinguisher(object: &Value) -> &str {
    let method = at(object, &["spec", "distinguisherMethod"]);
    if method.is_null() { "<none>" } else { text(method, &["type"]) }
}

/// The status of the condition that says so.
fn dangling(object: &Value) -> &str {
    let mut conditions = list(object, &["status", "conditions"]).iter();
    let dangling = conditions.find(|condition| text(condition, &["type"]) == "Dangling");
    dangling.map_or("?", |condition| text(condition, &["status"]))
}

#[cfg(test)]
mod tests {
    use super::{super::facts, *};

    fn created(mut object: Value) -> (Value, Vec<String>) {
        let (strategy, at) = (&FLOW_SCHEMA.strategy, facts::admission());
        strategy.default(&mut object, &at);
        strategy.prepare_create(&mut object, &at);
        let errors = strategy.validate_create(&object, &at);
        (object, facts::texts(&errors))
    }

    fn schema(rule: &Value) -> Value {
        json!({"metadata": {"name": "a"}, "spec": {"priorityLevelConfiguration": {"name": "b"}, "rules": [rule]}})
    }

    #[test]
    fn errors_have_kubernetes_words_and_order() {
        let resource = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "clusterScope": true}]);
        let (_, errors) = created(schema(
            &json!({"subjects": [{"kind": "User", "user": {"name": "u"}}], "resourceRules": resource}),
        ));
        assert_eq!(errors, [""; 0]);
        for (rule, expected) in [
            (
                json!({}),
                vec![
                    "spec.rules[0].subjects: Required value: subjects must contain at least one value",
                    "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
                ],
            ),
            (
                json!({"subjects": [{"kind": "User", "serviceAccount": {}, "group": {"name": "g"}}, {"kind": "Robot"}], "resourceRules": resource}),
                vec![
                    "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
                    "spec.rules[0].subjects[0].serviceAccount: Forbidden: serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
                    "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
                    "spec.rules[0].subjects[1].kind: Unsupported value: \"Robot\": supported values: \"Group\", \"ServiceAccount\", \"User\"",
                ],
            ),
            (
                json!({"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "A"}}], "nonResourceRules": [{"nonResourceURLs": ["x", "/a*"]}]}),
                vec![
                    "spec.rules[0].subjects[0].serviceAccount.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                    "spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account",
                    "spec.rules[0].nonResourceRules[0].verbs: Required value: verbs must contain at least one value",
                    "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"x\": must start with slash",
                    "spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: \"/a*\": wildcard can only do suffix matching",
                ],
            ),
        ] {
            assert_eq!(created(schema(&rule)).1, expected);
        }
    }

    #[test]
    fn the_spec_of_a_mandatory_schema_is_fixed() {
        let object = json!({"metadata": {"name": "exempt"}, "spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1}});
        assert_eq!(
            created(object).1,
            [
                r#"spec: Invalid value: {"PriorityLevelConfiguration":{"Name":"exempt"},"MatchingPrecedence":1,"DistinguisherMethod":null,"Rules":null}: spec of 'exempt' must equal the fixed value"#
            ]
        );
    }

    #[test]
    fn the_generation_follows_the_spec_and_a_status_changes_nothing_else() {
        let (old, _) = created(schema(&json!({"subjects": []})));
        assert_eq!(number(&old, &["metadata", "generation"]), Some(1));
        let update = |part, change: fn(&mut Value)| {
            let mut new = old.clone();
            change(&mut new);
            FLOW_SCHEMA.strategy.prepare_update(part, &mut new, &old, &facts::admission());
            new
        };
        let generation = |object: &Value| number(object, &["metadata", "generation"]);
        let relabelled = update(Part::Main, |new| {
            new["metadata"]["labels"] = json!({"a": "b"});
            new["spec"]["rules"][0]["subjects"] = Value::Null;
        });
        assert_eq!(generation(&relabelled), Some(1));
        let changed = update(Part::Main, |new| new["spec"]["matchingPrecedence"] = json!(5));
        assert_eq!(generation(&changed), Some(2));
        let status = update(Part::Status, |new| {
            new["metadata"]["labels"] = json!({"a": "b"});
            new["metadata"]["resourceVersion"] = json!("7");
            new["spec"] = json!({});
            new["status"] = json!({"conditions": [{"type": "Dangling", "status": "True"}]});
        });
        assert_eq!(status["spec"], old["spec"]);
        assert_eq!(status["metadata"]["labels"], Value::Null);
        assert_eq!(status["metadata"]["resourceVersion"], "7");
        assert_eq!(dangling(&status), "True");
        assert_eq!(dangling(&old), "?");
    }

    #[test]
    fn conditions_have_distinct_types() {
        let new = json!({"status": {"conditions": [{"type": "A"}, {"type": "A"}, {}]}});
        let errors =
            FLOW_SCHEMA.strategy.validate_update(Part::Status, &new, &new, &facts::admission());
        assert_eq!(
            facts::texts(&errors),
            [
                "status.conditions[1].type: Duplicate value: \"A\"",
                "status.conditions[2].type: Required value"
            ]
        );
    }
}
