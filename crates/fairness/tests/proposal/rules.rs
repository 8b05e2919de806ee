//! Rules that are decided when a configuration is compiled.

use evenkeel_fairness::{
    config::{Field, Op, Predicate, Source},
    dialect::Finding,
};

use super::{EVERYTHING, QUEUES, a_level, a_schema, codes, compile, schema, schema_names};

#[test]
fn matching_priority_is_1000_unless_given_and_ties_go_by_name() {
    let test = "  match: [{and: [{equals: {field: user, value: U}}]}]\n";
    let of = |name: &str, priority: &str| {
        a_schema(name, "plain", &format!("{priority}{}", test.replace('U', name)))
    };
    let objects = [
        a_level("plain", QUEUES),
        of("late", "  matchingPriority: 1001\n"),
        of("b", ""),
        of("a", "  matchingPriority: 1000\n"),
        of("a-1", "  matchingPriority: null\n"),
        of("B", ""),
        of("early", "  matchingPriority: -5\n"),
    ];
    let compiled = compile(objects.iter().map(String::as_str));
    let order = ["early", "B", "a", "a-1", "b", "late", "system-top", "non-top-backstop"];
    assert_eq!(schema_names(&compiled.config), order);
    assert_eq!(schema(&compiled.config, "b").precedence, 1000);
}

#[test]
fn hands_must_be_dealable_by_the_falling_factorial() {
    let cases = [
        ("queues: 1", true),
        ("queues: 1, handSize: 1", true),
        ("queues: 1, handSize: 2", false),
        ("queues: 2", false),
        ("queues: 16, handSize: 16", true),
        ("queues: 128, handSize: 8", true),
        ("queues: 128, handSize: 9", false),
        ("queues: 8, handSize: 9", false),
        ("queues: 8, handSize: 0", false),
        ("queues: 0", false),
        ("queues: 4000000000, handSize: 1", false),
    ];
    for (queues, sound) in cases {
        let spec = format!("assuredConcurrencyShares: 0, queueLengthLimit: 1, {queues}");
        let level = a_level("a", &spec);
        let outcome = super::load_all([level.as_str()]).compile();
        assert_eq!(outcome.is_ok(), sound, "{queues}: {outcome:?}");
    }
}

#[test]
fn a_namespace_tells_flows_apart_only_where_every_request_is_for_a_resource() {
    let cases = [
        ("[]", true),
        ("[{and: []}]", false),
        ("[{and: [{equals: {field: resource, value: pods}}]}]", true),
        ("[{and: [{equals: {field: resource, value: \"\"}}]}]", false),
        ("[{and: [{notEquals: {field: namespace, value: \"\"}}]}]", true),
        ("[{and: [{notEquals: {field: namespace, value: a}}]}]", false),
        ("[{and: [{inSet: {field: apiGroup, set: [apps, batch]}}]}]", true),
        ("[{and: [{inSet: {field: apiGroup, set: [apps, \"\"]}}]}]", false),
        ("[{and: [{superSet: {field: resource, set: [pods]}}]}]", true),
        ("[{and: [{superSet: {field: resource, set: []}}]}]", false),
        ("[{and: [{patternMatch: {field: name, pattern: \"a.*\"}}]}]", true),
        ("[{and: [{patternMatch: {field: name, pattern: \".*\"}}]}]", false),
        ("[{and: [{notPatternMatch: {field: name, pattern: \".*\"}}]}]", true),
        ("[{and: [{equals: {field: user, value: a}}]}]", false),
        (
            "[{and: [{equals: {field: user, value: a}}, {equals: {field: resource, value: pods}}]}]",
            true,
        ),
        ("[{and: [{equals: {field: resource, value: pods}}]}, {and: []}]", false),
    ];
    for (test, allowed) in cases {
        let rest = format!("  flowDistinguisher: {{source: namespace}}\n  match: {test}\n");
        let objects = [a_level("plain", QUEUES), a_schema("s", "plain", &rest)];
        let outcome = super::load_all(objects.iter().map(String::as_str)).compile();
        assert_eq!(outcome.is_ok(), allowed, "{test}: {outcome:?}");
    }
}

#[test]
fn distinguishers_compile_to_their_source_and_transformation() {
    let cases = [
        ("{source: user}", Source::User, None),
        ("{source: group, regex: \"team-(.*)\"}", Source::Group, Some("team-(.*)")),
        ("{source: user, transformation: {regex: \"(.)x\"}}", Source::User, Some("(.)x")),
        ("{source: \"header:X-Tenant\"}", Source::Header("x-tenant".into()), None),
    ];
    for (distinguisher, source, pattern) in cases {
        let rest = format!("  flowDistinguisher: {distinguisher}\n{EVERYTHING}");
        let objects = [a_level("plain", QUEUES), a_schema("s", "plain", &rest)];
        let compiled = compile(objects.iter().map(String::as_str));
        let got = schema(&compiled.config, "s").distinguisher.clone().unwrap();
        assert_eq!(got.source, source, "{distinguisher}");
        assert_eq!(got.transform.as_ref().map(|t| &*t.pattern), pattern, "{distinguisher}");
    }
}

#[test]
fn a_transformation_captures_of_whole_texts_only() {
    let rest = format!("  flowDistinguisher: {{source: user, regex: \"u-(a|ab)\"}}\n{EVERYTHING}");
    let objects = [a_level("plain", QUEUES), a_schema("s", "plain", &rest)];
    let compiled = compile(objects.iter().map(String::as_str));
    let distinguisher = schema(&compiled.config, "s").distinguisher.clone().unwrap();
    let regex = distinguisher.transform.unwrap().regex;
    let captured = |text| regex.captures(text).map(|c| c[1].to_owned());
    assert_eq!(captured("u-ab"), Some("ab".to_owned()));
    assert_eq!(captured("u-abc"), None);
    assert_eq!(captured("my u-a"), None);
}

#[test]
fn tests_compile_to_field_operator_and_sense() {
    let rest = "  match:\n  - and:\n    - notInSet: {field: \"header:X-A\", set: [b, c]}\n    \
                - superSet:\n      field: user\n      set: [d]\n";
    let objects = [a_level("plain", QUEUES), a_schema("s", "plain", rest)];
    let compiled = compile(objects.iter().map(String::as_str));
    let Predicate::Match(any) = &schema(&compiled.config, "s").predicate else {
        panic!("the proposal's form");
    };
    let [first, second] = any[0].tests.as_slice() else { panic!("two tests") };
    assert_eq!((&first.field, first.negated), (&Field::Header("x-a".into()), true));
    assert!(matches!(&first.op, Op::InSet(set) if set.len() == 2));
    assert_eq!((&second.field, second.negated), (&Field::User, false));
    assert!(matches!(&second.op, Op::SuperSet(set) if &*set[0] == "d"));
}

#[test]
fn schemas_that_come_too_late_are_told() {
    let pods = "{equals: {field: resource, value: pods}}";
    let get = "{equals: {field: verb, value: get}}";
    let either = "{inSet: {field: resource, set: [pods, nodes]}}";
    let cases = [
        // the earlier, the later, is it out of reach
        (format!("[{{and: [{pods}]}}]"), format!("[{{and: [{pods}, {get}]}}]"), true),
        (format!("[{{and: [{pods}, {get}]}}]"), format!("[{{and: [{pods}]}}]"), false),
        (format!("[{{and: [{either}]}}]"), format!("[{{and: [{pods}]}}]"), true),
        (format!("[{{and: [{pods}]}}]"), format!("[{{and: [{either}]}}]"), false),
        (format!("[{{and: [{pods}]}}, {{and: [{get}]}}]"), format!("[{{and: [{get}]}}]"), true),
        (format!("[{{and: [{pods}]}}]"), format!("[{{and: [{pods}]}}, {{and: [{get}]}}]"), false),
        ("[{and: []}]".to_owned(), format!("[{{and: [{get}]}}]"), true),
    ];
    for (earlier, later, unreachable) in cases {
        let objects = [
            a_level("plain", QUEUES),
            a_schema("one", "plain", &format!("  match: {earlier}\n")),
            a_schema("two", "plain", &format!("  match: {later}\n")),
        ];
        let compiled = compile(objects.iter().map(String::as_str));
        let found =
            Finding::UnreachableFlowSchema { schema: "two".into(), by: "one".into(), tie: true };
        assert_eq!(compiled.findings.contains(&found), unreachable, "{earlier} then {later}");
    }
}

#[test]
fn a_level_without_shares_and_a_schema_without_tests_are_told() {
    let zero = a_level("zero", &QUEUES.replace("10", "0"));
    let never = a_schema("never", "zero", "  match: []\n");
    let compiled = compile([zero.as_str(), &never]);
    assert!(codes(&compiled).contains(&"ZeroShares"));
    assert!(codes(&compiled).contains(&"FlowSchemaNeverMatches"));
}

#[test]
fn findings_are_written_with_their_code() {
    let zero = a_level("zero", &QUEUES.replace("10", "0"));
    for finding in compile([zero.as_str()]).findings {
        assert_eq!(serde_json::to_value(&finding).unwrap()["code"], finding.code());
        assert!(!finding.to_string().is_empty());
    }
}

/// In such a configuration one client starves the others, and nothing looks wrong.
#[test]
fn flows_that_are_not_told_apart_are_warned_of() {
    let level = |spec: &str| {
        format!(
            "apiVersion: evenkeel.dev/v1alpha1\nkind: RequestPriority\nmetadata: {{name: shared}}\n\
             spec: {{catchAll: true, assuredConcurrencyShares: 10, {spec}}}\n"
        )
    };
    let schema = |distinguisher: &str| {
        format!(
            "apiVersion: evenkeel.dev/v1alpha1\nkind: FlowSchema\nmetadata: {{name: all}}\n\
             spec: {{requestPriority: {{name: shared}}, {distinguisher}match: [{{and: []}}]}}\n"
        )
    };
    let by_user = "flowDistinguisher: {source: user}, ";
    let fair = "queues: 64, handSize: 4, queueLengthLimit: 50";
    let whole = "queues: 4, handSize: 4, queueLengthLimit: 50";
    for (spec, distinguisher, expected) in [
        (fair, by_user, None),
        (fair, "", Some("MissingDistinguisher")),
        (whole, by_user, Some("HandCoversAllQueues")),
        ("queues: 1, queueLengthLimit: 50", "", None),
    ] {
        let compiled = compile([level(spec).as_str(), schema(distinguisher).as_str()]);
        let warned = codes(&compiled);
        let new = |code: &&&str| matches!(**code, "MissingDistinguisher" | "HandCoversAllQueues");
        assert_eq!(warned.iter().find(new).copied(), expected, "{spec} {distinguisher}");
    }
}
