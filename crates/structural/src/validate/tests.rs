use serde_json::{Value, json};

use crate::{error::Errors, schema::Schema};

fn texts(errors: &Errors) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn parse(spec: &Value) -> Schema {
    Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap()
}

/// Checks a value of `spec`.
fn check(schema: &Value, value: &Value, expected: &[&str]) {
    let errors = parse(schema).validate(&json!({"spec": value}));
    assert_eq!(texts(&errors), expected, "{schema} {value}");
}

/// `crd.required` and `crd.scale` of the facts recorded from a kube-apiserver.
#[test]
fn recorded_errors_come_out_as_recorded() {
    let schema = json!({
        "type": "object", "required": ["spec"],
        "properties": {"spec": {
            "type": "object", "required": ["a"],
            "properties": {
                "a": {"type": "string", "pattern": "^x+$", "maxLength": 3, "minLength": 2},
                "n": {"type": "string", "nullable": true},
                "ios": {"x-kubernetes-int-or-string": true},
                "d": {"type": "string", "format": "date-time"},
                "l": {"type": "array", "maxItems": 1, "items": {"type": "string"}},
                "m": {"type": "object", "additionalProperties": {"type": "integer"}},
                "size": {"type": "integer", "minimum": 1, "maximum": 10},
            },
        }},
    });
    let schema = Schema::parse(&schema).unwrap();
    for (object, field, reason, message) in [
        (json!({"spec": {}}), "spec.a", "FieldValueRequired", "Required value"),
        (
            json!({"spec": {"a": "y"}}),
            "spec.a",
            "FieldValueInvalid",
            "Invalid value: \"y\": spec.a in body should be at least 2 chars long",
        ),
        (
            json!({"spec": {"a": "xxxx"}}),
            "spec.a",
            "FieldValueTooLong",
            "Too long: may not be more than 3 bytes",
        ),
        (
            json!({"spec": {"a": "xx", "ios": true}}),
            "spec.ios",
            "FieldValueTypeInvalid",
            "Invalid value: \"boolean\": spec.ios in body must be of type integer,string: \"boolean\"",
        ),
        (
            json!({"spec": {"a": "xx", "d": "nope"}}),
            "spec.d",
            "FieldValueTypeInvalid",
            "Invalid value: \"nope\": spec.d in body must be of type date-time: \"nope\"",
        ),
        (
            json!({"spec": {"a": "xx", "l": ["1", "2"]}}),
            "spec.l",
            "FieldValueTooMany",
            "Too many: 2: must have at most 1 item",
        ),
        (
            json!({"spec": {"a": "xx", "m": {"q": "z"}}}),
            "spec.m.q",
            "FieldValueTypeInvalid",
            "Invalid value: \"string\": spec.m.q in body must be of type integer: \"string\"",
        ),
        (json!({}), "spec", "FieldValueRequired", "Required value"),
        (
            json!({"spec": {"a": "xx", "size": 50}}),
            "spec.size",
            "FieldValueInvalid",
            "Invalid value: 50: spec.size in body should be less than or equal to 10",
        ),
    ] {
        let errors = schema.validate(&object);
        let found: Vec<_> =
            errors.iter().map(|e| (e.path.as_str(), e.reason(), e.message())).collect();
        assert_eq!(found, [(field, reason, message.to_owned())], "{object}");
    }
    for spec in [json!({"a": "xxx", "n": null, "ios": 5, "l": []}), json!({"a": "xx", "ios": "5%"})]
    {
        assert_eq!(texts(&schema.validate(&json!({"spec": spec}))), [""; 0]);
    }
}

#[test]
fn types_are_checked() {
    let of = |type_: &str| json!({"type": type_});
    for (type_, value) in [
        ("string", json!("")),
        ("integer", json!(1)),
        ("integer", json!(1.0)),
        ("number", json!(1)),
        ("number", json!(1.5)),
        ("boolean", json!(true)),
        ("array", json!([])),
        ("object", json!({})),
    ] {
        check(&of(type_), &value, &[]);
    }
    check(
        &of("string"),
        &json!(null),
        &["spec: Invalid value: \"null\": spec in body must be of type string: \"null\""],
    );
    check(
        &of("string"),
        &json!(1.5),
        &["spec: Invalid value: \"number\": spec in body must be of type string: \"number\""],
    );
    check(
        &of("object"),
        &json!([]),
        &["spec: Invalid value: \"array\": spec in body must be of type object: \"array\""],
    );
    check(
        &of("array"),
        &json!({}),
        &["spec: Invalid value: \"object\": spec in body must be of type array: \"object\""],
    );
    check(
        &of("integer"),
        &json!(1.5),
        &[
            "spec: Invalid value: \"number\": spec in body must be of type integer: \"number\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in spec",
        ],
    );
    check(
        &json!({"type": "string", "format": "date"}),
        &json!(5),
        &["spec: Invalid value: \"int64\": spec in body must be of type date: \"int64\""],
    );
    check(&json!({"type": "string", "format": "date", "nullable": true}), &json!(null), &[]);
    check(&json!({"x-kubernetes-preserve-unknown-fields": true}), &json!(null), &[]);
    check(
        &json!({"type": "string", "enum": ["a", 1], "nullable": true}),
        &json!(null),
        &["spec: Unsupported value: null: supported values: \"a\", \"1\""],
    );
}

#[test]
fn numbers_are_checked() {
    let whole = |text: &str| format!("<nil>: Invalid value: \"\": {text} in spec");
    check(&json!({"type": "integer", "format": "int32"}), &json!(2_147_483_647), &[]);
    check(
        &json!({"type": "integer", "format": "int32"}),
        &json!(2_147_483_648_i64),
        &[&whole("Checked value must be of type integer with format int32")],
    );
    check(&json!({"type": "integer", "format": "int64"}), &json!(i64::MAX), &[]);
    check(
        &json!({"type": "number", "format": "float"}),
        &json!(1e39),
        &[&whole("Checked value must be of type number with format float")],
    );
    check(&json!({"type": "number", "format": "double"}), &json!(1e39), &[]);
    let bounded = json!({
        "type": "number", "minimum": 1.5, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": true,
    });
    check(&bounded, &json!(2.5), &[]);
    check(
        &bounded,
        &json!(1.5),
        &["spec: Invalid value: 1.5: spec in body should be greater than 1.5"],
    );
    check(&bounded, &json!(3), &["spec: Invalid value: 3: spec in body should be less than 3"]);
    // An integer is compared with the integer part of a bound.
    check(&bounded, &json!(1), &["spec: Invalid value: 1: spec in body should be greater than 1"]);
    check(
        &json!({"type": "integer", "minimum": 1}),
        &json!(0),
        &["spec: Invalid value: 0: spec in body should be greater than or equal to 1"],
    );
    check(
        &json!({"type": "integer", "maximum": 1.5}),
        &json!(1),
        &[&whole("Maximum boundary value must be of type integer (default format)")],
    );
    check(&json!({"type": "number", "multipleOf": 0.01}), &json!(4.02), &[]);
    check(
        &json!({"type": "number", "multipleOf": 0.5}),
        &json!(0.7),
        &["spec: Invalid value: 0.7: spec in body should be a multiple of 0.5"],
    );
    check(
        &json!({"type": "integer", "multipleOf": 3}),
        &json!(7),
        &["spec: Invalid value: 7: spec in body should be a multiple of 3"],
    );
    check(
        &json!({"type": "integer", "multipleOf": 0}),
        &json!(7),
        &["spec: Invalid value: 0: factor MultipleOf declared for spec must be positive: 0"],
    );
}

#[test]
fn strings_lists_and_objects_are_checked() {
    let text = json!({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z😀]+$"});
    check(&text, &json!("😀😀😀"), &[]);
    check(
        &text,
        &json!("😀"),
        &["spec: Invalid value: \"😀\": spec in body should be at least 2 chars long"],
    );
    check(&text, &json!("😀😀😀😀"), &["spec: Too long: may not be more than 3 bytes"]);
    check(
        &text,
        &json!("AB"),
        &["spec: Invalid value: \"AB\": spec in body should match '^[a-z😀]+$'"],
    );
    check(
        &json!({"type": "string", "maxLength": 1}),
        &json!("ab"),
        &["spec: Too long: may not be more than 1 byte"],
    );
    check(
        &json!({"type": "array", "minItems": 3, "items": {"type": "string"}}),
        &json!(["a", 1]),
        &[
            "spec[1]: Invalid value: \"integer\": spec[1] in body must be of type string: \"integer\"",
            "spec: Invalid value: 2: spec in body should have at least 3 items",
        ],
    );
    check(
        &json!({"type": "object", "minProperties": 3, "maxProperties": 1, "additionalProperties": {"type": "string"}}),
        &json!({"a.b": 1, "c": "x"}),
        &[
            "spec: Invalid value: 2: spec in body should have at least 3 properties",
            "spec: Too many: 2: must have at most 1 item",
            "spec.a.b: Invalid value: \"integer\": spec.a.b in body must be of type string: \"integer\"",
        ],
    );
    check(
        &json!({"type": "object", "additionalProperties": false}),
        &json!({"a": 1}),
        &["spec: Invalid value: \"a\": spec.a in body is a forbidden property"],
    );
    check(
        &json!({"type": "string", "enum": ["red", "green"]}),
        &json!("blue"),
        &["spec: Unsupported value: \"blue\": supported values: \"red\", \"green\""],
    );
    check(&json!({"type": "number", "enum": [1, 2.5]}), &json!(1.0), &[]);
    check(&json!({"type": "object", "enum": [{"a": [1]}]}), &json!({"a": [1]}), &[]);
}

#[test]
fn junctors_are_checked() {
    let whole = |text: &str| format!("<nil>: Invalid value: \"\": \"spec\" {text}");
    let any = json!({"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^a", "enum": ["ab", "ac"]}]});
    check(&any, &json!("ab"), &[]);
    check(
        &any,
        &json!("b"),
        &[
            &whole("must validate at least one schema (anyOf)"),
            "spec: Invalid value: \"b\": spec in body should be at least 3 chars long",
        ],
    );
    // The alternative that passes more checks is explained.
    check(
        &json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [
            {"required": ["c"]}, {"required": ["d"], "properties": {"a": {"minLength": 1}}},
        ]}),
        &json!({"a": "x"}),
        &[
            &whole("must validate one and only one schema (oneOf). Found none valid"),
            "spec.d: Required value",
        ],
    );
    check(
        &json!({"type": "object", "oneOf": [{"minProperties": 0}, {"maxProperties": 5}]}),
        &json!({}),
        &[&whole("must validate one and only one schema (oneOf). Found 2 valid alternatives")],
    );
    check(
        &json!({"type": "string", "allOf": [{"minLength": 2}, {"maxLength": 5}]}),
        &json!("a"),
        &[
            "spec: Invalid value: \"a\": spec in body should be at least 2 chars long",
            &whole("must validate all the schemas (allOf)"),
        ],
    );
    check(
        &json!({"type": "string", "allOf": [{"minLength": 2}]}),
        &json!("a"),
        &[
            "spec: Invalid value: \"a\": spec in body should be at least 2 chars long",
            &whole("must validate all the schemas (allOf). None validated"),
        ],
    );
    check(
        &json!({"type": "string", "not": {"enum": ["a"]}}),
        &json!("a"),
        &[&whole("must not validate the schema (not)")],
    );
    check(&json!({"type": "string", "not": {"enum": ["a"]}}), &json!("b"), &[]);
    check(
        &json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^5"}),
        &json!("6"),
        &["spec: Invalid value: \"6\": spec in body should match '^5'"],
    );
}

#[test]
fn repeated_errors_are_listed_once() {
    check(
        &json!({"type": "string", "minLength": 2, "allOf": [{"minLength": 2}, {"minLength": 2}]}),
        &json!("a"),
        &[
            "spec: Invalid value: \"a\": spec in body should be at least 2 chars long",
            "<nil>: Invalid value: \"\": \"spec\" must validate all the schemas (allOf). None validated",
        ],
    );
}

#[test]
fn errors_of_unchanged_values_are_tolerated() {
    let schema = parse(&json!({
        "type": "object", "required": ["needed"],
        "properties": {
            "s": {"type": "string", "minLength": 3},
            "atomic": {"type": "array", "items": {"type": "string", "minLength": 3}},
            "map": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 5}, "w": {}}},
            },
            "any": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1}},
            "one": {"type": "object", "properties": {"a": {"type": "integer"}}, "allOf": [{"properties": {"a": {"maximum": 1}}}]},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        },
    }));
    let check = |old: &Value, new: &Value, expected: &[&str]| {
        let errors = schema.validate_update(&json!({"spec": new}), &json!({"spec": old}));
        assert_eq!(texts(&errors), expected, "{old} to {new}");
    };
    let short = "should be at least 3 chars long";
    check(&json!({"s": "a"}), &json!({"s": "a"}), &[]);
    check(&json!({"s": "a"}), &json!({"s": "a", "needed": 1}), &[]);
    // What is required of a changed object is required again.
    check(&json!({"s": "a"}), &json!({"s": "a", "x": 1}), &["spec.needed: Required value"]);
    check(
        &json!({"s": "a", "needed": 1}),
        &json!({"s": "b", "needed": 1}),
        &[&format!("spec.s: Invalid value: \"b\": spec.s in body {short}")],
    );
    check(
        &json!({"atomic": ["a"], "needed": 1}),
        &json!({"atomic": ["a", "long"], "needed": 1}),
        &[&format!("spec.atomic[0]: Invalid value: \"a\": spec.atomic[0] in body {short}")],
    );
    check(&json!({"atomic": ["a"], "needed": 1}), &json!({"atomic": ["a"], "needed": 2}), &[]);
    check(
        &json!({"map": [{"k": "a", "v": 9}, {"k": "b", "v": 1}], "needed": 1}),
        &json!({"map": [{"k": "b", "v": 8}, {"k": "a", "v": 9, "w": "changed"}], "needed": 1}),
        &[
            "spec.map[0].v: Invalid value: 8: spec.map[0].v in body should be less than or equal to 5",
        ],
    );
    check(
        &json!({"any": {"a": "long"}, "needed": 1}),
        &json!({"any": {"a": "long", "b": "long"}, "needed": 1}),
        &["spec.any.b: Too long: may not be more than 1 byte"],
    );
    check(
        &json!({"one": {"a": 5}, "needed": 1}),
        &json!({"one": {"a": 5, "b": 1}, "needed": 1}),
        &[],
    );
    check(
        &json!({"set": ["a"], "needed": 1}),
        &json!({"set": ["a", "a"], "needed": 1}),
        &["spec.set[1]: Duplicate value: \"a\""],
    );
    check(&json!({"set": ["a", "a"], "needed": 1}), &json!({"set": ["b", "b"], "needed": 1}), &[]);
}

#[test]
fn the_type_of_the_object_is_not_tolerated() {
    let schema =
        &json!({"type": "object", "properties": {"kind": {"type": "string", "maxLength": 1}}});
    let schema = Schema::parse(schema).unwrap();
    let errors = schema.validate_update(&json!({"kind": "Long", "a": 1}), &json!({"kind": "Long"}));
    assert_eq!(texts(&errors), ["kind: Too long: may not be more than 1 byte"]);
}

#[test]
fn a_status_is_validated_by_itself() {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["a"]},
        "status": {"type": "object", "required": ["phase"], "properties": {"ready": {"type": "integer"}}},
    }});
    let schema = Schema::parse(&schema).unwrap();
    let new = json!({"spec": {}, "status": {"ready": "no"}});
    assert_eq!(
        texts(&schema.validate_status_update(&new, &json!({"spec": {}}))),
        [
            "status.ready: Invalid value: \"string\": ready in body must be of type integer: \"string\"",
            "status.phase: Required value",
        ]
    );
    assert!(schema.validate_status_update(&new, &new).is_empty());
}
