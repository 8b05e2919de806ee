//! Values as Go prints them: Kubernetes' messages show values with `%q`, `%v` and `json.Marshal`.

use std::fmt::Write as _;

use serde_json::{Number, Value};

const WRITES: &str = "writing to a String does not fail";

/// A value as a field error shows it: strings quoted, numbers plain, structures as compact JSON.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Number(number) => match integer(number) {
            Some(integer) => integer.to_string(),
            None => float(number.as_f64().unwrap_or_default()),
        },
        other => json(other),
    }
}

/// A value as `json.Marshal` writes it: compact, with `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut json = String::new();
    push_json(&mut json, value);
    json
}

/// A text in double quotes, escaped as `%q` does.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    text.chars().for_each(|c| push_escaped(&mut quoted, c));
    quoted.push('"');
    quoted
}

/// A number as `%v` prints it: the shortest digits, with an exponent if that is below -4 or at
/// least 6.
pub(crate) fn float(value: f64) -> String {
    go_float(value, 1e-4, 1e6)
}

/// The integer that Kubernetes decodes a number to: what does not fit in 64 bits is a float.
fn integer(number: &Number) -> Option<i64> {
    number.as_i64()
}

fn go_float(value: f64, least: f64, most: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (least..most).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn push_escaped(text: &mut String, c: char) {
    let escaped = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        c if (c as u32) < 0x20 || c == '\u{7f}' => {
            return write!(text, "\\x{:02x}", c as u32).expect(WRITES);
        }
        c if is_printable(c) => return text.push(c),
        c if (c as u32) < 0x1_0000 => return write!(text, "\\u{:04x}", c as u32).expect(WRITES),
        c => return write!(text, "\\U{:08x}", c as u32).expect(WRITES),
    };
    text.push_str(escaped);
}

/// Whether Go prints a character as it is. Rust's debug format decides by nearly the same tables.
fn is_printable(c: char) -> bool {
    c == ' ' || c == '\'' || !(c.is_whitespace() || c.escape_debug().len() > 1)
}

fn push_json(json: &mut String, value: &Value) {
    match value {
        Value::Null => json.push_str("null"),
        Value::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match integer(number) {
            Some(integer) => write!(json, "{integer}").expect(WRITES),
            None => json.push_str(&json_float(number.as_f64().unwrap_or_default())),
        },
        Value::String(text) => push_json_text(json, text),
        Value::Array(items) => {
            json.push('[');
            for (index, item) in items.iter().enumerate() {
                json.push_str(if index == 0 { "" } else { "," });
                push_json(json, item);
            }
            json.push(']');
        }
        Value::Object(fields) => {
            json.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                json.push_str(if index == 0 { "" } else { "," });
                push_json_text(json, name);
                json.push(':');
                push_json(json, value);
            }
            json.push('}');
        }
    }
}

fn json_float(value: f64) -> String {
    let text = go_float(value, 1e-6, 1e21);
    text.replace("e-0", "e-")
}

fn push_json_text(json: &mut String, text: &str) {
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                write!(json, "\\u{:04x}", c as u32).expect(WRITES);
            }
            c => json.push(c),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (value, text) in [
            (json!(null), "null"),
            (json!(true), "true"),
            (json!(5), "5"),
            (json!(-5), "-5"),
            (json!(1.0), "1"),
            (json!(1.5), "1.5"),
            (json!(1e6), "1e+06"),
            (json!(123_456_789.0), "1.23456789e+08"),
            (json!(100_000.0), "100000"),
            (json!(1e22), "1e+22"),
            (json!(0.00001), "1e-05"),
            (json!(18_446_744_073_709_551_615_u64), "1.8446744073709552e+19"),
            (json!("a\"b\n\u{0}é\u{a0}😀"), "\"a\\\"b\\n\\x00é\\u00a0😀\""),
            (
                json!({"b": [1, 1.0, 1e6, 1e21, 1e-7], "a": "<é>"}),
                "{\"a\":\"\\u003cé\\u003e\",\"b\":[1,1,1000000,1e+21,1e-7]}",
            ),
        ] {
            assert_eq!(printed(&value), text);
        }
    }
}
