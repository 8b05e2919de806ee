//! Compares a recorded value with a real one, binding placeholders on the way.
//!
//! Two lists are compared as sets: the `causes` of a Status, which Kubernetes collects from maps,
//! and `managedFields`, whose order depends on when a second ends.

use serde_json::Value;

use super::bind::{Bindings, Piece, pieces, scalar};

/// The differences, one per line, each with its path.
pub(super) fn compare(
    path: &str,
    expected: &Value,
    got: &Value,
    bindings: &mut Bindings,
) -> Vec<String> {
    match (expected, got) {
        (Value::Object(e), Value::Object(g)) => {
            let mut keys: Vec<&String> = e.keys().chain(g.keys()).collect();
            keys.sort();
            keys.dedup();
            let mut found = Vec::new();
            for key in keys {
                let at = format!("{path}.{key}");
                match (e.get(key), g.get(key)) {
                    (Some(e), Some(g)) => found.extend(compare(&at, e, g, bindings)),
                    (Some(e), None) => found.push(format!("{at}:\n  - {e}\n  + (absent)")),
                    (None, Some(g)) => found.push(format!("{at}:\n  - (absent)\n  + {g}")),
                    (None, None) => {}
                }
            }
            found
        }
        (Value::Array(e), Value::Array(g)) if e.len() == g.len() => {
            let any_order = path.ends_with(".causes") || path.ends_with(".managedFields");
            let g = if any_order { &paired(e, g, bindings) } else { g };
            let pairs = e.iter().zip(g).enumerate();
            pairs.flat_map(|(i, (e, g))| compare(&format!("{path}[{i}]"), e, g, bindings)).collect()
        }
        (Value::String(e), _) => match text(e, got, bindings) {
            Ok(()) => Vec::new(),
            Err(reason) => vec![format!("{path}:\n  - {expected}\n  + {got}{reason}")],
        },
        _ if expected == got => Vec::new(),
        _ => vec![format!("{path}:\n  - {expected}\n  + {got}")],
    }
}

/// The elements of `got` reordered to match those of `expected`, as far as they do.
fn paired(expected: &[Value], got: &[Value], bindings: &Bindings) -> Vec<Value> {
    let mut left: Vec<&Value> = got.iter().collect();
    let mut known = bindings.clone();
    let mut order: Vec<Option<Value>> = Vec::new();
    for e in expected {
        let fits = left.iter().position(|g| {
            let mut trial = known.clone();
            let equal = compare("", e, g, &mut trial).is_empty();
            if equal {
                known = trial;
            }
            equal
        });
        order.push(fits.map(|at| left.remove(at).clone()));
    }
    let mut rest = left.into_iter();
    let fill = |e: Option<Value>| e.or_else(|| rest.next().cloned()).unwrap_or_default();
    order.into_iter().map(fill).collect()
}

/// A recorded text, possibly with placeholders. An error is the reason, empty if the text is plain.
fn text(expected: &str, got: &Value, bindings: &mut Bindings) -> Result<(), String> {
    let pieces = pieces(expected);
    let because = |reason: String| format!("  ({reason})");
    match pieces.as_slice() {
        [Piece::Placeholder(p)] if p.kind == super::bind::Kind::Masked => Ok(()),
        [Piece::Placeholder(p)] => {
            let is_number = p.kind == super::bind::Kind::Port;
            match scalar(got) {
                Some(value) if got.is_number() == is_number => {
                    bindings.bind(*p, &value).map_err(because)
                }
                _ => Err(because(format!("no {:?}", p.kind))),
            }
        }
        [] | [Piece::Text(_)] if got == expected => Ok(()),
        [] | [Piece::Text(_)] => Err(String::new()),
        _ => match got {
            Value::String(got) => in_pieces(&pieces, got, bindings),
            _ => Err(String::new()),
        },
    }
}

fn in_pieces(pieces: &[Piece<'_>], got: &str, bindings: &mut Bindings) -> Result<(), String> {
    let mut rest = got;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => rest = rest.strip_prefix(text).ok_or_else(String::new)?,
            Piece::Placeholder(placeholder) => {
                let until = match pieces.get(at + 1) {
                    Some(Piece::Text(next)) => rest.find(next).ok_or_else(String::new)?,
                    _ => rest.len(),
                };
                let end = placeholder.kind.extent(rest).unwrap_or(until);
                let value = rest.get(..end).ok_or_else(String::new)?;
                bindings.bind(*placeholder, value).map_err(|reason| format!("  ({reason})"))?;
                rest = &rest[end..];
            }
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(String::new()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn equal(expected: &Value, got: &Value) -> bool {
        compare("", expected, got, &mut Bindings::default()).is_empty()
    }

    #[test]
    fn a_number_is_no_text_and_null_is_not_absent() {
        assert!(equal(&json!({"a": [1, "x"]}), &json!({"a": [1, "x"]})));
        for (expected, got) in [
            (json!({"a": 1}), json!({"a": "1"})),
            (json!({"a": "<rv:1>"}), json!({"a": 1})),
            (json!({"a": null}), json!({})),
            (json!({}), json!({"a": null})),
            (json!([1]), json!([1, 2])),
            (json!("<none>"), json!("x")),
        ] {
            assert!(!equal(&expected, &got), "{expected} {got}");
        }
    }

    #[test]
    fn placeholders_inside_a_text_take_their_part() {
        let uid = "0f63ee36-9af4-4b26-a1ac-1b67cfa7c8e7";
        let expected = json!("in record (<uid:1>), version <rv>.");
        assert!(equal(&expected, &json!(format!("in record ({uid}), version 12."))));
        assert!(!equal(&expected, &json!(format!("in record ({uid}), version 12"))));
        assert!(!equal(&expected, &json!("in record (x), version 12.")));
        assert!(equal(&json!("<port:1>"), &json!(30000)));
        assert!(!equal(&json!("<port:1>"), &json!("30000")));
    }

    #[test]
    fn causes_may_come_in_any_order_and_none_may_lack() {
        let expected = json!({"causes": [{"f": "a"}, {"f": "b"}]});
        assert!(equal(&expected, &json!({"causes": [{"f": "b"}, {"f": "a"}]})));
        assert!(!equal(&expected, &json!({"causes": [{"f": "b"}, {"f": "b"}]})));
        assert!(!equal(&json!({"x": [1, 2]}), &json!({"x": [2, 1]})));
    }

    #[test]
    fn the_same_value_is_required_at_every_sight() {
        let expected = json!(["<rv:1>", "<rv:1>", "<rv:2>"]);
        assert!(equal(&expected, &json!(["5", "5", "6"])));
        assert!(!equal(&expected, &json!(["5", "6", "7"])));
        assert!(!equal(&expected, &json!(["5", "5", "5"])));
    }
}
