//! Parts of a spec as errors show them: with Go's names, in Go's order, absent fields as zero.
//!
//! Source: `types.go` and `types_jsonschema.go` of the internal version.

use std::fmt::Write;

use serde_json::Value;

use crate::kinds::read::at;

/// Beyond this length structures are shown without their fields: a schema is printed with all its
/// fields, a hundred times as long as it is written.
const MOST_SHOWN: usize = 64 << 10;

/// A version as errors show it.
pub(super) fn version(out: &mut String, version: &Value) {
    structure(out, &VERSION, version);
}

/// A schema as errors show it.
pub(super) fn schema(schema: &Value) -> String {
    let mut out = String::new();
    structure(&mut out, &SCHEMA, schema);
    out
}

/// Go's name of a schema's field, in Go's order; only of fields that are not zero.
pub(super) fn fields_set(schema: &Value) -> impl Iterator<Item = &'static str> {
    let is_set = |(_, name, form): &&Field| match at(schema, &[name]) {
        Value::Null => false,
        Value::Bool(value) => *value || *form == Form::Pointer,
        Value::String(text) => !text.is_empty() || *form == Form::Pointer,
        _ => true,
    };
    SCHEMA.iter().filter(is_set).map(|(go, ..)| *go)
}

/// Go's name, the JSON's name, and how the value is printed.
type Field = (&'static str, &'static str, Form);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Text,
    Bool,
    Int,
    /// Of a scalar, or any JSON: null if absent.
    Pointer,
    /// Of scalars.
    List,
    Struct(&'static [Field]),
    Structs(&'static [Field]),
    Map(&'static [Field]),
    /// A schema or several.
    OrList,
    OrBool,
    /// A map to schemas or texts.
    OrTexts,
}

static VERSION: [Field; 9] = [
    ("Name", "name", Form::Text),
    ("Served", "served", Form::Bool),
    ("Storage", "storage", Form::Bool),
    ("Deprecated", "deprecated", Form::Bool),
    ("DeprecationWarning", "deprecationWarning", Form::Pointer),
    (
        "Schema",
        "schema",
        Form::Struct(&[("OpenAPIV3Schema", "openAPIV3Schema", Form::Struct(&SCHEMA))]),
    ),
    ("Subresources", "subresources", Form::Struct(&SUBRESOURCES)),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", Form::Structs(&COLUMN)),
    (
        "SelectableFields",
        "selectableFields",
        Form::Structs(&[("JSONPath", "jsonPath", Form::Text)]),
    ),
];

static SUBRESOURCES: [Field; 2] = [
    ("Status", "status", Form::Struct(&[])),
    (
        "Scale",
        "scale",
        Form::Struct(&[
            ("SpecReplicasPath", "specReplicasPath", Form::Text),
            ("StatusReplicasPath", "statusReplicasPath", Form::Text),
            ("LabelSelectorPath", "labelSelectorPath", Form::Pointer),
        ]),
    ),
];

static COLUMN: [Field; 6] = [
    ("Name", "name", Form::Text),
    ("Type", "type", Form::Text),
    ("Format", "format", Form::Text),
    ("Description", "description", Form::Text),
    ("Priority", "priority", Form::Int),
    ("JSONPath", "jsonPath", Form::Text),
];

static SCHEMA: [Field; 44] = [
    ("ID", "id", Form::Text),
    ("Schema", "$schema", Form::Text),
    ("Ref", "$ref", Form::Pointer),
    ("Description", "description", Form::Text),
    ("Type", "type", Form::Text),
    ("Nullable", "nullable", Form::Bool),
    ("Format", "format", Form::Text),
    ("Title", "title", Form::Text),
    ("Default", "default", Form::Pointer),
    ("Maximum", "maximum", Form::Pointer),
    ("ExclusiveMaximum", "exclusiveMaximum", Form::Bool),
    ("Minimum", "minimum", Form::Pointer),
    ("ExclusiveMinimum", "exclusiveMinimum", Form::Bool),
    ("MaxLength", "maxLength", Form::Pointer),
    ("MinLength", "minLength", Form::Pointer),
    ("Pattern", "pattern", Form::Text),
    ("MaxItems", "maxItems", Form::Pointer),
    ("MinItems", "minItems", Form::Pointer),
    ("UniqueItems", "uniqueItems", Form::Bool),
    ("MultipleOf", "multipleOf", Form::Pointer),
    ("Enum", "enum", Form::List),
    ("MaxProperties", "maxProperties", Form::Pointer),
    ("MinProperties", "minProperties", Form::Pointer),
    ("Required", "required", Form::List),
    ("Items", "items", Form::OrList),
    ("AllOf", "allOf", Form::Structs(&SCHEMA)),
    ("OneOf", "oneOf", Form::Structs(&SCHEMA)),
    ("AnyOf", "anyOf", Form::Structs(&SCHEMA)),
    ("Not", "not", Form::Struct(&SCHEMA)),
    ("Properties", "properties", Form::Map(&SCHEMA)),
    ("AdditionalProperties", "additionalProperties", Form::OrBool),
    ("PatternProperties", "patternProperties", Form::Map(&SCHEMA)),
    ("Dependencies", "dependencies", Form::OrTexts),
    ("AdditionalItems", "additionalItems", Form::OrBool),
    ("Definitions", "definitions", Form::Map(&SCHEMA)),
    (
        "ExternalDocs",
        "externalDocs",
        Form::Struct(&[("Description", "description", Form::Text), ("URL", "url", Form::Text)]),
    ),
    ("Example", "example", Form::Pointer),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", Form::Pointer),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Form::Bool),
    ("XIntOrString", "x-kubernetes-int-or-string", Form::Bool),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Form::List),
    ("XListType", "x-kubernetes-list-type", Form::Pointer),
    ("XMapType", "x-kubernetes-map-type", Form::Pointer),
    ("XValidations", "x-kubernetes-validations", Form::Structs(&RULE)),
];

static RULE: [Field; 6] = [
    ("Rule", "rule", Form::Text),
    ("Message", "message", Form::Text),
    ("MessageExpression", "messageExpression", Form::Text),
    ("Reason", "reason", Form::Pointer),
    ("FieldPath", "fieldPath", Form::Text),
    ("OptionalOldSelf", "optionalOldSelf", Form::Pointer),
];

fn structure(out: &mut String, fields: &[Field], value: &Value) {
    out.push('{');
    if out.len() > MOST_SHOWN {
        out.push('}');
        return;
    }
    for (go, name, form) in fields {
        comma(out);
        let _ = write!(out, "\"{go}\":");
        printed(out, *form, at(value, &[name]));
    }
    out.push('}');
}

fn printed(out: &mut String, form: Form, value: &Value) {
    match (form, value) {
        (Form::Text, Value::Null) => out.push_str("\"\""),
        (Form::Bool, Value::Null) => out.push_str("false"),
        (Form::Int, Value::Null) => out.push('0'),
        (_, Value::Null) => out.push_str("null"),
        (Form::Struct(fields), value) => structure(out, fields, value),
        (Form::Structs(fields), Value::Array(values)) => structures(out, fields, values),
        (Form::Map(fields), Value::Object(members)) => {
            map(out, members.iter(), |out, value| structure(out, fields, value));
        }
        (Form::OrTexts, Value::Object(members)) => {
            map(out, members.iter(), |out, value| either(out, ("Property", Form::List), value));
        }
        (Form::OrList, value) => either(out, ("JSONSchemas", Form::Structs(&SCHEMA)), value),
        (Form::OrBool, value) => {
            let _ = write!(out, "{{\"Allows\":{},\"Schema\":", *value != Value::Bool(false));
            let schema = if value.is_object() { value } else { &Value::Null };
            printed(out, Form::Struct(&SCHEMA), schema);
            out.push('}');
        }
        (_, value) => out.push_str(&escaped(&value.to_string())),
    }
}

/// A schema, or the list in its place.
fn either(out: &mut String, (many, form): (&str, Form), value: &Value) {
    let null = &Value::Null;
    let (schema, values) = if value.is_array() { (null, value) } else { (value, null) };
    out.push_str("{\"Schema\":");
    printed(out, Form::Struct(&SCHEMA), schema);
    let _ = write!(out, ",\"{many}\":");
    printed(out, form, values);
    out.push('}');
}

fn structures(out: &mut String, fields: &[Field], values: &[Value]) {
    out.push('[');
    for value in values {
        comma(out);
        structure(out, fields, value);
    }
    out.push(']');
}

fn map<'a>(
    out: &mut String,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
    value: impl Fn(&mut String, &Value),
) {
    out.push('{');
    for (name, member) in members {
        comma(out);
        out.push_str(&escaped(&Value::from(name.as_str()).to_string()));
        out.push(':');
        value(out, member);
    }
    out.push('}');
}

/// A comma, unless nothing precedes.
pub(super) fn comma(out: &mut String) {
    if !out.ends_with(['[', '{']) {
        out.push(',');
    }
}

/// Go's JSON is safe inside HTML.
fn escaped(json: &str) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}
