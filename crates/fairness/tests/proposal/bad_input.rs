//! Input that is wrong: each problem says where and what, and spoils one object only.

use evenkeel_fairness::dialect::{Fault, load};
use proptest::prelude::*;

use super::{EVERYTHING, LEVELS, QUEUES, a_level, a_schema, load_all, problems};

/// The location, the field and some words of the one problem with `text` beside a sound level.
#[track_caller]
fn check(text: &str, field: &str, words: &str) {
    let told = problems([&*a_level("plain", QUEUES), text]);
    assert_eq!(told.len(), 1, "{text}: {told:#?}");
    assert_eq!(told[0].field, field, "{text}: {}", told[0]);
    let sentence = told[0].to_string();
    assert!(sentence.contains(words), "{text}: {sentence}");
    assert!(sentence.contains("document 2"), "{text}: {sentence}");
}

#[test]
fn levels_that_make_no_sense_are_rejected_with_the_field() {
    let cases = [
        ("assuredConcurrencyShares: -1", "spec.assuredConcurrencyShares", "-1"),
        ("assuredConcurrencyShares: 1.5", "spec.assuredConcurrencyShares", "1.5"),
        ("assuredConcurrencyShares: .nan", "spec.assuredConcurrencyShares", "expected u32"),
        ("assuredConcurrencyShares: .inf", "spec.assuredConcurrencyShares", "expected u32"),
        ("assuredConcurrencyShares: many", "spec.assuredConcurrencyShares", "many"),
        ("assuredConcurrencyShares: 99999999999", "spec.assuredConcurrencyShares", "999"),
        ("exempt: 1", "spec.exempt", "a boolean"),
        ("exempt: true, queues: 3", "spec.queues", "exempt"),
        ("queus: 3", "spec.queus", "unknown field"),
        ("queues: 1, queueLengthLimit: 1", "spec.assuredConcurrencyShares", "required"),
        ("assuredConcurrencyShares: 1, queueLengthLimit: 1", "spec.queues", "required"),
        ("assuredConcurrencyShares: 1, queues: 1", "spec.queueLengthLimit", "required"),
        (
            "assuredConcurrencyShares: 1, queues: 1, queueLengthLimit: 0",
            "spec.queueLengthLimit",
            "greater than 0",
        ),
        (
            "assuredConcurrencyShares: 1, queues: 0, queueLengthLimit: 1",
            "spec.queues",
            "greater than 0",
        ),
        (
            "assuredConcurrencyShares: 1, queues: 2, queueLengthLimit: 1",
            "spec.handSize",
            "more than one queue",
        ),
        (
            "assuredConcurrencyShares: 1, queues: 64, handSize: 11, queueLengthLimit: 1",
            "spec.handSize",
            "2^60",
        ),
        (
            "assuredConcurrencyShares: 1, queues: 100000000, handSize: 2, queueLengthLimit: 1",
            "spec.queues",
            "67108864",
        ),
    ];
    for (spec, field, words) in cases {
        check(&a_level("bad", spec), field, words);
    }
}

#[test]
fn another_version_of_a_known_group_says_which_is_read_and_how_to_get_it() {
    let beta = "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\n\
                metadata: {name: a}\n";
    check(beta, "apiVersion", "`kubectl get flowschemas.v1.flowcontrol.apiserver.k8s.io -o yaml`");
    let ours = "apiVersion: evenkeel.dev/v1\nkind: RequestPriority\nmetadata: {name: a}\n";
    check(ours, "apiVersion", "use evenkeel.dev/v1alpha1");
}

#[test]
fn schemas_that_make_no_sense_are_rejected_with_the_field() {
    let cases = [
        ("  matchingPriority: 1.5\n  match: []\n", "spec.matchingPriority", "1.5"),
        ("  matchingPriority: .nan\n  match: []\n", "spec.matchingPriority", "expected i32"),
        ("  matchingPriority: 3000000000\n  match: []\n", "spec.matchingPriority", "3000000000"),
        ("  match: {}\n", "spec.match", "sequence"),
        ("", "spec", "missing field `match`"),
        ("  match: [{or: []}]\n", "spec.match[0].or", "unknown field"),
        ("  match: [{and: [{}]}]\n", "spec.match[0].and[0]", "no operator"),
        (
            "  match: [{and: [{equal: {field: user, value: a}}]}]\n",
            "spec.match[0].and[0]",
            "unknown field",
        ),
        ("  match: [{and: [{equals: {field: user}}]}]\n", "spec.match[0].and[0]", "`value`"),
        ("  match: [{and: [{inSet: {field: user, value: a}}]}]\n", "spec.match[0].and[0]", "`set`"),
        ("  match: [{and: [{equals: {value: a}}]}]\n", "spec.match[0].and[0]", "`field`"),
        (
            "  match: [{and: [{equals: {field: colour, value: a}}]}]\n",
            "spec.match[0].and[0].equals.field",
            "colour",
        ),
        (
            "  match: [{and: [{equals: {field: user, value: 5}}]}]\n",
            "spec.match[0].and[0].equals.value",
            "string",
        ),
        (
            "  match: [{and: [{equals: {field: user, value: a}, field: user}]}]\n",
            "spec.match[0].and[0]",
            "both inside and beside",
        ),
        (
            "  match: [{and: [{equals: null, inSet: null, field: user}]}]\n",
            "spec.match[0].and[0]",
            "one operator",
        ),
        (
            "  match: [{and: [{equals: {field: \"header:a b\", value: a}}]}]\n",
            "spec.match[0].and[0].equals.field",
            "names no header",
        ),
        (
            "  match: [{and: [{patternMatch: {field: user, pattern: \"(\"}}]}]\n",
            "spec.match[0].and[0]",
            "regular expression",
        ),
        (
            "  match: [{and: [{patternMatch: {field: user, pattern: \"((a{100}){100}){100}\"}}]}]\n",
            "spec.match[0].and[0]",
            "memory",
        ),
        (
            "  flowDistinguisher: {source: colour}\n  match: []\n",
            "spec.flowDistinguisher.source",
            "colour",
        ),
        (
            "  flowDistinguisher: {source: group}\n  match: []\n",
            "spec.flowDistinguisher.source",
            "transformation",
        ),
        (
            "  flowDistinguisher: {source: user, regex: \"a\"}\n  match: []\n",
            "spec.flowDistinguisher.regex",
            "capturing group",
        ),
        (
            "  flowDistinguisher: {source: user, transformation: {regex: \"[\"}}\n  match: []\n",
            "spec.flowDistinguisher.transformation.regex",
            "regular expression",
        ),
        (
            "  flowDistinguisher: {source: user, regex: \"(a)\", transformation: {regex: \"(a)\"}}\n  match: []\n",
            "spec.flowDistinguisher.regex",
            "twice",
        ),
        ("  colour: red\n  match: []\n", "spec.colour", "unknown field"),
    ];
    for (rest, field, words) in cases {
        check(&a_schema("bad", "plain", rest), field, words);
    }
    check(
        &a_schema("bad", "\"\"", EVERYTHING),
        "spec.requestPriority.name",
        "name of a priority level",
    );
}

#[test]
fn objects_that_are_none_of_ours_are_rejected() {
    let cases = [
        ("- a\n", "", "a list"),
        ("just words\n", "", "a text"),
        ("spec: {}\n", "", "kind"),
        ("kind: Pod\napiVersion: v1\nmetadata: {name: p}\n", "kind", "Pod"),
        ("kind: FlowSchema\nmetadata: {name: p}\n", "apiVersion", "apiVersion"),
        ("kind: PriorityLevelConfiguration\nmeta: {name: p}\n", "apiVersion", "apiVersion"),
        (
            "kind: FlowSchema\napiVersion: flowcontrol.apiserver.k8s.io/v1beta3\n",
            "apiVersion",
            "v1beta3",
        ),
        ("kind: RequestPriority\nmeta: {}\nspec: {exempt: true}\n", "metadata", "name"),
        ("kind: RequestPriority\nmeta: {name: a}\n", "", "missing field `spec`"),
        ("kind: [\n", "", "line"),
        ("a: &a [x]\nb: *c\n", "", "line"),
    ];
    for (text, field, words) in cases {
        check(text, field, words);
    }
}

#[test]
fn a_bad_document_spoils_only_itself() {
    let bad = a_level("bad", "queues: -1");
    let texts = [LEVELS[0], "a: [", bad.as_str(), LEVELS[1], "\"", LEVELS[2]];
    let objects = load_all(texts);
    assert_eq!(objects.problems.len(), 3, "{:#?}", objects.problems);
    assert_eq!(objects.proposal.levels.len(), 3);
    let (compiled, problems) = objects.compile_valid();
    assert_eq!(problems.len(), 3);
    assert_eq!(compiled.unwrap().config.levels.len(), 3);
}

#[test]
fn two_objects_of_one_name_are_rejected_with_both_places() {
    let told = problems([LEVELS[0], LEVELS[1], LEVELS[0]]);
    assert_eq!(told.len(), 1);
    let sentence = told[0].to_string();
    assert!(sentence.contains("document 3") && sentence.contains("document 1"), "{sentence}");
}

#[test]
fn both_dialects_in_one_configuration_are_rejected() {
    let level = "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\n\
                 metadata: {name: a}\nspec: {type: Limited, limited: {limitResponse: {type: Reject}}}\n";
    let told = problems([LEVELS[0], level]);
    assert!(matches!(told[0].fault, Fault::MixedDialects { .. }), "{told:#?}");
}

#[test]
fn lists_and_json_are_read() {
    let list = r#"{"kind": "List", "apiVersion": "v1", "items": [
        {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "RequestPriority",
         "metadata": {"name": "a"}, "spec": {"exempt": true}},
        {"kind": "RequestPriority", "meta": {"name": "b"}, "spec": {"exempt": 3}}]}"#;
    let objects = load("list.json", list);
    assert_eq!(objects.proposal.levels.len(), 1);
    assert_eq!(objects.problems.len(), 1);
    assert_eq!(objects.problems[0].location.item, Some(1));
    let typed = r#"{"kind": "RequestPriorityList", "apiVersion": "evenkeel.dev/v1alpha1",
        "items": [{"metadata": {"name": "a"}, "spec": {"exempt": true}}]}"#;
    assert_eq!(load("list.json", typed).proposal.levels.len(), 1);
    assert_eq!(load("bad.json", "{\"kind\": ").problems.len(), 1);
    assert!(load("empty", "").compile().is_ok());
    assert!(load("empty", "# nothing\n---\n---\n").compile().is_ok());
}

#[test]
fn hostile_text_is_rejected_and_not_followed() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    let deep = "[".repeat(100_000);
    let deep_json = format!("{{\"a\": {}", "[".repeat(100_000));
    for text in [bomb, deep.as_str(), deep_json.as_str(), "\0\u{1b}[31m", "a: !!binary x"] {
        let objects = load("hostile", text);
        assert_eq!(objects.problems.len(), 1, "{:?}", &text[..10]);
        let sentence = objects.problems[0].to_string();
        assert!(sentence.len() < 1000 && !sentence.contains(char::is_control), "{sentence}");
    }
}

#[test]
fn ten_thousand_schemas_compile_and_more_than_a_hundred_thousand_objects_are_rejected() {
    let schema = |i: usize| {
        let rest = format!("  match: [{{and: [{{equals: {{field: user, value: u{i}}}}}]}}]\n");
        a_schema(&format!("s{i}"), "plain", &rest)
    };
    let mut texts: Vec<String> = (0..10_000).map(schema).collect();
    texts.push(a_level("plain", QUEUES));
    let compiled = super::compile(texts.iter().map(String::as_str));
    assert_eq!(compiled.config.schemas.len(), 10_002);

    let item = r#"{"kind":"RequestPriority","meta":{"name":"a"},"spec":{}},"#;
    let list = format!("{{\"kind\":\"List\",\"items\":[{}{{}}]}}", item.repeat(100_001));
    let objects = load("many.json", &list);
    let last = objects.problems.last().unwrap();
    assert!(matches!(last.fault, Fault::TooManyObjects { .. }), "{last}");
    assert_eq!(objects.proposal.levels.len(), 100_000);

    for text in [format!("[{}1]", "1,".repeat(200_000)), "--- [\n".repeat(100_010)] {
        assert!(load("many", &format!("kind: List\nitems: {text}")).problems.len() <= 100_001);
    }
}

proptest! {
    #[test]
    fn text_that_was_tampered_with_is_read_or_rejected(
        block in prop::sample::select(super::SCHEMAS.as_slice()),
        at in any::<prop::sample::Index>(),
        n_cut in 0_usize..20,
        insert in r#"[-:{}\[\]&*!|>'"%@`, #a0\n\t]{0,5}"#,
    ) {
        let mut chars: Vec<char> = block.chars().collect();
        let at = at.index(chars.len());
        let end = chars.len().min(at + n_cut);
        chars.splice(at..end, insert.chars());
        let text: String = chars.into_iter().collect();
        let objects = load_all(LEVELS.into_iter().chain([text.as_str()]));
        let (compiled, problems) = objects.compile_valid();
        prop_assert!(compiled.is_some(), "{problems:?}");
        prop_assert!(problems.iter().all(|problem| problem.to_string().len() < 2000));
    }
}
