//! Rules and objects that are made to take long.

use std::time::{Duration, Instant};

use evenkeel_structural::{
    Path, Schema,
    cel::{Outcome, Rules, check_definition},
};
use serde_json::{Value, json};

/// Far above what any of these take, and far below what they would take without a bound.
const MOST: Duration = Duration::from_secs(20);

/// Validates without the check of the definition, so that only the bound at run time applies.
fn validate(schema: &Value, object: &Value) -> Outcome {
    let schema = Schema::parse(schema).expect("a schema");
    let start = Instant::now();
    let outcome = Rules::default().validate(&schema, object, None);
    assert!(start.elapsed() < MOST, "{:?}", start.elapsed());
    outcome
}

fn with_rule(field: &Value, rule: &str) -> Value {
    json!({"type": "object", "properties": {"v": field, "w": field},
        "x-kubernetes-validations": [{"rule": rule}]})
}

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
const CANCELLED: &str = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ";

#[test]
fn loops_end_when_the_budget_is_used_up() {
    let items = |items: Value| json!({"type": "array", "items": items});
    let numbers = json!((0..20_000).collect::<Vec<i64>>());
    let texts = json!((0..2_000).map(|n| format!("{n}").repeat(100)).collect::<Vec<_>>());
    let text = json!({"type": "string"});
    let long = json!("ab".repeat(500_000));
    let nested = json!(
        (0..200).map(|_| (0..200).map(|n| json!({"a": n})).collect()).collect::<Vec<Vec<Value>>>()
    );
    let nested_schema =
        items(items(json!({"type": "object", "additionalProperties": {"type": "integer"}})));
    for (field, value, rule) in [
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, self.v.all(y, self.v.all(z, x + y + z >= 0)))",
        ),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.map(x, self.v.map(y, self.v)).size() > 0",
        ),
        (items(json!({"type": "integer"})), &numbers, "self.v.all(x, self.v + self.v != [])"),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, self.v.filter(y, false).size() == 0)",
        ),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, !self.v.exists_one(y, false))",
        ),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, sets.contains(self.v, self.v))",
        ),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, self.v.distinct().size() > 0)",
        ),
        (
            items(json!({"type": "integer"})),
            &numbers,
            "self.v.all(x, self.v.reverse().first().hasValue())",
        ),
        (items(json!({"type": "integer"})), &numbers, "self.v.all(x, self.v.last().hasValue())"),
        (items(json!({"type": "integer"})), &numbers, "lists.range(9000000000).size() > 0"),
        (items(text.clone()), &texts, "self.v.all(x, self.v.join(',').size() > 0)"),
        (items(text.clone()), &texts, "self.v.all(x, self.v.all(y, x.contains(y) || true))"),
        (items(text.clone()), &texts, "self.v.all(x, self.v.all(y, x.matches(y) || true))"),
        (nested_schema, &nested, "self.v.all(x, self.v.all(y, self.v.all(z, self.w == self.v)))"),
        (
            text.clone(),
            &long,
            "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, self.v.charAt(1) != ''))))",
        ),
        (
            text.clone(),
            &long,
            "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, self.v == self.w))))",
        ),
        (
            text.clone(),
            &long,
            "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, self.v.size() > 0 && self.v.startsWith('b' + self.v) == false)))",
        ),
        (text.clone(), &long, "self.v.replace('a', self.v).size() > 0"),
        (text.clone(), &long, "self.v.replace('', self.v).size() > 0"),
        (text.clone(), &long, "self.v.split('').map(x, self.v).join('').size() > 0"),
        (text.clone(), &long, "self.v.matches('(a|b|ab)*c' + self.v)"),
        (
            text.clone(),
            &long,
            "self.v.matches('^(([a-z])+.)+[A-Z]([a-z])+$') || self.v.matches('(.*)*(.*)*(.*)*(.*)*(.*)*(.*)*(.*)*(.*)*x')",
        ),
        (
            text.clone(),
            &long,
            "('%s'.format([self.v]) + '%s'.format([self.v])).size() > 0 && [1,2,3,4,5,6,7,8,9].map(x, self.v + self.v).map(x, x + x).map(x, x + x).size() > 0",
        ),
    ] {
        let object = json!({"v": value, "w": value});
        let outcome = validate(&with_rule(&field, rule), &object);
        let error = outcome.errors.first().map(ToString::to_string).unwrap_or_default();
        let ended = [CANCELLED, OUT_OF_BUDGET].iter().any(|words| error.contains(words));
        assert!(ended || error.is_empty() && rule.contains("matches"), "{rule}: {error:.300}");
    }
}

#[test]
fn texts_that_double_are_bounded() {
    let doubled = (0..60).fold("self.v".to_owned(), |text, _| format!("[{text}].map(x, x + x)[0]"));
    let errors = check_definition(
        &Schema::parse(&with_rule(&json!({"type": "string"}), &format!("{doubled} == ''")))
            .unwrap(),
        &Path::root(""),
    );
    assert!(!errors.is_empty());
    let doubled = (0..40).fold("self.v".to_owned(), |text, _| format!("[{text}].map(x, x + x)[0]"));
    let outcome = validate(
        &with_rule(&json!({"type": "string"}), &format!("{doubled} == ''")),
        &json!({"v": "ab"}),
    );
    assert!(
        outcome.errors[0].to_string().contains("actual cost limit exceeded"),
        "{}",
        outcome.errors[0]
    );
}

/// Widths and precisions of `format` are no way to a large text.
#[test]
fn formats_are_bounded() {
    for rule in [
        "'%.999999999f'.format([1.0]).size() > 0",
        "'%.2147483647e'.format([1.0]).size() > 0",
        "'%1000000000d'.format([1]).size() > 0",
    ] {
        let start = Instant::now();
        validate(&with_rule(&json!({"type": "string"}), rule), &json!({"v": ""}));
        assert!(start.elapsed() < MOST, "{rule}");
    }
}

#[test]
fn many_objects_under_one_budget() {
    // Each item is cheap; all of them are not.
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self.matches('^([a-z]+)*$')"}]}}}});
    let object = json!({"l": (0..30_000).map(|_| "x".repeat(90)).collect::<Vec<_>>()});
    assert!(validate(&schema, &object).errors.is_empty());
    let object = json!({"l": (0..3_000).map(|_| "x".repeat(20_000)).collect::<Vec<_>>()});
    let outcome = validate(&schema, &object);
    assert_eq!(outcome.errors.len(), 1);
    assert!(outcome.errors[0].to_string().ends_with("validation failed due to running out of cost budget, no further validation rules will be run"));
}

#[test]
fn many_failing_rules_are_bounded() {
    let schema = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self > 0", "message": "m".repeat(2000)}]}}}});
    let object = json!({"l": vec![0; 200_000]});
    let schema = Schema::parse(&schema).unwrap();
    let start = Instant::now();
    let outcome =
        Rules::default().validate(&schema, &object, Some(&json!({"l": vec![1; 200_000]})));
    assert!(outcome.errors.len() < 1000);
    // What is unchanged is compared once, not once for every item.
    let outcome = Rules::default().validate(&schema, &object, Some(&object));
    assert_eq!(outcome.errors.len(), 0);
    assert!(start.elapsed() < MOST);
}

#[test]
fn many_rules() {
    let rules =
        |n: usize| (0..n).map(|n| json!({"rule": format!("self.v > {n}")})).collect::<Vec<_>>();
    let schema = |n| json!({"type": "object", "properties": {"v": {"type": "integer"}}, "x-kubernetes-validations": rules(n)});
    let start = Instant::now();
    let errors = check_definition(&Schema::parse(&schema(100_000)).unwrap(), &Path::root("schema"));
    assert_eq!(errors.len(), 1);
    assert_eq!(
        errors[0].to_string(),
        "schema.x-kubernetes-validations: Forbidden: more than 10000 rules are not supported by this server"
    );
    let errors = check_definition(&Schema::parse(&schema(10_000)).unwrap(), &Path::root("schema"));
    assert_eq!(errors.len(), 0);
    assert!(start.elapsed() < MOST);
}

#[test]
fn long_and_deep_expressions() {
    for rule in [
        format!("{}true{}", "(".repeat(40), ")".repeat(40)),
        format!("self.v == 1{}", " || self.v == 2".repeat(5_000)),
        format!("[{}].all(x, x)", vec!["true"; 10_000].join(",")),
        format!("{}true", "!".repeat(200)),
        format!("1{} > 0", "+1".repeat(200)),
        format!("{}{}", "[1].all(x, ".repeat(40), format_args!("true{}", ")".repeat(40))),
        format!("{} > 0", (0..40).fold("1".to_owned(), |text, _| format!("[{text}].map(x, x)[0]"))),
    ] {
        let schema = Schema::parse(&with_rule(&json!({"type": "integer"}), &rule)).unwrap();
        let start = Instant::now();
        let errors = check_definition(&schema, &Path::root(""));
        assert!(errors.is_empty(), "{:.100}: {:.300}", rule, errors[0].to_string());
        let outcome = Rules::default().validate(&schema, &json!({"v": 1}), None);
        assert!(outcome.errors.is_empty(), "{rule:.100}: {:.300}", outcome.errors[0].to_string());
        assert!(start.elapsed() < MOST);
    }
}

/// Functions of libraries on odd arguments give errors, and do not panic.
#[test]
fn odd_arguments() {
    let texts = [
        "",
        "a",
        "-1",
        "1e999999999",
        "9".repeat(5000).as_str(),
        "é\u{0}👑",
        "%",
        "%s%d%f%e%x%b%o%q%c%v%t%",
        "::",
        "1.2.3.4/99",
        "http://[::1",
        "0.0.0",
        "9223372036854775808",
        "-9223372036854775808",
    ]
    .map(str::to_owned);
    let functions = [
        "quantity(self.v).asInteger() == 1",
        "sign(quantity(self.v).add(quantity(self.v)).sub(5)) == 1",
        "isQuantity(self.v)",
        "quantity(self.v).asApproximateFloat() > 0.0",
        "url(self.v).getHost() == ''",
        "isURL(self.v)",
        "ip(self.v).family() == 4",
        "isIP(self.v)",
        "cidr(self.v).masked() == cidr(self.v)",
        "cidr('10.0.0.0/8').containsIP(self.v)",
        "cidr('10.0.0.0/8').containsCIDR(self.v)",
        "ip.isCanonical(self.v)",
        "semver(self.v).major() == 1",
        "isSemver(self.v)",
        "semver(self.v, true).major() == 1",
        "self.v.charAt(0) == ''",
        "self.v.charAt(-1) == ''",
        "self.v.charAt(9223372036854775807) == ''",
        "self.v.substring(1) == ''",
        "self.v.substring(3, 1) == ''",
        "self.v.substring(-1, 9223372036854775807) == ''",
        "self.v.indexOf(self.v, -5) == 1",
        "self.v.lastIndexOf('', 9223372036854775807) == 1",
        "self.v.split('', -1).size() == 1",
        "self.v.split(self.v, 9223372036854775807).size() == 1",
        "self.v.replace('', 'x', -1) == ''",
        "strings.quote(self.v) == ''",
        "self.v.format([self.v, 1, 1.5, true]) == ''",
        "self.v.format([]) == ''",
        "self.v.lowerAscii().upperAscii().trim() == ''",
        "self.v.find(self.v) == ''",
        "self.v.findAll(self.v, -1).size() == 1",
        "self.v.matches(self.v)",
        "format.named(self.v).hasValue()",
        "format.dns1123Label().validate(self.v).hasValue()",
        "format.uri().validate(self.v).hasValue()",
        "format.datetime().validate(self.v).hasValue()",
        "format.byte().validate(self.v).hasValue()",
        "format.qualifiedName().validate(self.v).hasValue()",
        "int(self.v) == 1",
        "uint(self.v) == 1u",
        "double(self.v) == 1.0",
        "bool(self.v)",
        "duration(self.v) > duration('0')",
        "timestamp(self.v).getHours() == 1",
        "[self.v].slice(0, 9223372036854775807).size() == 1",
        "[self.v].slice(-1, 0).size() == 1",
        "[[self.v]].flatten().first().value() == ''",
        "dyn([[[[self.v]]]]).flatten(-1).size() == 1",
        "dyn([[[[self.v]]]]).flatten(9223372036854775807).size() == 1",
        "lists.range(-1).size() == 0",
        "[9223372036854775807, 1].sum() == 1",
        "[-9223372036854775807, -9].sum() == 1",
        "dyn([]).max() == 1",
        "[duration('9223372036s'), duration('9223372036s')].sum() > duration('0')",
        "timestamp(253402300799) + duration('1s') > timestamp(0)",
        "timestamp(0) - duration('99999999s') > timestamp('0001-01-01T00:00:00Z')",
        "-(-9223372036854775807 - 1) == 1",
        "(-9223372036854775807 - 1) / -1 == 1",
        "(-9223372036854775807 - 1) % -1 == 1",
        "int(1e30) == 1",
        "uint(-1) == 1u",
        "string(b'\\xff') == ''",
        "{'a': 1}['b'] == 1",
        "[1][-1] == 1",
        "[1][9223372036854775807] == 1",
        "optional.none().value() == 1",
        "{'a': 1, 'a': 2}.size() == 1",
        "0.0 / 0.0 == 0.0 / 0.0",
        "0.0 / 0.0 < 1",
        "1 % 0 == 0",
        "9223372036854775807 + 1 == 0",
        "[url('http://a'), url('http://b')].distinct().size() == 2",
        "[quantity('1'), quantity('1')].indexOf(quantity('1')) == 0",
    ];
    for text in &texts {
        for rule in functions {
            let outcome =
                validate(&with_rule(&json!({"type": "string"}), rule), &json!({"v": text}));
            for error in outcome.errors.iter() {
                let words = error.to_string();
                assert!(!words.contains("internal error"), "{rule} on {text:.50}: {words:.300}");
                assert!(!words.contains("rule compile error"), "{rule}: {words:.300}");
            }
        }
    }
}
