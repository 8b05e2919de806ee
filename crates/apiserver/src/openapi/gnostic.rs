//! Documents as protobuf, in gnostic's messages, which Kubernetes clients read.
//!
//! A document is first generated as JSON; a table per version maps each key to a field and its
//! encoding. Source of the numbers: `OpenAPIv2.proto` and `OpenAPIv3.proto` of
//! `github.com/google/gnostic-models`. Fields that never occur in the documents are omitted.

mod second;
mod third;

use serde_json::Value;

/// Version 3: `openapi.v3.Document`.
pub(super) fn v3(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    message(&third::DOCUMENT, document, &mut out);
    out
}

/// Version 2: `openapi.v2.Document`.
pub(super) fn v2(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    message(&second::DOCUMENT, document, &mut out);
    out
}

/// A message: its keys, and the field for keys that start with `x-`.
#[derive(Debug)]
struct Message {
    fields: &'static [(&'static str, u32, FieldEncoding)],
    extensions: Option<u32>,
}

/// The encoding of a value in a field.
#[derive(Clone, Copy, Debug)]
enum FieldEncoding {
    Text,
    Flag,
    Integer,
    /// `double`.
    Number,
    /// A list of strings: the field repeated.
    Texts,
    /// Any type, as YAML text: `Any { yaml = 2 }`.
    Any,
    /// `DefaultType`: a number, a boolean or a string; other defaults are only marked as present.
    Default,
    Message(&'static Message),
    /// A list: the field repeated.
    Each(&'static FieldEncoding),
    /// An object: the field repeated as `{ name = 1, value = 2 }`.
    Entries(&'static FieldEncoding),
    /// A message with only this field.
    Inside(u32, &'static FieldEncoding),
    /// One of several, depending on the value.
    Choice(fn(&Value) -> FieldEncoding),
}

fn message(message: &Message, value: &Value, out: &mut Vec<u8>) {
    let Value::Object(object) = value else { return };
    for (key, number, encoding) in message.fields {
        if let Some(value) = object.get(*key) {
            field(*number, *encoding, value, out);
        }
    }
    let Some(number) = message.extensions else { return };
    for (name, value) in object.iter().filter(|(key, _)| key.starts_with("x-")) {
        entry(number, name, &FieldEncoding::Any, value, out);
    }
}

fn field(number: u32, encoding: FieldEncoding, value: &Value, out: &mut Vec<u8>) {
    match encoding {
        FieldEncoding::Text => text(number, value.as_str().unwrap_or_default(), out),
        FieldEncoding::Flag => {
            varint(tag(number, 0), out);
            varint(u64::from(value.as_bool().unwrap_or_default()), out);
        }
        FieldEncoding::Integer => {
            varint(tag(number, 0), out);
            varint(integer(value).cast_unsigned(), out);
        }
        FieldEncoding::Number => double(number, value, out),
        FieldEncoding::Texts => {
            value
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|one| field(number, FieldEncoding::Text, one, out));
        }
        FieldEncoding::Any => counted(number, out, |out| text(2, &yaml(value), out)),
        FieldEncoding::Default => counted(number, out, |out| default(value, out)),
        FieldEncoding::Message(inner) => counted(number, out, |out| message(inner, value, out)),
        FieldEncoding::Each(encoding) => {
            value
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|one| field(number, *encoding, one, out));
        }
        FieldEncoding::Entries(encoding) => {
            value
                .as_object()
                .into_iter()
                .flatten()
                .for_each(|(name, one)| entry(number, name, encoding, one, out));
        }
        FieldEncoding::Inside(only, encoding) => {
            counted(number, out, |out| field(only, *encoding, value, out));
        }
        FieldEncoding::Choice(choose) => field(number, choose(value), value, out),
    }
}

fn entry(number: u32, name: &str, encoding: &FieldEncoding, value: &Value, out: &mut Vec<u8>) {
    counted(number, out, |out| {
        text(1, name, out);
        field(2, *encoding, value, out);
    });
}

fn default(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Number(_) => double(1, value, out),
        Value::Bool(_) => field(2, FieldEncoding::Flag, value, out),
        Value::String(words) => text(3, words, out),
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
}

/// JSON is YAML, except for the characters that YAML does not allow, or reads as ends of lines.
fn yaml(value: &Value) -> String {
    let mut json = value.to_string();
    let is_special = |letter| {
        matches!(
            letter,
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
    };
    if json.contains(is_special) {
        let escaped = |letter| match is_special(letter) {
            true => format!("\\u{:04x}", u32::from(letter)),
            false => letter.to_string(),
        };
        json = json.chars().map(escaped).collect();
    }
    json.push('\n');
    json
}

fn double(number: u32, value: &Value, out: &mut Vec<u8>) {
    varint(tag(number, 1), out);
    out.extend(value.as_f64().unwrap_or_default().to_le_bytes());
}

/// `1.0` is an integer too.
fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| value.as_f64().unwrap_or_default() as i64)
}

fn text(number: u32, text: &str, out: &mut Vec<u8>) {
    varint(tag(number, 2), out);
    varint(text.len() as u64, out);
    out.extend(text.as_bytes());
}

/// Writes the output of `inside` with a length prefix.
fn counted(number: u32, out: &mut Vec<u8>, inside: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    inside(&mut bytes);
    varint(tag(number, 2), out);
    varint(bytes.len() as u64, out);
    out.append(&mut bytes);
}

fn tag(number: u32, wire: u64) -> u64 {
    u64::from(number) << 3 | wire
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{v2, v3};

    /// A length-delimited field.
    fn counted(number: u8, inside: impl AsRef<[u8]>) -> Vec<u8> {
        let inside = inside.as_ref();
        [vec![number << 3 | 2, u8::try_from(inside.len()).unwrap()], inside.to_vec()].concat()
    }

    fn named(name: &str, value: &[u8]) -> Vec<u8> {
        [counted(1, name), counted(2, value)].concat()
    }

    /// A field whose tag takes two bytes.
    fn far(tag: [u8; 2], inside: impl AsRef<[u8]>) -> Vec<u8> {
        [tag.to_vec(), vec![u8::try_from(inside.as_ref().len()).unwrap()], inside.as_ref().to_vec()]
            .concat()
    }

    #[test]
    fn version_3_is_written_as_gnostic_reads_it() {
        let schemas = |schema: &[u8]| counted(5, counted(1, counted(1, named("T", schema))));
        // Field 25, `type`: 25 << 3 | 2 = 202 = 0xca 0x01.
        let object =
            |more: &[u8]| schemas(&counted(1, [far([0xca, 1], "object"), more.to_vec()].concat()));
        let table: [(Value, Vec<u8>); 7] = [
            (json!({ "openapi": "3.0.0" }), counted(1, "3.0.0")),
            (
                json!({ "info": { "title": "t", "version": "v" } }),
                counted(2, [counted(1, "t"), counted(6, "v")].concat()),
            ),
            (schema(&json!({ "$ref": "#/x" })), schemas(&counted(2, counted(1, "#/x")))),
            // Field 33, `default`: a string is field 3 of it; an object leaves it empty.
            (
                schema(&json!({ "type": "object", "default": "a" })),
                object(&far([0x8a, 2], counted(3, "a"))),
            ),
            // Field 36, extensions: a name and YAML.
            (
                schema(&json!({ "type": "object", "x-a": ["b"] })),
                object(&far([0xa2, 2], named("x-a", &counted(2, "[\"b\"]\n")))),
            ),
            (
                schema(&json!({ "type": "object", "x-a": "\u{7f}é\u{2028}" })),
                object(&far([0xa2, 2], named("x-a", &counted(2, "\"\\u007fé\\u2028\"\n")))),
            ),
            // Field 13, `minimum`, a double; field 16, `minLength`, a varint.
            (
                schema(&json!({ "minimum": 1, "minLength": 200 })),
                schemas(&counted(1, [0x69, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x80, 1, 0xc8, 1])),
            ),
        ];
        for (document, expected) in table {
            assert_eq!(v3(&document), expected, "{document}");
        }
    }

    fn schema(schema: &Value) -> Value {
        json!({ "components": { "schemas": { "T": schema } } })
    }

    #[test]
    fn version_2_is_written_as_gnostic_reads_it() {
        let definitions = |schema: &[u8]| counted(9, counted(1, named("T", schema)));
        let get = |parameter: &[u8]| {
            counted(8, counted(2, named("/p", &counted(9, counted(1, parameter)))))
        };
        let table: [(Value, Vec<u8>); 6] = [
            (json!({ "swagger": "2.0" }), counted(1, "2.0")),
            (json!({ "definitions": { "T": { "$ref": "#/x" } } }), definitions(&counted(1, "#/x"))),
            // Field 22, `type`: 22 << 3 | 2 = 178 = 0xb2 0x01.
            (
                json!({ "definitions": { "T": { "type": "s" } } }),
                definitions(&far([0xb2, 1], counted(1, "s"))),
            ),
            (json!({ "security": [{ "B": [] }] }), counted(12, counted(1, named("B", &[])))),
            (
                json!({ "paths": { "/p": { "parameters": [{ "name": "n", "in": "path" }] } } }),
                get(&counted(2, counted(4, [counted(2, "path"), counted(4, "n")].concat()))),
            ),
            (
                json!({ "paths": { "/p": { "parameters": [{ "name": "body", "in": "body" }] } } }),
                get(&counted(1, [counted(2, "body"), counted(3, "body")].concat())),
            ),
        ];
        for (document, expected) in table {
            assert_eq!(v2(&document), expected, "{document}");
        }
    }
}
