use serde_json::{Value, json};

use super::{Tolerance, check_definition};
use crate::{path::Path, schema::Schema};

fn errors(schema: &Value, tolerance: Tolerance) -> Vec<String> {
    let schema = Schema::parse(schema).unwrap();
    let errors = check_definition(&schema, &Path::root("S"), tolerance);
    errors.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn check(schema: &Value, expected: &[&str]) {
    assert_eq!(errors(schema, Tolerance::default()), expected, "{schema}");
}

/// A schema with one property.
fn with(property: &Value) -> Value {
    json!({"type": "object", "properties": {"p": property}})
}

#[test]
fn sound_definitions_are_accepted() {
    check(&json!({"type": "object"}), &[]);
    check(
        &json!({
            "type": "object", "description": "d", "required": ["spec"],
            "properties": {
                "apiVersion": {"type": "string"}, "kind": {"type": "string"},
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
                "spec": {
                    "type": "object", "default": {"l": []},
                    "properties": {
                        "l": {
                            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                            "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
                        },
                        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                        "ios": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                        "ios2": {
                            "x-kubernetes-int-or-string": true, "pattern": "^5",
                            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}],
                        },
                        "pod": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
                        "map": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
                        "free": {"x-kubernetes-preserve-unknown-fields": true},
                        "n": {"type": "integer", "nullable": true, "default": 3, "minimum": 1, "enum": [1, 3]},
                    },
                    "anyOf": [{"required": ["l"]}, {"properties": {"set": {"minItems": 1}}, "not": {"required": ["n"]}}],
                },
            },
        }),
        &[],
    );
}

/// Words of `schema/validation.go`, in the order that it sorts them in.
#[test]
fn schemas_must_be_structural() {
    check(&json!({}), &["S.type: Required value: must not be empty at the root"]);
    check(
        &json!({"type": "array", "items": {"type": "string"}}),
        &["S.type: Invalid value: \"array\": must be object at the root"],
    );
    check(
        &json!({"type": "object", "properties": {"a": {}, "l": {"type": "array", "items": {}}, "m": {"type": "array"}}}),
        &[
            "S.properties[a].type: Required value: must not be empty for specified object fields",
            "S.properties[l].items.type: Required value: must not be empty for specified array items",
            "S.properties[m].items: Required value: must be specified",
        ],
    );
    check(
        &json!({"type": "object", "additionalProperties": {"type": "string"}}),
        &["S.additionalProperties: Forbidden: must not be used at the root"],
    );
    check(
        &with(&json!({"type": "object", "anyOf": [{
            "type": "object", "default": {}, "title": "t", "description": "d", "nullable": true,
            "additionalProperties": true, "x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-embedded-resource": true, "x-kubernetes-int-or-string": true,
            "x-kubernetes-validations": [{"rule": "true"}], "properties": {"metadata": {"minProperties": 1}},
        }]})),
        &[
            "S.properties[p].anyOf[0].additionalProperties: Forbidden: must be undefined to be structural",
            "S.properties[p].anyOf[0].default: Forbidden: must be undefined to be structural",
            "S.properties[p].anyOf[0].description: Forbidden: must be empty to be structural",
            "S.properties[p].anyOf[0].nullable: Forbidden: must be false to be structural",
            "S.properties[p].anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
            "S.properties[p].anyOf[0].title: Forbidden: must be empty to be structural",
            "S.properties[p].anyOf[0].type: Forbidden: must be empty to be structural",
            "S.properties[p].anyOf[0].x-kubernetes-embedded-resource: Forbidden: must be false to be structural",
            "S.properties[p].anyOf[0].x-kubernetes-int-or-string: Forbidden: must be false to be structural",
            "S.properties[p].anyOf[0].x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural",
            "S.properties[p].anyOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural",
        ],
    );
    check(
        &json!({"type": "object", "not": {"properties": {"a": {"minLength": 1}}, "items": {"minimum": 1}}}),
        &[
            "S.items: Required value: because it is defined in S.not.items",
            "S.properties[a]: Required value: because it is defined in S.not.properties[a]",
        ],
    );
    check(
        &with(
            &json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        &[
            "S.properties[p].anyOf[0].type: Forbidden: must be empty to be structural",
            "S.properties[p].anyOf[1].type: Forbidden: must be empty to be structural",
        ],
    );
    check(
        &with(&json!({"type": "string", "pattern": "a("})),
        &[
            "S.properties[p].pattern: Invalid value: \"a(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `a(`",
        ],
    );
}

#[test]
fn resources_have_fixed_types_and_metadata() {
    let implicit = "must not specify anything other than name and generateName, but metadata is implicitly specified";
    check(
        &json!({"type": "object", "properties": {
            "kind": {"type": "integer"}, "apiVersion": {"type": "integer"},
            "metadata": {"type": "string", "minLength": 1},
        }}),
        &[
            "S.properties[apiVersion].type: Invalid value: \"integer\": must be string",
            "S.properties[kind].type: Invalid value: \"integer\": must be string",
            "S.properties[metadata].type: Invalid value: \"string\": must be object",
            &format!("S.properties[metadata]: Forbidden: {implicit}"),
        ],
    );
    check(
        &json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
        &[&format!("S.properties[metadata]: Forbidden: {implicit}")],
    );
    check(
        &with(
            &json!({"x-kubernetes-embedded-resource": true, "additionalProperties": true, "x-kubernetes-int-or-string": true}),
        ),
        &[
            "S.properties[p].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
            "S.properties[p].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            "S.properties[p].type: Required value: must be object if x-kubernetes-embedded-resource is true",
            "S.properties[p].x-kubernetes-embedded-resource: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ],
    );
}

#[test]
fn unsupported_fields_are_refused() {
    check(
        &with(&json!({
            "type": "object", "id": "a", "additionalItems": true, "patternProperties": {"a": {}},
            "definitions": {"a": {"type": "x"}}, "dependencies": {"a": ["b"]}, "$ref": "#/a", "uniqueItems": true,
        })),
        &[
            "S.properties[p].id: Forbidden: id is not supported",
            "S.properties[p].additionalItems: Forbidden: additionalItems is not supported",
            "S.properties[p].patternProperties: Forbidden: patternProperties is not supported",
            "S.properties[p].definitions: Forbidden: definitions is not supported",
            "S.properties[p].dependencies: Forbidden: dependencies is not supported",
            "S.properties[p].$ref: Forbidden: $ref is not supported",
            "S.properties[p].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            "S.properties[p].definitions[a].type: Unsupported value: \"x\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ],
    );
    check(
        &json!({"type": "object", "$schema": "x"}),
        &["S: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"],
    );
    check(
        &with(&json!({"type": "null"})),
        &[
            "S.properties[p].type: Unsupported value: \"null\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
            "S.properties[p].type: Forbidden: type cannot be set to null, use nullable as an alternative",
        ],
    );
    check(
        &with(&json!({"type": "array", "items": [{"type": "string"}]})),
        &["S.properties[p].items: Forbidden: items must be a schema object and not an array"],
    );
    check(
        &with(
            &json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
        ),
        &[
            "S.properties[p].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ],
    );
    check(
        &with(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false})),
        &[
            "S.properties[p].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ],
    );
    check(
        &json!({"type": "object", "nullable": true}),
        &["S.nullable: Forbidden: nullable cannot be true at the root"],
    );
    check(
        &with(&json!({"type": "string", "x-kubernetes-map-type": "x"})),
        &[
            "S.properties[p].type: Invalid value: \"string\": must be object if x-kubernetes-map-type is specified",
            "S.properties[p].x-kubernetes-map-type: Unsupported value: \"x\": supported values: \"atomic\", \"granular\"",
        ],
    );
}

#[test]
fn list_types_and_keys_are_checked() {
    let list = |more: Value| {
        let mut list = json!({"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}, "o": {"type": "object"}}}});
        list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(&list)
    };
    check(
        &with(&json!({"type": "object", "x-kubernetes-list-type": "bag"})),
        &[
            "S.properties[p].type: Invalid value: \"object\": must be array if x-kubernetes-list-type is specified",
            "S.properties[p].x-kubernetes-list-type: Unsupported value: \"bag\": supported values: \"atomic\", \"set\", \"map\"",
        ],
    );
    check(
        &list(json!({"x-kubernetes-list-type": "set"})),
        &[
            "S.properties[p].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ],
    );
    check(
        &with(&json!({"type": "array", "x-kubernetes-list-type": "set", "items": {
            "type": "array", "x-kubernetes-list-type": "set", "nullable": true, "items": {"type": "string"},
        }})),
        &[
            "S.properties[p].items.x-kubernetes-list-type: Invalid value: \"set\": must be atomic as item of a list with x-kubernetes-list-type=set",
            "S.properties[p].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ],
    );
    check(
        &list(json!({"x-kubernetes-list-map-keys": ["k"]})),
        &[
            "S.properties[p].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ],
    );
    check(
        &list(json!({"x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "atomic"})),
        &[
            "S.properties[p].x-kubernetes-list-type: Invalid value: \"atomic\": must be map if x-kubernetes-list-map-keys is non-empty",
        ],
    );
    check(
        &list(json!({"x-kubernetes-list-type": "map"})),
        &[
            "S.properties[p].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ],
    );
    check(
        &list(
            json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "k", "x", "o"]}),
        ),
        &[
            "S.properties[p].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\",\"x\",\"o\"]: must not contain duplicate entries",
            "S.properties[p].x-kubernetes-list-map-keys: Invalid value: [\"k\",\"k\",\"x\",\"o\"]: entries must all be names of item properties",
            "S.properties[p].items.properties[o].type: Invalid value: \"object\": must be a scalar type if parent array's x-kubernetes-list-type is map",
            "S.properties[p].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            "S.properties[p].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            "S.properties[p].items.properties[o].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ],
    );
    check(
        &with(
            &json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
        ),
        &[
            "S.properties[p].items.type: Invalid value: \"string\": must be object if parent array's x-kubernetes-list-type is map",
        ],
    );
}

/// `crd.invalid-default-bad` of the facts recorded from a kube-apiserver, and words of
/// `defaulting/validation.go`.
#[test]
fn defaults_must_fit() {
    let schema = Schema::parse(
        &json!({"type": "object", "properties": {"l": {"type": "string", "default": 5}}}),
    )
    .unwrap();
    let base = Path::root("spec.validation.openAPIV3Schema");
    let errors = check_definition(&schema, &base, Tolerance::default());
    let found: Vec<_> = errors.iter().map(|e| (e.path.as_str(), e.reason(), e.message())).collect();
    let message =
        "Invalid value: \"integer\":  in body must be of type string: \"integer\"".to_owned();
    assert_eq!(
        found,
        [(
            "spec.validation.openAPIV3Schema.properties[l].default",
            "FieldValueTypeInvalid",
            message
        )]
    );

    let object = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let defaulted = |schema: &Value, default: Value| {
        let mut schema = schema.clone();
        schema["default"] = default;
        with(&schema)
    };
    check(
        &defaulted(&object, json!({"a": 1, "b": 2})),
        &[
            "S.properties[p].default: Invalid value: {\"a\":1,\"b\":2}: must not have unknown fields",
            "S.properties[p].default.a: Invalid value: \"integer\": a in body must be of type string: \"integer\"",
        ],
    );
    check(
        &defaulted(
            &json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"k": 1}),
        ),
        &[
            "S.properties[p].default.k: Invalid value: \"integer\": .k in body must be of type string: \"integer\"",
        ],
    );
    check(
        &defaulted(
            &json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            json!({"kind": "K"}),
        ),
        &["S.properties[p].default.apiVersion: Required value"],
    );
    check(
        &with(&json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "integer", "default": 5}}},
        }})),
        &[
            "S.properties[p].properties[metadata].properties[name].default: Invalid value: 5: must result in valid metadata: metadata: Invalid value: {\"name\":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ],
    );
    check(
        &json!({"type": "object", "properties": {"metadata": {"type": "object", "default": {}}}}),
        &["S.properties[metadata].default: Forbidden: must not be set in top-level metadata"],
    );
}

#[test]
fn what_the_stored_definition_violates_is_tolerated() {
    let bad_set = with(
        &json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}),
    );
    let bad_keys = with(&json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}}},
    }));
    let bad_default = with(&json!({"type": "object", "default": {"x": 1}}));
    for (schema, expected) in [
        (bad_set, Tolerance { non_atomic_sets: true, ..Tolerance::default() }),
        (bad_keys, Tolerance { invalid_map_keys: true, ..Tolerance::default() }),
        (bad_default, Tolerance { unpruned_defaults: true, ..Tolerance::default() }),
    ] {
        let parsed = Schema::parse(&schema).unwrap();
        let tolerance = Tolerance::of([&parsed]);
        assert_eq!(tolerance, expected);
        assert_ne!(errors(&schema, Tolerance::default()), [""; 0], "{schema}");
        assert_eq!(errors(&schema, tolerance), [""; 0]);
    }
}
