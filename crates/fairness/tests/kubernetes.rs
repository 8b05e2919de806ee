//! Kubernetes' dialect, where the recorded cases do not reach: files, findings, odd objects.

use evenkeel_fairness::{
    config::{Handling, Names, Predicate, Subject, Url},
    dialect::{
        Compiled, Fault, Finding, Severity,
        kubernetes::{self, FieldErrorKind, FlowSchema, PriorityLevelConfiguration},
        load,
    },
};
use serde_json::{Value, json};

fn level(name: &str, spec: &Value) -> PriorityLevelConfiguration {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))
        .expect("the object has the right form")
}

fn schema(name: &str, precedence: i32, to: &str, rules: &Value) -> FlowSchema {
    let spec = json!({
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": to},
        "distinguisherMethod": {"type": "ByUser"},
        "rules": rules,
    });
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))
        .expect("the object has the right form")
}

fn queue() -> Value {
    let queuing = json!({"queues": 8, "handSize": 2, "queueLengthLimit": 5});
    json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}})
}

fn resources(user: &str, resources: &[&str]) -> Value {
    json!([{
        "subjects": [{"kind": "User", "user": {"name": user}}],
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": resources,
                           "clusterScope": true, "namespaces": ["*"]}],
    }])
}

fn codes(compiled: &Compiled) -> Vec<&str> {
    compiled.findings.iter().map(Finding::code).collect()
}

#[test]
fn the_defaults_compile_without_a_finding_and_pass_validation() {
    let defaults = kubernetes::defaults();
    let compiled = kubernetes::compile(&defaults.levels, &defaults.schemas);
    assert_eq!(compiled.findings, []);
    assert!(compiled.config.schemas.iter().all(|schema| !schema.implied));
    for level in &defaults.levels {
        assert_eq!(kubernetes::validate_priority_level(level), []);
    }
    for schema in &defaults.schemas {
        assert_eq!(kubernetes::validate_flow_schema(schema), []);
    }
}

#[test]
fn with_nothing_the_mandatory_objects_are_implied() {
    let Compiled { config, findings, .. } = load("empty.yaml", "").compile().unwrap();
    assert_eq!(findings, []);
    assert!(config.levels.iter().all(|level| level.implied));
    assert_eq!(config.levels[0].handling, Handling::Reject);
    assert_eq!(config.levels[0].borrowing_limit_percent, None);
    assert_eq!(config.levels[1].handling, Handling::Exempt);
    assert_eq!(&*config.schemas[config.fallback].name, "catch-all");
}

#[test]
fn broken_levels_count_as_absent_and_their_schemas_dangle() {
    let broken = [
        ("no-body", json!({"type": "Limited"})),
        ("two-bodies", json!({"type": "Limited", "exempt": {}, "limited": {}})),
        ("exempt", json!({"type": "Exempt"})),
        ("mine", json!({"type": "Exempt", "exempt": {}})),
        ("no-queues", json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}})),
        ("what", json!({"type": "What"})),
        (
            "debt",
            json!({"type": "Limited", "limited": {"nominalConcurrencyShares": -1,
                        "limitResponse": {"type": "Reject"}}}),
        ),
    ];
    for (name, spec) in broken {
        let schema = schema("s", 5, name, &json!([]));
        let compiled = kubernetes::compile(&[level(name, &spec)], &[schema]);
        assert_eq!(codes(&compiled), ["InvalidPriorityLevel", "MissingPriorityLevel"], "{name}");
        assert!(compiled.findings.iter().all(|f| f.severity() == Severity::Error));
        assert_eq!(compiled.config.levels.len(), 2, "{name}");
    }
}

#[test]
fn of_two_objects_of_one_name_the_first_counts() {
    let levels = [level("a", &queue()), level("a", &json!({"type": "What"}))];
    let schemas = [schema("s", 5, "a", &json!([])), schema("s", 4, "b", &json!([]))];
    let compiled = kubernetes::compile(&levels, &schemas);
    assert_eq!(compiled.config.schemas.len(), 3);
    let seconds = codes(&compiled).into_iter().filter(|code| *code == "DuplicateName");
    assert_eq!(seconds.count(), 2);
}

#[test]
fn stars_are_wildcards_only_where_they_are() {
    let rules = json!([{
        "subjects": [{"kind": "Group", "group": {"name": "*"}}, {"kind": "Robot"}],
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*", "a"], "resources": ["pods/*"],
                           "namespaces": ["*"]}],
        "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["*", "/a/*", "/b*", "/c/*/d"]}],
    }]);
    let compiled = kubernetes::compile(&[level("a", &queue())], &[schema("s", 5, "a", &rules)]);
    let Predicate::Rules(compiled_rules) = &compiled.config.schemas[1].predicate else {
        panic!("Kubernetes' form");
    };
    let rule = &compiled_rules[0];
    assert_eq!(rule.subjects, [Subject::Anyone]);
    assert_eq!(rule.resource_rules[0].verbs, Names::Any);
    assert_eq!(rule.resource_rules[0].api_groups, Names::Of(vec!["*".into(), "a".into()]));
    let path = |exact: &str, prefix: &str| Url::Path { exact: exact.into(), prefix: prefix.into() };
    let urls = [Url::Any, path("/a/*", "/a/"), path("/b*", "/b/"), path("/c/*/d", "/c/*/d/")];
    assert_eq!(rule.non_resource_rules[0].urls, urls);
    let entries: Vec<&str> = compiled.findings.iter().filter_map(literal).collect();
    assert_eq!(entries, ["*", "pods/*", "/b*", "/c/*/d"]);
    assert!(codes(&compiled).contains(&"SubjectMatchesNobody"));
}

fn literal(finding: &Finding) -> Option<&str> {
    match finding {
        Finding::LiteralWildcard { entry, .. } => Some(entry),
        _ => None,
    }
}

#[test]
fn schemas_that_come_too_late_are_told() {
    let cases = [
        (resources("*", &["*"]), resources("a", &["pods"]), true),
        (resources("a", &["pods", "nodes"]), resources("a", &["pods"]), true),
        (resources("a", &["pods"]), resources("a", &["pods", "nodes"]), false),
        (resources("a", &["pods"]), resources("b", &["pods"]), false),
        (resources("a", &["pods"]), resources("*", &["pods"]), false),
        (resources("a", &["pods"]), resources("a", &["pods"]), true),
    ];
    for (earlier, later, unreachable) in cases {
        let schemas = [schema("z", 5, "a", &earlier), schema("a", 6, "a", &later)];
        let compiled = kubernetes::compile(&[level("a", &queue())], &schemas);
        let found =
            Finding::UnreachableFlowSchema { schema: "a".into(), by: "z".into(), tie: false };
        assert_eq!(compiled.findings.contains(&found), unreachable, "{earlier} then {later}");
    }
}

#[test]
fn files_are_held_to_validation_and_to_the_fields_there_are() {
    let head = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: FlowSchema\n";
    let rejected = format!("{head}metadata: {{name: A_b}}\nspec: {{matchingPrecedence: 1}}\n");
    let problems = load("a.yaml", &rejected).compile().unwrap_err();
    let fields: Vec<&str> = problems.iter().map(|p| p.field.as_str()).collect();
    assert_eq!(
        fields,
        ["metadata.name", "spec.matchingPrecedence", "spec.priorityLevelConfiguration.name"]
    );
    assert!(matches!(problems[2].fault, Fault::Invalid { kind: FieldErrorKind::Required, .. }));

    let slip = format!("{head}metadata: {{name: a}}\nspec: {{rules: [{{subject: []}}]}}\n");
    let problems = load("a.yaml", &slip).compile().unwrap_err();
    assert_eq!(problems[0].field, "spec.rules[0].subject");

    let wrong = format!("{head}metadata: {{name: a}}\nspec: {{matchingPrecedence: soon}}\n");
    let problems = load("a.yaml", &wrong).compile().unwrap_err();
    assert_eq!(problems[0].field, "spec.matchingPrecedence");
    assert_eq!(problems[0].to_string().split(':').next(), Some("a.yaml, document 1, FlowSchema a"));
}

#[test]
fn what_an_api_server_adds_to_objects_is_passed_over() {
    let text = r#"{"kind": "List", "items": [{
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "a", "uid": "u-1", "resourceVersion": "7", "managedFields": [{}]},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
        "status": {"conditions": [{"type": "x"}]}}]}"#;
    let compiled = load("list.json", text).compile().unwrap();
    assert_eq!(&*compiled.config.levels[0].uid, "u-1");
    assert_eq!(compiled.config.levels[0].shares, 30);
}
