//! Rules evaluated on objects.

use evenkeel_structural::{
    Path, Schema,
    cel::{Outcome, Rules, blocked_by, check_definition},
};
use serde_json::{Value, json};

fn schema(value: &Value) -> Schema {
    Schema::parse(value).expect("a schema")
}

/// The errors of an object; the schema must be accepted.
fn validate(value: &Value, new: &Value, old: Option<&Value>) -> Outcome {
    let schema = schema(value);
    let errors = check_definition(&schema, &Path::root("schema"));
    assert!(errors.is_empty(), "{}: {value}", errors[0]);
    Rules::default().validate(&schema, new, old)
}

fn words(outcome: &Outcome) -> Vec<String> {
    outcome.errors.iter().map(ToString::to_string).collect()
}

/// A schema with one field `v` and rules for the object with it.
fn with_rule(field: &Value, rule: &str) -> Value {
    json!({"type": "object", "properties": {"v": field},
        "x-kubernetes-validations": [{"rule": rule, "message": "broken"}]})
}

fn check(field: &Value, value: &Value, rules: &[&str]) {
    for rule in rules {
        let outcome = validate(&with_rule(field, rule), &json!({"v": value}), None);
        assert_eq!(words(&outcome), Vec::<String>::new(), "{rule}");
    }
}

#[test]
fn scalars() {
    let small = &json!({"type": "string", "maxLength": 100});
    check(
        &json!({"type": "integer"}),
        &json!(7),
        &[
            "self.v == 7",
            "self.v + 1 == 8 && self.v - 1 == 6 && self.v * 2 == 14 && self.v / 2 == 3 && self.v % 2 == 1",
            "-self.v == -7",
            "self.v > 6 && self.v >= 7 && self.v < 8 && self.v <= 7 && self.v != 8",
            "self.v > 6.5 && self.v < 7u + 1u",
            "self.v in [1, 7] && !(self.v in [1, 2])",
            "string(self.v) == '7' && double(self.v) == 7.0 && uint(self.v) == 7u",
            "type(self.v) == int",
            "self.v == 7 ? true : false",
            "true || 1 / 0 == 1",
            "1 / 0 == 1 || true",
            "!(false && 1 / 0 == 1)",
            "dyn(self.v) == 7",
        ],
    );
    check(
        small,
        &json!("héllo"),
        &[
            "self.v == 'héllo'",
            "self.v.size() == 5 && size(self.v) == 5",
            "self.v.startsWith('hé') && self.v.endsWith('llo') && self.v.contains('ll')",
            "self.v.matches('^h.*o$') && matches(self.v, 'l+')",
            "self.v + '!' == 'héllo!'",
            "self.v.charAt(1) == 'é' && self.v.substring(1, 3) == 'él' && self.v.indexOf('l') == 2",
            "self.v.lastIndexOf('l') == 3 && self.v.upperAscii() == 'HéLLO'",
            "self.v.replace('l', 'L') == 'héLLo' && self.v.replace('l', 'L', 1) == 'héLlo'",
            "self.v.split('l') == ['hé', '', 'o'] && ['a', 'b'].join('-') == 'a-b'",
            "self.v.find('l+') == 'll' && self.v.findAll('l') == ['l', 'l']",
            "self.v < 'i'",
            "' x '.trim() == 'x'",
            "'%s-%d'.format([self.v, 3]) == 'héllo-3'",
            "bytes(self.v).size() == 6",
            "self.v.matches(r'\\w+')",
            "!!(self.v == 'héllo') && --1 == 1 && 2 - -1 == 3",
            "'\\x41\\101\\u0041\\U00000041' == 'AAAA' && '\\n' == \"\\n\" && r'\\n'.size() == 2",
            "'''a\nb''' == 'a\\nb' && \"it's\" == 'it\\'s' && r\"\"\"a'b\"\"\" == 'a\\'b'",
            "'/a%20'.matches(r\"\"\"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$\"\"\")",
            "!'/a b'.matches(r\"\"\"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$\"\"\")",
            "0x1F == 31 && -5 == 0 - 5 && 1e3 == 1000.0 && 3u == uint('3') && null == null",
        ],
    );
    check(&json!({"type": "number"}), &json!(2), &["self.v == 2.0 && self.v / 4.0 == 0.5"]);
    check(&json!({"type": "boolean"}), &json!(true), &["self.v", "bool('true') == self.v"]);
    check(
        &json!({"x-kubernetes-int-or-string": true}),
        &json!("5%"),
        &[
            "type(self.v) == string && self.v.endsWith('%')",
            "type(self.v) == int ? self.v < 5 : int(self.v.replace('%', '')) == 5",
        ],
    );
    check(
        &json!({"type": "string", "format": "date-time"}),
        &json!("2024-02-29T10:20:30Z"),
        &[
            "self.v > timestamp('2024-01-01T00:00:00Z')",
            "self.v.getFullYear() == 2024 && self.v.getMonth() == 1 && self.v.getDate() == 29",
            "self.v - duration('1h') < self.v",
            "self.v.getHours() == 10 && self.v.getDayOfWeek() == 4 && self.v.getDayOfYear() == 59",
            "string(self.v) == '2024-02-29T10:20:30Z'",
        ],
    );
    check(
        &json!({"type": "string", "format": "duration"}),
        &json!("90m"),
        &[
            "self.v == duration('1h30m') && self.v.getMinutes() == 90 && self.v < duration('2h')",
            "string(self.v) == '5400s'",
        ],
    );
    check(
        &json!({"type": "string", "format": "date"}),
        &json!("2024-02-29"),
        &["self.v == timestamp('2024-02-29T00:00:00Z')"],
    );
    check(
        &json!({"type": "string", "format": "byte"}),
        &json!("aGk="),
        &["self.v == b'hi' && string(self.v) == 'hi'"],
    );
}

#[test]
fn lists_maps_and_macros() {
    let list = json!({"type": "array", "maxItems": 20, "items": {"type": "integer"}});
    check(
        &list,
        &json!([3, 1, 2]),
        &[
            "self.v.size() == 3 && self.v[0] == 3",
            "self.v.all(x, x > 0) && self.v.exists(x, x == 2) && self.v.exists_one(x, x == 1)",
            "self.v.map(x, x * 2) == [6, 2, 4] && self.v.filter(x, x > 1) == [3, 2]",
            "self.v.map(x, x > 1, x + 1) == [4, 3]",
            "self.v + [4] == [3, 1, 2, 4]",
            "!self.v.isSorted() && self.v.sum() == 6 && self.v.max() == 3 && self.v.min() == 1",
            "self.v.sort() == [1, 2, 3] && self.v.reverse() == [2, 1, 3] && self.v.slice(0, 2) == [3, 1]",
            "[1, 1, 2].distinct() == [1, 2] && [[1], [2]].flatten() == [1, 2]",
            "self.v.first().value() == 3 && self.v.last().orValue(0) == 2",
            "lists.range(3) == [0, 1, 2]",
            "sets.contains(self.v, [1]) && sets.equivalent(self.v, [1, 2, 3]) && sets.intersects(self.v, [9, 1])",
            "self.v.indexOf(1) == 1 && 2 in self.v",
            "self.v[?5].orValue(9) == 9 && self.v[?0].hasValue()",
            "self.v.all(x, self.v.exists(y, x == y))",
            "!self.v.exists(x, 1 / 0 == x || x == 1) == false",
        ],
    );
    let map = json!({"type": "object", "maxProperties": 20, "additionalProperties": {"type": "string", "maxLength": 20}});
    check(
        &map,
        &json!({"a": "x", "b-c": "y"}),
        &[
            "self.v['a'] == 'x' && self.v.a == 'x' && self.v['b-c'] == 'y'",
            "'a' in self.v && !('z' in self.v) && has(self.v.a) && !has(self.v.z)",
            "self.v.all(k, k.size() > 0) && self.v.size() == 2",
            "self.v.map(k, self.v[k]).exists(x, x == 'y')",
            "self.v == {'a': 'x', 'b-c': 'y'}",
            "self.v[?'z'].orValue('none') == 'none' && self.?v.?z.hasValue() == false",
            "self.v.?a.optMap(x, x + '!').orValue('') == 'x!'",
            "optional.of(1).or(optional.of(2)).value() == 1 && optional.none().orValue(3) == 3",
            "{'a': 1, ?'b': optional.none()} == {'a': 1} && [1, ?optional.of(2)] == [1, 2]",
            "!optional.ofNonZeroValue('').hasValue()",
        ],
    );
    let sets = json!({"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 5}});
    let both = json!({"type": "object", "properties": {"a": sets, "b": sets}});
    let rule = |rule: &str| {
        let mut schema = both.clone();
        schema["x-kubernetes-validations"] = json!([{"rule": rule}]);
        words(&validate(&schema, &json!({"a": ["x", "y"], "b": ["y", "x"]}), None))
    };
    assert_eq!(rule("self.a.all(x, x in self.b)"), Vec::<String>::new());
    assert_eq!(rule("(self.a + self.b).size() == 2"), Vec::<String>::new());
}

#[test]
fn kubernetes_libraries() {
    check(
        &json!({"type": "string", "maxLength": 60}),
        &json!("1Gi"),
        &[
            "quantity(self.v).isGreaterThan(quantity('500Mi')) && isQuantity(self.v)",
            "quantity('1').add(quantity('2')).compareTo(quantity('3')) == 0 && sign(quantity('-1')) == -1",
            "quantity('50k').asInteger() == 50000 && quantity('1').isInteger()",
            "url('https://a.b:80/c?d=e').getHost() == 'a.b:80' && isURL('https://x') && !isURL('../x')",
            "url('https://a.b:80/c?d=e').getPort() == '80' && url('https://a/?d=e').getQuery()['d'] == ['e']",
            "isIP('1.2.3.4') && ip('1.2.3.4').family() == 4 && ip('127.0.0.1').isLoopback()",
            "isCIDR('10.0.0.0/8') && cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsIP(ip('10.1.1.1'))",
            "cidr('10.0.0.0/8').prefixLength() == 8 && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
            "string(ip('::1')) == '::1' && ip.isCanonical('127.0.0.1')",
            "semver('1.2.3').isLessThan(semver('1.3.0')) && isSemver('1.0.0') && semver('1.2.3').minor() == 2",
            "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').hasValue()",
            "format.named('uuid').hasValue()",
        ],
    );
}

#[test]
fn names_are_escaped() {
    let schema = json!({"type": "object", "properties": {
        "namespace": {"type": "string", "maxLength": 9}, "a-b": {"type": "integer"},
        "c.d/e": {"type": "integer"}, "f__g": {"type": "integer"}, "in": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule":
            "self.__namespace__ == 'x' && self.a__dash__b == 1 && self.c__dot__d__slash__e == 2 && self.f__underscores__g == 3 && self.__in__ == 4 && !has(self.nothing)"}]});
    let mut schema = schema;
    schema["properties"]["nothing"] = json!({"type": "integer"});
    let object = json!({"namespace": "x", "a-b": 1, "c.d/e": 2, "f__g": 3, "in": 4});
    assert_eq!(words(&validate(&schema, &object, None)), Vec::<String>::new());
}

#[test]
fn resources_have_names_and_kinds() {
    let rule =
        "self.metadata.name.startsWith('a') && self.kind == 'Widget' && self.apiVersion == 'g/v1'";
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
    let object =
        json!({"apiVersion": "g/v1", "kind": "Widget", "metadata": {"name": "a", "labels": {}}});
    assert_eq!(words(&validate(&schema, &object, None)), Vec::<String>::new());
    let embedded = json!({"type": "object", "properties": {"template": {"type": "object",
        "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{"rule": "self.kind == 'Pod' && has(self.metadata.name)"}]}}});
    let object =
        json!({"template": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}});
    assert_eq!(words(&validate(&embedded, &object, None)), Vec::<String>::new());
}

/// The schema of the recorded case `crd.cel`.
fn recorded() -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object",
        "x-kubernetes-validations": [{"rule": "self.min <= self.max", "message": "min must not exceed max"}],
        "required": ["min", "max"],
        "properties": {"min": {"type": "integer"},
            "max": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}}})
}

#[test]
fn errors_read_as_kubernetes_writes_them() {
    let object = |min: i64, max: i64| json!({"spec": {"min": min, "max": max}});
    assert_eq!(
        words(&validate(&recorded(), &object(5, 1), None)),
        ["spec: Invalid value: min must not exceed max"]
    );
    assert_eq!(words(&validate(&recorded(), &object(1, 5), None)), Vec::<String>::new());
    assert_eq!(
        words(&validate(&recorded(), &object(1, 3), Some(&object(1, 5)))),
        ["spec.max: Invalid value: 3: failed rule: self >= oldSelf"]
    );
}

#[test]
fn reasons_paths_and_messages() {
    let field = json!({"type": "string", "maxLength": 50});
    for (rule, expected) in [
        (
            json!({"rule": "self.v == 'a'", "reason": "FieldValueForbidden", "message": " no "}),
            "<nil>: Forbidden: no",
        ),
        (
            json!({"rule": "self.v == 'a'", "reason": "FieldValueRequired"}),
            "<nil>: Required value: failed rule: self.v == 'a'",
        ),
        (
            json!({"rule": "self.v == 'a'", "reason": "FieldValueDuplicate"}),
            "<nil>: Duplicate value",
        ),
        (
            json!({"rule": "self.v == 'a'", "fieldPath": ".v", "message": "x"}),
            "v: Invalid value: x",
        ),
        (
            json!({"rule": "self.v == 'a'", "messageExpression": "'got ' + self.v", "message": "x"}),
            "<nil>: Invalid value: got b",
        ),
        (
            json!({"rule": "self.v == 'a'", "messageExpression": "'a\\nb'", "message": "x"}),
            "<nil>: Invalid value: x",
        ),
        (
            json!({"rule": "self.v == 'a'", "messageExpression": "'  '"}),
            "<nil>: Invalid value: failed rule: self.v == 'a'",
        ),
        (
            json!({"rule": "self.v == 'a'", "messageExpression": "self.w", "message": "x"}),
            "<nil>: Invalid value: x",
        ),
        (
            json!({"rule": "self.w == 'a'"}),
            "<nil>: Invalid value: \"object\": no such key: w evaluating rule: self.w == 'a'",
        ),
        (
            json!({"rule": "[1][self.v.size()] == 1"}),
            "<nil>: Invalid value: \"object\": index out of bounds: 1 evaluating rule: [1][self.v.size()] == 1",
        ),
        (
            json!({"rule": "1 / (self.v.size() - 1) == 1"}),
            "<nil>: Invalid value: \"object\": division by zero evaluating rule: 1 / (self.v.size() - 1) == 1",
        ),
        (
            json!({"rule": "dyn(self.v) < 1"}),
            "<nil>: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: dyn(self.v) < 1",
        ),
    ] {
        let schema = json!({"type": "object", "properties": {"v": field, "w": field},
            "x-kubernetes-validations": [rule]});
        assert_eq!(words(&validate(&schema, &json!({"v": "b"}), None)), [expected], "{rule}");
    }
    let schema = json!({"type": "object", "properties": {"v": {"type": "string", "maxLength": 9,
        "x-kubernetes-validations": [{"rule": "self == 'a'"}]}}});
    assert_eq!(
        words(&validate(&schema, &json!({"v": "b\""}), None)),
        ["v: Invalid value: \"b\\\"\": failed rule: self == 'a'"]
    );
    assert_eq!(words(&validate(&schema, &json!({"v": null}), None)), Vec::<String>::new());
}

#[test]
fn transitions_find_old_values() {
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"},
        "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}});
    let schema = json!({"type": "object", "properties": {
        "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item},
        "m": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}},
        "o": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true, "message": "starts at 1"}]}}});
    let old = json!({"l": [{"k": "a", "n": 5}, {"k": "b", "n": 5}], "m": {"x": 1}});
    for (new, expected) in [
        (
            json!({"l": [{"k": "b", "n": 4}, {"k": "a", "n": 6}, {"k": "c", "n": 0}]}),
            vec!["l[0].n: Invalid value: 4: failed rule: self >= oldSelf"],
        ),
        (
            json!({"m": {"x": 2, "y": 3}}),
            vec!["m[x]: Invalid value: 2: failed rule: self == oldSelf"],
        ),
        (json!({"o": 2}), vec!["o: Invalid value: 2: starts at 1"]),
        (json!({"o": 1}), vec![]),
    ] {
        assert_eq!(words(&validate(&schema, &new, Some(&old))), expected, "{new}");
    }
    let again = validate(&schema, &json!({"o": 2}), Some(&json!({"o": 5})));
    assert_eq!(words(&again), Vec::<String>::new());
}

#[test]
fn what_an_update_does_not_change_is_a_warning() {
    let item = json!({"type": "object", "properties": {"n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}}});
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]},
        "b": {"type": "integer"},
        "l": {"type": "array", "maxItems": 9, "items": item}}});
    let old = json!({"a": -1, "b": 1, "l": [{"n": 0}]});
    for (new, errors, warnings) in [
        (json!({"a": -1, "b": 2}), 0, 1),
        (json!({"a": -2, "b": 1}), 1, 0),
        (json!({"b": 2, "l": [{"n": 0}]}), 0, 1),
        (json!({"b": 2, "l": [{"n": 0}, {"n": 1}]}), 1, 0),
    ] {
        let outcome = validate(&schema, &new, Some(&old));
        assert_eq!((outcome.errors.len(), outcome.warnings.len()), (errors, warnings), "{new}");
    }
}

#[test]
fn rules_of_all_of_are_evaluated() {
    let schema = json!({"type": "object", "properties": {"v": {"type": "integer",
        "allOf": [{"x-kubernetes-validations": [{"rule": "self > 1"}]}]}}});
    assert_eq!(
        words(&validate(&schema, &json!({"v": 1}), None)),
        ["v: Invalid value: 1: failed rule: self > 1"]
    );
}

#[test]
fn other_errors_block_rules() {
    let schema = schema(&recorded());
    let errors = schema.validate(&json!({"spec": {"min": 1}}));
    assert_eq!(
        blocked_by(&errors).unwrap().to_string(),
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
    );
    assert_eq!(blocked_by(&schema.validate(&json!({"spec": {"min": 1, "max": 2}}))), None);
}
