//! Definitions that are huge, deep, costly or odd.

use std::time::{Duration, Instant};

use evenkeel_store::schema;
use http::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use super::{
    DEFINITIONS, NAME, WIDGETS, anything, definition, delete, establish, start, version, widget,
    widgets, with_field,
};
use crate::{
    kinds::{CUSTOM_RESOURCE_DEFINITION, facts},
    server::testing::Server,
    status::Failure,
    types,
};

/// Of a response to any definition.
const LARGEST_ANSWER: usize = 4 << 20;

/// A definition, the status code, and words of the message.
type Case = (&'static str, Value, u16, &'static [&'static str]);

async fn check(cases: Vec<Case>) {
    let server = start().await;
    for (what, definition, code, words) in cases {
        check_one(&server, what, &definition, code, words).await;
    }
    server.stop().await;
}

async fn check_one(server: &Server, what: &str, body: &Value, code: u16, words: &[&str]) {
    let begin = Instant::now();
    let (found, answer) = server.ask(Method::POST, DEFINITIONS, body).await;
    let message = answer["message"].as_str().unwrap_or_default();
    let shown: String = message.chars().take(600).collect();
    assert_eq!(found, code, "{what}: {shown}");
    assert!(begin.elapsed() < Duration::from_secs(20), "{what}: {:?}", begin.elapsed());
    assert!(answer.to_string().len() < LARGEST_ANSWER, "{what}: {}", answer.to_string().len());
    for word in words {
        assert!(message.contains(word), "{what}: {word} in {shown}");
    }
    if found == 201 {
        let name = body["metadata"]["name"].as_str().unwrap();
        server.until(&super::path(name), |found| super::is_true(found, super::ESTABLISHED)).await;
        delete(server, name).await;
    }
}

/// An object schema with n properties.
fn wide(n: usize, property: impl Fn(usize) -> Value) -> Value {
    let properties: Map<String, Value> = (0..n).map(|n| (format!("p{n}"), property(n))).collect();
    with_field(json!({"type": "object", "properties": properties}))
}

fn deep(levels: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..levels {
        schema = json!({"type": "object", "properties": {"p": schema}});
    }
    schema
}

fn rule(field: Value, rule: &str) -> Value {
    let mut field = field;
    field["x-kubernetes-validations"] = json!([{"rule": rule}]);
    with_field(field)
}

fn lists(levels: usize) -> Value {
    (0..levels)
        .fold(json!({"type": "integer"}), |inner, _| json!({"type": "array", "items": inner}))
}

const FIELD: &str = "spec.validation.openAPIV3Schema.properties[spec].properties[field]";

#[tokio::test]
async fn large_and_deep_schemas_are_accepted_or_refused_by_name() {
    let text = |n: usize| json!({"type": "string", "description": format!("The {n}th of them.")});
    let wrong = |_| json!({"type": "text"});
    check(vec![
        ("1 MB", widgets(&wide(17_000, text)), 201, &[]),
        ("1 MB of errors", widgets(&wide(40_000, wrong)), 422, &[FIELD, "Unsupported value"]),
        ("3 MB", widgets(&wide(60_000, text)), 413, &["limit is 3145728"]),
        ("45 levels", widgets(&deep(45)), 201, &[]),
        ("100 levels", widgets(&deep(100)), 400, &["openAPIV3Schema.properties", "100 levels"]),
        ("120 levels", widgets(&deep(120)), 400, &["openAPIV3Schema.properties", "100 levels"]),
    ])
    .await;
}

#[tokio::test]
async fn schemas_that_are_not_structural_are_refused_by_field() {
    let untyped = json!({"properties": {"a": {"type": "string"}}});
    let unlisted = json!({"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]});
    let typed = json!({"type": "object", "not": {"type": "object"}});
    let unnamed = json!({"type": "string", "$ref": "#/definitions/x"});
    let mut in_items = json!({"type": "array", "items": {"$ref": "http://example.com/x"}});
    in_items["items"]["type"] = json!("string");
    check(vec![
        ("no type", widgets(&with_field(untyped)), 422, &[FIELD, "type: Required value"]),
        ("not in structure", widgets(&unlisted), 422, &["anyOf[0].properties[a]"]),
        ("type in not", widgets(&with_field(typed)), 422, &[FIELD, "not.type: Forbidden"]),
        ("$ref", widgets(&with_field(unnamed)), 422, &[FIELD, "$ref", "Forbidden"]),
        ("$ref in items", widgets(&with_field(in_items)), 422, &["items.$ref", "Forbidden"]),
        ("no schema", widgets(&Value::Null), 422, &["openAPIV3Schema: Required value"]),
        ("a number", widgets(&json!(1)), 400, &["openAPIV3Schema"]),
        ("a list of types", widgets(&json!({"type": ["object"]})), 400, &["type"]),
    ])
    .await;
}

#[tokio::test]
async fn costly_patterns_are_refused_or_take_linear_time() {
    let pattern =
        |pattern: &str| widgets(&with_field(json!({"type": "string", "pattern": pattern})));
    let repeated = "((((a{1,100}){1,100}){1,100}){1,100}){1,100}";
    check(vec![
        ("repeated repetition", pattern(repeated), 422, &[FIELD, "pattern: Invalid value"]),
        ("100 KB", pattern(&"(ab|c)*".repeat(15_000)), 422, &[FIELD, "pattern: Invalid value"]),
        ("deep", pattern(&format!("{}a{}", "(".repeat(50_000), ")".repeat(50_000))), 422, &[FIELD]),
        ("open", pattern("["), 422, &[FIELD, "pattern: Invalid value"]),
        ("back reference", pattern(r"(a)\1"), 422, &[FIELD, "pattern: Invalid value"]),
        ("look ahead", pattern("a(?=b)"), 422, &[FIELD, "pattern: Invalid value"]),
        ("Go only", pattern(r"\Qa.b\E\z"), 201, &[]),
        ("Unicode class", pattern(r"^\p{Greek}+$"), 201, &[]),
    ])
    .await;
    let server = start().await;
    for redos in
        ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*(.*)*(.*)*x$", "^(([a-z])+.)+[A-Z]([a-z])+$"]
    {
        establish(&server, &pattern(redos)).await;
        let begin = Instant::now();
        let text = format!("{}!", "a".repeat(200_000));
        let (code, answer) =
            server.ask(Method::POST, WIDGETS, &widget("a", &json!({"field": text}))).await;
        assert_eq!(code, 422, "{redos}");
        assert!(answer["message"].as_str().unwrap().contains("spec.field"));
        assert!(begin.elapsed() < Duration::from_secs(10), "{redos}: {:?}", begin.elapsed());
        delete(&server, NAME).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn costly_rules_are_refused_by_field_and_reason() {
    let nested = "self.all(a, a.all(b, b.all(c, c.all(d, d > 0))))";
    let text = json!({"type": "string"});
    let squares = "self.all(a, self.all(b, self.all(c, a + b > c)))";
    let sum = vec!["1"; 20_000].join(" + ") + " > 0";
    let parentheses = format!("{}self{} == ''", "(".repeat(5_000), ")".repeat(5_000));
    let conditions = "true ? ".repeat(3_000) + "true" + &" : false".repeat(3_000);
    let doubled = format!("[self]{}.size() > 0", ".map(a, a + a)".repeat(40));
    let long = format!("self != '{}'", "x".repeat(100_000));
    let many: Vec<Value> = (0..5_000).map(|n| json!({"rule": format!("self != '{n}'")})).collect();
    check(vec![
        ("four loops", widgets(&rule(lists(4), nested)), 422, &[FIELD, "estimated rule cost"]),
        ("cubic", widgets(&rule(lists(1), squares)), 422, &[FIELD, "estimated rule cost"]),
        ("a long sum", widgets(&rule(text.clone(), &sum)), 422, &[FIELD]),
        ("parentheses", widgets(&rule(text.clone(), &parentheses)), 422, &[FIELD]),
        ("conditions", widgets(&rule(text.clone(), &conditions)), 422, &[FIELD]),
        ("doubled", widgets(&rule(text.clone(), &doubled)), 422, &[FIELD]),
        ("100 KB", widgets(&rule(text.clone(), &long)), 422, &[FIELD]),
        ("not CEL", widgets(&rule(text.clone(), "\u{0}\u{202e}🦀 ==")), 422, &[FIELD]),
        ("not a condition", widgets(&rule(text.clone(), "self")), 422, &[FIELD, "bool"]),
        (
            "many rules",
            widgets(&with_field(
                json!({"type": "string", "maxLength": 5, "x-kubernetes-validations": many}),
            )),
            201,
            &[],
        ),
    ])
    .await;
}

#[tokio::test]
async fn names_in_great_number_and_at_their_limits_are_judged() {
    let mut versions = widgets(&anything());
    let all = (0..1_000).map(|n| {
        let mut version = version(&format!("v{n}"), &anything());
        version["storage"] = json!(n == 0);
        version
    });
    versions["spec"]["versions"] = all.collect();
    let mut short_names = widgets(&anything());
    short_names["spec"]["names"]["shortNames"] = (0..10_000).map(|n| format!("w{n}")).collect();
    let mut same = widgets(&anything());
    same["spec"]["names"]["shortNames"] = json!(vec!["w"; 10_000]);
    let mut wrong = widgets(&anything());
    wrong["spec"]["names"]["shortNames"] = json!(vec!["\u{202e}"; 10_000]);
    let mut stored = widgets(&anything());
    stored["spec"]["versions"] = json!(vec![version("v1", &anything()); 1_000]);
    let long = "a".repeat(63);
    let group = format!("{long}.{long}.{}", "b".repeat(253 - 3 * 64));
    let of = |group: &str, plural: &str, kind: &str| definition(group, plural, kind, &anything());
    check(vec![
        ("1,000 versions", versions, 201, &[]),
        ("1,000 equal versions", stored, 422, &["spec.versions"]),
        ("10,000 short names", short_names, 201, &[]),
        ("10,000 equal short names", same, 201, &[]),
        ("10,000 wrong short names", wrong, 422, &["spec.names.shortNames"]),
        ("longest", of(&group, &long, &"K".repeat(59)), 201, &[]),
        ("long group", of(&(group.clone() + "c"), &long, "K"), 422, &["metadata.name"]),
        ("long plural", of("b.c", &"a".repeat(64), "K"), 422, &["spec.names.plural"]),
        ("long kind", of("b.c", "ks", &"K".repeat(64)), 422, &["spec.names.kind"]),
        ("Greek", of("παράδειγμα.gr", "ks", "K"), 422, &["spec.group"]),
        ("emoji", of("b.c", "🦀s", "🦀"), 422, &["spec.names.plural", "spec.names.kind"]),
        ("reversed", of("b.c", "k\u{202e}s", "K\u{0}"), 422, &["spec.names.plural"]),
        ("a path", of("b.c", "../../x", "K"), 422, &["spec.names.plural"]),
        ("no group", of("", "ks", "K"), 422, &["spec.group"]),
        ("one word", of("b", "ks", "K"), 422, &["spec.group"]),
    ])
    .await;
}

// === time ===

/// Everything that is decided about a definition when it is created, in CPU time of this thread.
fn time_to_judge(definition: &Value) -> f64 {
    let text = definition.to_string();
    let least = (0..3).map(|_| {
        let before = clock();
        let kind = &CUSTOM_RESOURCE_DEFINITION;
        let of = types::schema().named(&kind.schema).unwrap();
        let mut value = schema::decode(types::schema(), of, text.as_bytes()).unwrap().value;
        kind.strategy.default(&mut value, &facts::admission());
        kind.strategy.prepare_create(&mut value, &facts::admission());
        let errors = kind.strategy.validate_create(&value, &facts::admission());
        let _ = kind.strategy.warnings(&value, None);
        let refused = Failure::invalid(kind, "a", &errors);
        assert!(refused.status().to_string().len() < LARGEST_ANSWER);
        clock() - before
    });
    least.fold(f64::MAX, f64::min)
}

fn clock() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[test]
fn a_definition_of_any_shape_is_judged_in_near_linear_time() {
    type Shape = (&'static str, usize, fn(usize) -> Value);
    let shapes: [Shape; 8] = [
        ("properties", 2_000, |n| widgets(&wide(n, |_| json!({"type": "string"})))),
        ("wrong properties", 2_000, |n| widgets(&wide(n, |_| json!({"type": "x", "$ref": "y"})))),
        ("patterns", 100, |n| {
            widgets(&wide(n, |n| json!({"type": "string", "pattern": format!("^(a|b){{50}}{n}$")})))
        }),
        ("rules", 100, |n| {
            let rules: Vec<Value> =
                (0..n).map(|n| json!({"rule": format!("self != '{n}'")})).collect();
            widgets(&with_field(
                json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": rules}),
            ))
        }),
        ("alternatives", 1_000, |n| {
            let all: Vec<Value> = (0..n).map(|n| json!({"minLength": n})).collect();
            widgets(&with_field(json!({"type": "string", "anyOf": all})))
        }),
        ("enums", 4_000, |n| {
            let all: Vec<Value> = (0..n).map(|n| json!(format!("e{n}"))).collect();
            widgets(&with_field(json!({"type": "string", "enum": all})))
        }),
        ("versions", 50, |n| {
            let mut definition = widgets(&anything());
            let all =
                (0..n).map(|n| version(&format!("v{n}"), &wide(20, |_| json!({"type": "string"}))));
            definition["spec"]["versions"] = all.collect();
            definition
        }),
        ("short names", 2_000, |n| {
            let mut definition = widgets(&anything());
            definition["spec"]["names"]["shortNames"] = (0..n).map(|n| format!("w{n}")).collect();
            definition
        }),
    ];
    for (what, n, shape) in shapes {
        let ratio = |n: usize| time_to_judge(&shape(4 * n)) / time_to_judge(&shape(n));
        let ratios: Vec<f64> = (0..3).map(|_| ratio(n)).collect();
        assert!(ratios.iter().any(|ratio| *ratio < 8.0), "{what}: {ratios:?}");
    }
}
