//! Pretty-printed JSON.
//!
//! Indents the server's text directly, byte by byte, without parsing it: memory use is bounded by
//! the output, however deep the nesting. Output is as Go's `json.Indent` with two spaces, and as
//! `serde_json` prints.

use bytes::{BufMut, BytesMut};

const STEP: usize = 2;

/// Beyond this depth, which no parser here reaches, indentation stops growing, so that the output
/// stays linear in the text.
const DEEPEST: usize = 256;

const SPACES: &[u8; 64] = &[b' '; 64];

/// Appends a JSON text nested `depth` levels deep. Its first line continues the current one.
pub(super) fn indent(out: &mut BytesMut, text: &[u8], depth: usize) {
    let (mut depth, mut rest) = (depth, text);
    while let Some((&byte, after)) = rest.split_first() {
        let mut length = 1;
        match byte {
            b'"' => {
                length = string(rest);
                out.put_slice(&rest[..length]);
            }
            b'{' | b'[' if matches!(after.first(), Some(b'}' | b']')) => {
                length = 2;
                out.put_slice(&rest[..length]);
            }
            b'{' | b'[' => {
                depth += 1;
                out.put_u8(byte);
                line(out, depth);
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(out, depth);
                out.put_u8(byte);
            }
            b',' => {
                out.put_u8(byte);
                line(out, depth);
            }
            b':' => out.put_slice(b": "),
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => out.put_u8(byte),
        }
        rest = &rest[length..];
    }
}

/// A new line.
pub(super) fn line(out: &mut BytesMut, depth: usize) {
    out.put_u8(b'\n');
    let mut spaces = depth.min(DEEPEST) * STEP;
    while spaces > 0 {
        let some = spaces.min(SPACES.len());
        out.put_slice(&SPACES[..some]);
        spaces -= some;
    }
}

/// The length of the string at the start of the text, including its quotes.
fn string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        match text[at + found] {
            b'"' => return at + found + 1,
            // An escaped character ends nothing.
            _ => at += found + 2,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn indented(text: &str, depth: usize) -> String {
        let mut out = BytesMut::new();
        indent(&mut out, text.as_bytes(), depth);
        String::from_utf8(out.to_vec()).unwrap()
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = || "([a-z]|[\"\\\\{}\\[\\],: \n\t]|\\PC){0,8}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                proptest::collection::btree_map(text(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_printed_as_serde_prints_it(value in value()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(indented(&value.to_string(), 0), &*pretty);
            // Printed text is unchanged.
            prop_assert_eq!(indented(&pretty, 0), &*pretty);
            let nested = serde_json::to_string_pretty(&json!([[value]])).unwrap();
            let nested = nested.strip_prefix("[\n  [\n    ").unwrap();
            prop_assert_eq!(format!("{}\n  ]\n]", indented(&value.to_string(), 2)), nested);
        }

        #[test]
        fn no_text_panics(text in proptest::collection::vec(any::<u8>(), 0..60)) {
            indent(&mut BytesMut::new(), &text, 0);
        }
    }

    #[test]
    fn the_deepest_text_grows_with_its_length_only() {
        for n in [1_000, 100_000] {
            let text = format!("{}{}", "[".repeat(n), "]".repeat(n));
            assert!(indented(&text, 0).len() <= 2 * n * (DEEPEST * STEP + 2));
        }
    }
}
