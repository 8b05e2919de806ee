//! Generated objects, of which about half are valid: neither side accepts what the other does not know
//! of.

use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{is_valid_in_files, level, rejected, schema, verdict};

/// Faults that only the dialect finds, by words of their messages.
const ONLY_IN_THE_DIALECT: &[&str] = &[
    "can't be dealt",
    "at least one level shares",
    "regular expression",
    "no capturing group",
    "accepts requests that are not for a resource",
    "needs `field`",
    "and nothing else",
    "both inside and beside",
];

/// Mostly one of these.
fn one_of(usual: &[u32]) -> BoxedStrategy<Value> {
    let odd = [0_i64, 20, (1 << 26) + 1, u32::MAX.into(), 1 << 32, -1];
    prop_oneof![
        20 => select(usual.to_vec()).prop_map(Value::from),
        1 => select(odd.to_vec()).prop_map(Value::from),
        1 => select(vec![json!(null), json!(1.5), json!("1")]),
    ]
    .boxed()
}

/// An object with some of the fields, each with its probability.
fn object(fields: Vec<(&'static str, f64, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let each: Vec<_> = fields
        .into_iter()
        .map(|(name, p, value)| {
            proptest::option::weighted(p, value).prop_map(move |value| Some((name, value?)))
        })
        .collect();
    let collect = |fields: Vec<Option<(&str, Value)>>| {
        let fields = fields.into_iter().flatten().map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    each.prop_map(collect).boxed()
}

fn text() -> BoxedStrategy<Value> {
    let some = ["", "a", "user", "(a)", "(", "(?:a)", "a.*", "[", "é"];
    prop_oneof![
        9 => select(some.to_vec()).prop_map(Value::from),
        1 => select(vec![json!(null), json!(1), json!({})]),
    ]
    .boxed()
}

fn level_spec() -> BoxedStrategy<Value> {
    let flag = || prop_oneof![9 => any::<bool>().prop_map(Value::from), 1 => Just(json!(1))];
    let limited = || {
        vec![
            ("catchAll", 0.3, flag().boxed()),
            ("assuredConcurrencyShares", 0.95, one_of(&[0, 1, 10])),
            ("queues", 0.95, one_of(&[1, 2, 8, 64, 128, 1 << 26])),
            ("handSize", 0.8, one_of(&[1, 2, 3, 8, 9, 19])),
            ("queueLengthLimit", 0.95, one_of(&[1, 100, u32::MAX])),
        ]
    };
    let exempt = |p| vec![("exempt", p, flag().boxed())];
    prop_oneof![
        1 => object(exempt(0.8)),
        6 => object(limited()),
        1 => object([limited(), exempt(0.5)].concat()),
    ]
    .boxed()
}

fn attribute() -> BoxedStrategy<Value> {
    let some = [
        "user",
        "groups",
        "verb",
        "apiGroup",
        "resource",
        "subresource",
        "namespace",
        "name",
        "path",
        "method",
        "header:X-Tenant",
        "header:a!#$%&'*+-.^_`|~9",
        "header:",
        "header:a b",
        "header:ä",
        "colour",
        "User",
        "user\n",
        "\nuser",
        "group",
        "",
    ];
    select(some.to_vec()).prop_map(Value::from).boxed()
}

fn operands() -> BoxedStrategy<Value> {
    let set = prop_oneof![
        4 => proptest::collection::vec(text(), 0..3).prop_map(Value::from),
        1 => text(),
    ];
    object(vec![
        ("field", 0.9, attribute()),
        ("value", 0.3, text()),
        ("set", 0.3, set.boxed()),
        ("pattern", 0.3, text()),
    ])
}

/// With the operand that belongs to the operator, mostly.
fn test() -> BoxedStrategy<Value> {
    let operators = vec![
        ("equals", "value"),
        ("inSet", "set"),
        ("superSet", "set"),
        ("patternMatch", "pattern"),
        ("notEquals", "value"),
        ("notInSet", "set"),
        ("notSuperSet", "set"),
        ("notPatternMatch", "pattern"),
        ("equal", "value"),
    ];
    let usual = (select(operators), attribute(), text(), any::<bool>());
    let usual = usual.prop_map(|((operator, operand), field, text, is_inside)| {
        let value = if operand == "set" { json!([text]) } else { text };
        match is_inside {
            true => json!({operator: {"field": field, operand: value}}),
            false => json!({operator: null, "field": field, operand: value}),
        }
    });
    let merged = (operands(), operands(), any::<bool>()).prop_map(|(mut beside, inside, both)| {
        beside["inSet"] = inside.clone();
        if both {
            beside["equals"] = inside;
        }
        beside
    });
    prop_oneof![8 => usual, 1 => merged, 1 => operands()].boxed()
}

fn schema_spec() -> BoxedStrategy<Value> {
    let conjunction = object(vec![(
        "and",
        0.97,
        proptest::collection::vec(test(), 0..2).prop_map(Value::from).boxed(),
    )]);
    let transformation = object(vec![("regex", 0.9, text())]);
    let sources = ["user", "namespace", "group", "header:a", "header:", "verb"];
    let source = select(sources.to_vec()).prop_map(Value::from).boxed();
    let distinguisher = object(vec![
        ("source", 0.95, source),
        ("transformation", 0.3, transformation),
        ("regex", 0.3, text()),
    ]);
    let reference = object(vec![("name", 0.95, text())]);
    object(vec![
        ("matchingPriority", 0.4, one_of(&[0, 1, 1000])),
        ("requestPriority", 0.97, reference),
        ("flowDistinguisher", 0.4, distinguisher),
        ("match", 0.97, proptest::collection::vec(conjunction, 0..2).prop_map(Value::from).boxed()),
    ])
}

fn check(object: &Value) {
    let rejected = rejected(object);
    if is_valid_in_files(object) {
        assert!(rejected.is_empty(), "the dialect accepts {object}: {rejected:?}");
    }
    if rejected.is_empty() {
        let told = &verdict(object).conditions[0];
        let is_known = ONLY_IN_THE_DIALECT.iter().any(|words| told.message.contains(words));
        assert!(told.reason != "Invalid" || is_known, "{object}: {}", told.message);
        assert!(!told.message.is_empty(), "{object}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn levels_are_valid_in_the_api_if_they_are_in_files(spec in level_spec()) {
        check(&level(spec));
    }

    #[test]
    fn schemas_are_valid_in_the_api_if_they_are_in_files(spec in schema_spec()) {
        check(&schema(spec));
    }
}

/// Otherwise the properties would hold of nothing.
#[test]
fn generated_objects_are_valid_and_invalid_on_both_sides() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for (strategy, object) in [(level_spec(), level as fn(Value) -> Value), (schema_spec(), schema)]
    {
        let mut seen = [0; 3];
        for _ in 0..1000 {
            let object = object(strategy.new_tree(&mut runner).unwrap().current());
            let kind = match (rejected(&object).is_empty(), is_valid_in_files(&object)) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => 2,
            };
            seen[kind] += 1;
        }
        assert!(seen.iter().all(|n| *n >= 5), "{seen:?}");
    }
}
