//! The check of rules when their definition is written.

use evenkeel_structural::{Path, Schema, cel::check_definition};
use serde_json::{Value, json};

fn errors(schema: &Value) -> Vec<String> {
    let schema = Schema::parse(schema).expect("a schema");
    check_definition(&schema, &Path::root("schema")).iter().map(ToString::to_string).collect()
}

fn fields() -> Value {
    json!({
        "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "s": {"type": "string", "maxLength": 20},
        "l": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 20}},
        "m": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer"}},
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "p": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "u": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "w": {"x-kubernetes-preserve-unknown-fields": true},
        "q": {"x-kubernetes-int-or-string": true, "maxLength": 20},
        "t": {"type": "string", "format": "date-time"},
    })
}

fn with_rule(rule: &Value) -> Value {
    json!({"type": "object", "properties": fields(), "x-kubernetes-validations": [rule]})
}

#[test]
fn expressions_are_typed() {
    for (rule, expected) in [
        ("self.x == 1", "1:5: undefined field 'x'"),
        ("self.w == 1", "1:5: undefined field 'w'"),
        ("self.u.x == 1", "1:7: undefined field 'x'"),
        ("self.o.y == 1", "1:7: undefined field 'y'"),
        ("has(self.o.y)", "1:11: undefined field 'y'"),
        ("self.metadata.labels.size() == 0", "1:14: undefined field 'labels'"),
        ("self.i.x == 1", "1:7: type 'int' does not support field selection"),
        ("foo == 1", "1:1: undeclared reference to 'foo' (in container '')"),
        ("request.user == ''", "1:1: undeclared reference to 'request' (in container '')"),
        ("self.s.foo()", "1:11: undeclared reference to 'foo' (in container '')"),
        ("foo(self.s)", "1:4: undeclared reference to 'foo' (in container '')"),
        ("math.greatest(1, 2) == 2", "undeclared reference to 'greatest' (in container '')"),
        (
            "self.i + self.s == ''",
            "1:8: found no matching overload for '_+_' applied to '(int, string)'",
        ),
        (
            "self.i == self.s",
            "1:8: found no matching overload for '_==_' applied to '(int, string)'",
        ),
        ("self.i == 1.0", "1:8: found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.s > 1", "1:8: found no matching overload for '_>_' applied to '(string, int)'"),
        (
            "self.s && true",
            "1:8: found no matching overload for '_&&_' applied to '(string, bool)'",
        ),
        ("!self.s", "1:1: found no matching overload for '!_' applied to '(string)'"),
        ("self.i.size() == 1", "1:12: found no matching overload for 'size' applied to 'int.()'"),
        (
            "self.l.contains('a')",
            "1:16: found no matching overload for 'contains' applied to 'list(string).(string)'",
        ),
        (
            "self.i in self.l",
            "1:8: found no matching overload for '@in' applied to '(int, list(string))'",
        ),
        (
            "self.l[self.s] == ''",
            "1:7: found no matching overload for '_[_]' applied to '(list(string), string)'",
        ),
        (
            "self.o == self.p",
            "1:8: found no matching overload for '_==_' applied to '(object, object)'",
        ),
        ("self.i == null", "1:8: found no matching overload for '_==_' applied to '(int, null)'"),
        (
            "self.l.all(x, x > 1)",
            "1:17: found no matching overload for '_>_' applied to '(string, int)'",
        ),
        (
            "self.i.all(x, x > 1)",
            "cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        ("self.l.all(x, x)", "expected type 'bool' but found 'string'"),
        (
            "self.b ? 1 == 1 : 'a'",
            "1:8: found no matching overload for '_?_:_' applied to '(bool, bool, string)'",
        ),
        ("[1, 'a'].size() == 2", "1:5: expected type 'int' but found 'string'"),
        ("self.l.sum() == 1", "found no matching overload for 'sum' applied to 'list(string).()'"),
        ("duration('x') == duration('1s')", "invalid duration argument"),
        ("timestamp('x') == self.t", "invalid timestamp argument"),
        ("self.s.matches('[')", "invalid matches argument"),
        ("self.s ==", "Syntax error: mismatched input '<EOF>'"),
        ("Foo{a: 1} == 1", "undeclared reference to 'Foo' (in container '')"),
        ("self.i == 99999999999999999999", "invalid int literal"),
        ("self.all(x, true)", "cannot be range of a comprehension"),
        ("oldSelf.x == 1", "1:8: undefined field 'x'"),
        ("self.l.all(for, true)", "reserved identifier: for"),
        ("namespace == 1", "1:1: reserved identifier: namespace"),
    ] {
        let found = errors(&with_rule(&json!({"rule": rule})));
        let head = "schema.x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"";
        assert!(found.len() == 1 && found[0].starts_with(head), "{rule}: {found:?}");
        assert!(found[0].contains("compilation failed: ERROR: <input>:"), "{rule}: {found:?}");
        assert!(found[0].contains(expected), "{rule}: {found:?}");
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    for (rule, name) in [
        ("self.l.all(i, v, v.size() > i)", "all"),
        ("self.l.exists(i, v, v.size() > i)", "exists"),
        ("self.l.transformList(i, v, v).size() == 1", "transformList"),
        ("self.m.transformMap(k, v, v).size() == 1", "transformMap"),
        ("self.l.sortBy(x, x).size() == 1", "sortBy"),
        ("self.l.includes('a')", "includes"),
        ("self.t.getHours('Europe/Berlin') == 1", "getHours"),
    ] {
        let found = errors(&with_rule(&json!({"rule": rule})));
        let words = format!("'{name}' with ");
        assert!(found.len() == 1 && found[0].contains(&words), "{rule}: {found:?}");
        assert!(found[0].contains("is not supported by this server"), "{rule}: {found:?}");
    }
}

#[test]
fn fields_of_rules_are_checked() {
    let at = "schema.x-kubernetes-validations[0].";
    for (rule, expected) in [
        (json!({"rule": " "}), "rule: Required value: rule is not specified"),
        (
            json!({"rule": "true", "message": " "}),
            "message: Invalid value: \" \": must be non-empty if specified",
        ),
        (
            json!({"rule": "true", "message": "a\nb"}),
            "message: Invalid value: \"a\\nb\": must not contain line breaks",
        ),
        (
            json!({"rule": "true &&\ntrue"}),
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "messageExpression": " "}),
            "messageExpression: Required value: messageExpression must be non-empty if specified",
        ),
        (
            json!({"rule": "true", "reason": "Bad"}),
            "reason: Unsupported value: \"Bad\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
        ),
        (
            json!({"rule": "true", "fieldPath": ".zz"}),
            "fieldPath: Invalid value: \".zz\": must be a valid path",
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
        (
            json!({"rule": "self.i"}),
            "rule: Invalid value: {\"Rule\":\"self.i\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: cel expression must evaluate to a bool",
        ),
        (
            json!({"rule": "self.i < 1 || dyn(true)", "messageExpression": "1"}),
            "messageExpression: Invalid value: {\"Rule\":\"self.i \\u003c 1 || dyn(true)\",\"Message\":\"\",\"MessageExpression\":\"1\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}: messageExpression must evaluate to a string",
        ),
    ] {
        assert_eq!(errors(&with_rule(&rule)), [format!("{at}{expected}")], "{rule}");
    }
    let found = errors(&with_rule(&json!({"rule": "true", "messageExpression": "self.zz"})));
    assert!(
        found[0].contains(
            "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'zz'"
        ),
        "{found:?}"
    );
}

#[test]
fn transition_rules_need_old_values() {
    let rule = json!([{"rule": "self == oldSelf"}]);
    let item = json!({"type": "integer", "x-kubernetes-validations": rule});
    let of = |list_type: Value| {
        let mut list = json!({"type": "array", "maxItems": 5, "items": item});
        if !list_type.is_null() {
            list["x-kubernetes-list-type"] = list_type;
        }
        json!({"type": "object", "properties": {"l": list}})
    };
    let expected = "schema.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[l]";
    for list_type in [Value::Null, json!("atomic"), json!("set")] {
        assert_eq!(errors(&of(list_type.clone())), [expected], "{list_type}");
    }
    let map = json!({"type": "object", "properties": {"l": {"type": "array", "maxItems": 5,
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": item}}}}});
    assert_eq!(errors(&map), Vec::<String>::new());
}

const ADVICE: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

#[test]
fn expensive_rules_are_refused() {
    let list = |rule: &str| {
        json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": rule}]}}})
    };
    let at = "schema.properties[l].x-kubernetes-validations[0].rule";
    let hundred = format!(
        "{at}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {ADVICE}"
    );
    for rule in [
        "self.all(x, self.all(y, x == y))",
        "self.all(x, self.all(y, self.all(z, x == y)))",
        "self.all(x, x.contains(x))",
        "self.distinct().size() == self.size()",
        "sets.contains(self, self)",
    ] {
        let found = errors(&list(rule));
        assert_eq!(found[0], hundred, "{rule}");
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(
            found[1],
            format!(
                "{at}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            )
        );
        assert!(found[2].starts_with("schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x"), "{found:?}");
    }
    // A rule below an unbounded list counts for each item that a request can have.
    let nested = json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string",
        "x-kubernetes-validations": [{"rule": "self.contains('a')"}]}}}});
    assert!(
        errors(&nested)[0]
            .contains("estimated rule cost exceeds budget by factor of more than 100x")
    );
    let bounded = json!({"type": "object", "properties": {"l": {"type": "array", "maxItems": 100, "items": {
        "type": "string", "maxLength": 100, "x-kubernetes-validations": [{"rule": "self.contains('a')"}]}}}});
    assert_eq!(errors(&bounded), Vec::<String>::new());
}

/// Rules of the Gateway API and of Kuma, on schemas with their bounds.
#[test]
fn rules_of_real_definitions_are_accepted() {
    let text = json!({"type": "string", "maxLength": 253});
    let reference = json!({"type": "object", "properties": {"group": text, "kind": text, "name": text,
        "namespace": {"type": "string", "maxLength": 63}, "sectionName": text, "port": {"type": "integer"}}});
    let gateway = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "parentRefs": {"type": "array", "maxItems": 32, "items": reference, "x-kubernetes-validations": [
            {"message": "sectionName must be specified when parentRefs includes 2 or more references to the same parent",
             "rule": "self.all(p1, self.all(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__ )) ? ((!has(p1.sectionName) || p1.sectionName == '') == (!has(p2.sectionName) || p2.sectionName == '')) : true))"},
            {"message": "sectionName must be unique when parentRefs includes 2 or more references to the same parent",
             "rule": "self.all(p1, self.exists_one(p2, p1.group == p2.group && p1.kind == p2.kind && p1.name == p2.name && (((!has(p1.__namespace__) || p1.__namespace__ == '') && (!has(p2.__namespace__) || p2.__namespace__ == '')) || (has(p1.__namespace__) && has(p2.__namespace__) && p1.__namespace__ == p2.__namespace__ )) && (((!has(p1.sectionName) || p1.sectionName == '') && (!has(p2.sectionName) || p2.sectionName == '')) || ( has(p1.sectionName) && has(p2.sectionName) && p1.sectionName == p2.sectionName))))"}]},
        "listeners": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name", "port", "protocol"], "properties": {
                "name": text, "port": {"type": "integer", "format": "int32"}, "protocol": {"type": "string", "maxLength": 255},
                "hostname": text, "tls": {"type": "object", "properties": {"mode": {"type": "string", "enum": ["Terminate", "Passthrough"]},
                    "certificateRefs": {"type": "array", "maxItems": 64, "items": reference},
                    "options": {"type": "object", "maxProperties": 16, "additionalProperties": {"type": "string", "maxLength": 4096}}},
                    "x-kubernetes-validations": [{"message": "certificateRefs or options must be specified when mode is Terminate",
                        "rule": "self.mode == 'Terminate' ? size(self.certificateRefs) > 0 || size(self.options) > 0 : true"}]}}},
            "x-kubernetes-validations": [
                {"message": "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']", "rule": "self.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.tls) : true)"},
                {"message": "Listener name must be unique within the Gateway", "rule": "self.all(l1, self.exists_one(l2, l1.name == l2.name))"},
                {"message": "Combination of port, protocol and hostname must be unique for each listener",
                 "rule": "self.all(l1, self.exists_one(l2, l1.port == l2.port && l1.protocol == l2.protocol && (has(l1.hostname) && has(l2.hostname) ? l1.hostname == l2.hostname : !has(l1.hostname) && !has(l2.hostname))))"}]},
        "addresses": {"type": "array", "maxItems": 16, "items": {"type": "object", "properties": {"type": {"type": "string", "maxLength": 253}, "value": text}},
            "x-kubernetes-validations": [
                {"message": "IPAddress values must be unique", "rule": "self.all(a1, a1.type == 'IPAddress' && has(a1.value) ? self.exists_one(a2, a2.type == a1.type && has(a2.value) && a2.value == a1.value) : true )"}]},
        "path": {"type": "object", "properties": {"type": {"type": "string", "enum": ["Exact", "PathPrefix", "RegularExpression"]}, "value": {"type": "string", "maxLength": 1024}},
            "x-kubernetes-validations": [
                {"message": "must only contain valid characters", "rule": "(self.type in ['Exact','PathPrefix']) ? self.value.matches(r\"\"\"^(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+$\"\"\") : true"},
                {"message": "value must be an absolute path and start with '/'", "rule": "(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true"},
                {"message": "type must be one of", "rule": "self.type in ['Exact','PathPrefix'] || self.type == 'RegularExpression'"}]},
        "targetRef": {"type": "object", "properties": {"kind": {"type": "string", "enum": ["Mesh", "MeshSubset"]}, "name": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}}},
            "x-kubernetes-validations": [{"rule": "self.kind == 'Mesh' ? !has(self.name) : true"}, {"rule": "!has(self.labels) || size(self.labels) > 0"}]},
        "timeout": {"type": "string", "pattern": "^([0-9]{1,5}(h|m|s|ms)){1,4}$", "maxLength": 50,
            "x-kubernetes-validations": [{"rule": "duration(self) >= duration('0s')"}]},
        "replicas": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]},
    }}}});
    assert_eq!(errors(&gateway), Vec::<String>::new());
}
