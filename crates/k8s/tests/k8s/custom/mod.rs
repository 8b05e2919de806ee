//! The schemas of custom resources against the dialect: what the dialect accepts, the schema accepts;
//! and what the schema accepts is in force, or its status says why not.

mod generated;
mod judged;
mod mesh;
mod validate;

use evenkeel_fairness::dialect::{
    self,
    proposal::exhibited,
    stored::{ObjectKey, ObjectKind, StoredObject, Verdict, examine},
};
use evenkeel_k8s::custom::{FlowSchema, RequestPriority, definitions, mesh as of_a_mesh};
use kube::{CustomResourceExt as _, Resource};
use serde_json::{Value, json};

use self::{
    judged::Judge,
    validate::{Schema, problems},
};

fn kind(object: &Value) -> ObjectKind {
    match object["kind"].as_str() {
        Some("FlowSchema") => ObjectKind::FlowSchema,
        _ => ObjectKind::RequestPriority,
    }
}

/// What the schema says of the object. The rest of it is the server's.
fn rejected(object: &Value) -> Vec<String> {
    let problems = problems(Schema::of(kind(object)), object);
    let judged = Judge::of(kind(object)).problems(object);
    assert_eq!(problems.is_empty(), judged.is_empty(), "{object}: {problems:?}, {judged:?}");
    problems
}

/// The verdict on the object with its default values, as the server would store it.
fn verdict(object: &Value) -> Verdict {
    let kind = kind(object);
    let name = object["metadata"]["name"].as_str().unwrap().into();
    let stored = StoredObject::new(&Schema::of(kind).stored(object));
    let mut examined = examine(&[(ObjectKey { kind, name }, stored)].into(), None);
    examined.verdicts.pop_first().unwrap().1
}

fn reason(object: &Value) -> &'static str {
    verdict(object).conditions[0].reason
}

/// Whether files may have it.
fn is_valid_in_files(object: &Value) -> bool {
    dialect::load("test.json", &object.to_string()).compile().is_ok()
}

fn level(spec: Value) -> Value {
    json!({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "RequestPriority",
        "metadata": {"name": "test"}, "spec": spec})
}

fn schema(spec: Value) -> Value {
    json!({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "FlowSchema",
        "metadata": {"name": "test"}, "spec": spec})
}

/// A schema with one test.
fn testing(test: Value) -> Value {
    schema(json!({"requestPriority": {"name": "low"}, "match": [{"and": [test]}]}))
}

fn distinguishing(by: Value) -> Value {
    let test = json!({"equals": {"field": "resource", "value": "pods"}});
    schema(json!({"requestPriority": {"name": "low"}, "flowDistinguisher": by,
        "match": [{"and": [test]}]}))
}

#[test]
fn examples_and_the_objects_that_the_proposal_exhibits_are_valid() {
    let text = include_str!("../../../../../examples/fairness/tenants/tenants.yaml");
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let with = |kind: &str, object: Value| {
        let mut object = object;
        object["kind"] = kind.into();
        object
    };
    for level in &exhibited().levels {
        objects.push(with("RequestPriority", serde_json::to_value(level).unwrap()));
    }
    for schema in &exhibited().schemas {
        objects.push(with("FlowSchema", serde_json::to_value(schema).unwrap()));
    }
    assert_eq!(objects.len(), 8 + 10);
    for object in &objects {
        assert_eq!(rejected(object), [""; 0], "{object}");
        assert_ne!(reason(object), "Invalid", "{object}");
    }
}

#[test]
fn objects_that_the_schema_rejects_are_rejected_with_the_field() {
    let plain = json!({"assuredConcurrencyShares": 1, "queues": 8, "handSize": 2,
        "queueLengthLimit": 5});
    let but = |name: &str, value: Value| {
        let mut spec = plain.clone();
        spec[name] = value;
        level(spec)
    };
    let equals = json!({"field": "user", "value": "a"});
    let cases = [
        (but("exempt", json!(true)), "spec: an exempt level has no limits"),
        (level(json!({})), "spec: a level that is not exempt needs"),
        (but("queues", json!(null)), "spec: a level that is not exempt needs"),
        (but("queues", json!(0)), "spec.queues: minimum"),
        (but("queues", json!(67_108_865)), "spec.queues: maximum"),
        (but("queues", json!("8")), "spec.queues: type"),
        (but("handSize", json!(null)), "spec: handSize is required"),
        (but("handSize", json!(9)), "spec: handSize must be at most queues"),
        (but("handSize", json!(20)), "spec.handSize: maximum"),
        (but("queueLengthLimit", json!(0)), "spec.queueLengthLimit: minimum"),
        (but("assuredConcurrencyShares", json!(-1)), "spec.assuredConcurrencyShares: minimum"),
        (but("assuredConcurrencyShares", json!(1.5)), "spec.assuredConcurrencyShares: type"),
        (schema(json!({"match": []})), "spec.requestPriority: required"),
        (schema(json!({"requestPriority": {"name": "a"}})), "spec.match: required"),
        (
            schema(json!({"requestPriority": {"name": ""}, "match": []})),
            "spec.requestPriority.name: minLength",
        ),
        (
            schema(json!({"requestPriority": {}, "match": []})),
            "spec.requestPriority.name: required",
        ),
        (
            schema(json!({"requestPriority": {"name": "a"}, "match": [{}]})),
            "spec.match[0].and: required",
        ),
        (
            schema(json!({"requestPriority": {"name": "a"}, "match": [],
                "matchingPriority": 3_000_000_000_u64})),
            "spec.matchingPriority: maximum",
        ),
        (testing(json!({})), "spec.match[0].and[0]: oneOf"),
        (testing(json!({"equal": equals})), "spec.match[0].and[0]: oneOf"),
        (testing(json!({"equals": equals, "notEquals": equals})), "spec.match[0].and[0]: oneOf"),
        (
            testing(json!({"equals": {"field": "user"}})),
            "spec.match[0].and[0].equals.value: required",
        ),
        (
            testing(json!({"equals": {"field": "colour", "value": ""}})),
            "spec.match[0].and[0].equals.field: pattern",
        ),
        (
            testing(json!({"equals": {"field": "header:a b", "value": ""}})),
            "spec.match[0].and[0].equals.field: pattern",
        ),
        (
            testing(json!({"patternMatch": {"field": "user", "pattern": "a".repeat(4097)}})),
            "spec.match[0].and[0].patternMatch.pattern: maxLength",
        ),
        (distinguishing(json!({})), "spec.flowDistinguisher.source: required"),
        (distinguishing(json!({"source": "group"})), "spec.flowDistinguisher: a user has several"),
        (distinguishing(json!({"source": "verb"})), "spec.flowDistinguisher.source: pattern"),
        (distinguishing(json!({"source": "header:"})), "spec.flowDistinguisher.source: pattern"),
        (
            distinguishing(json!({"source": "user", "regex": "a"})),
            "spec.flowDistinguisher.regex: needs a capturing group",
        ),
        (
            distinguishing(json!({"source": "user", "transformation": {"regex": "a"}})),
            "spec.flowDistinguisher.transformation.regex: needs a capturing group",
        ),
        (
            distinguishing(json!({"source": "user", "regex": "(a)",
                "transformation": {"regex": "(a)"}})),
            "spec.flowDistinguisher: set either transformation or regex",
        ),
    ];
    for (object, expected) in cases {
        let rejected = rejected(&object);
        assert!(rejected.iter().any(|line| line.starts_with(expected)), "{object}: {rejected:?}");
        assert!(!is_valid_in_files(&object), "{object}");
    }
}

/// What a schema can't see is a condition. A case that moves to the other table is an improvement.
#[test]
fn objects_that_only_the_dialect_rejects_are_told_why() {
    let by_namespace = json!({"requestPriority": {"name": "low"}, "match": [{"and": []}],
        "flowDistinguisher": {"source": "namespace"}});
    let bytes = "é".repeat(4000);
    let cases = [
        (
            level(json!({"assuredConcurrencyShares": 1, "queues": 128, "handSize": 9,
                "queueLengthLimit": 1})),
            "spec.handSize: hands of 9",
        ),
        (
            level(json!({"assuredConcurrencyShares": 0, "queues": 1, "queueLengthLimit": 1})),
            "spec.assuredConcurrencyShares: ",
        ),
        (schema(by_namespace), "spec.flowDistinguisher.source: match[0] accepts requests"),
        (
            testing(json!({"patternMatch": {"field": "user", "pattern": "("}})),
            "spec.match[0].and[0]: invalid regular expression",
        ),
        (
            testing(json!({"patternMatch": {"field": "user", "pattern": r"(\w{1000}){1000}"}})),
            "spec.match[0].and[0]: the expression takes more than",
        ),
        (
            testing(json!({"patternMatch": {"field": "user", "pattern": bytes}})),
            "spec.match[0].and[0]: the expression is longer than",
        ),
        (testing(json!({"equals": null})), "spec.match[0].and[0]: equals needs `field`"),
        (
            testing(json!({"equals": null, "field": "user"})),
            "spec.match[0].and[0]: equals takes `field` and `value`",
        ),
        (
            testing(json!({"equals": null, "field": "user", "value": null})),
            "spec.match[0].and[0]: equals takes `field` and `value`",
        ),
        (
            testing(json!({"equals": {"field": "user", "value": "a"}, "field": "user"})),
            "spec.match[0].and[0]: has operands both inside and beside equals",
        ),
        (
            distinguishing(json!({"source": "user", "regex": "(?:a)"})),
            "spec.flowDistinguisher.regex: has no capturing group",
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(rejected(&object), [""; 0], "{object}");
        let verdict = verdict(&object);
        let told = &verdict.conditions[0];
        assert_eq!((told.reason, told.is_true), ("Invalid", false), "{object}");
        assert!(told.message.starts_with(expected), "{object}: {}", told.message);
    }
}

#[test]
fn both_forms_of_tests_are_valid_and_mean_the_same() {
    for (operator, operand, value) in [
        ("equals", "value", json!("a")),
        ("notInSet", "set", json!(["a"])),
        ("superSet", "set", json!([])),
        ("patternMatch", "pattern", json!("a.*")),
    ] {
        let inside = testing(json!({operator: {"field": "header:X-A", operand: value}}));
        let beside =
            testing(json!({operator: null, "field": "header:X-A", operand: value.clone()}));
        for object in [&inside, &beside] {
            assert_eq!(rejected(object), [""; 0], "{object}");
            assert_eq!(reason(object), "Dangling", "{object}");
        }
    }
}

#[test]
fn definitions_are_named_as_the_api_wants_them_and_collide_with_no_kind_of_kubernetes() {
    let definitions = definitions();
    for definition in &definitions {
        let spec = &definition["spec"];
        let name = format!("{}.{}", spec["names"]["plural"], spec["group"]).replace('"', "");
        assert_eq!(definition["metadata"]["name"], name);
        assert_eq!((&spec["scope"], &spec["group"]), (&json!("Cluster"), &json!("evenkeel.dev")));
        assert_eq!(spec["names"]["categories"], json!(["evenkeel"]));
        assert_ne!(spec["names"]["shortNames"], json!(["fs"]));
        assert_eq!(spec["versions"][0]["subresources"], json!({"status": {}}));
    }
    assert_eq!(FlowSchema::crd_name(), "flowschemas.evenkeel.dev");
    assert_eq!(RequestPriority::api_version(&()), "evenkeel.dev/v1alpha1");
    assert_eq!(definitions.len(), 2);
}

/// `kubectl explain` shows nothing for a field without one.
#[test]
fn every_field_has_a_description() {
    fn walk(schema: &Value, path: &str, missing: &mut Vec<String>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if !field["description"].as_str().is_some_and(|text| text.ends_with('.')) {
                missing.push(path.clone());
            }
            walk(field, &path, missing);
            walk(&field["items"], &format!("{path}[]"), missing);
        }
    }
    for definition in definitions().into_iter().chain(of_a_mesh::definitions()) {
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut missing = Vec::new();
        walk(schema, "", &mut missing);
        assert_eq!(missing, [""; 0]);
        assert!(!schema["description"].as_str().unwrap().contains('\n'));
    }
}
