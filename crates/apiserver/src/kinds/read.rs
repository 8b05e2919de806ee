//! Access to JSON values by a path of names. A value that is absent or of another type reads as
//! Go's zero value, so that strategies need not distinguish the cases.

use evenkeel_model::quantity::{Amount, Quantity};
use serde_json::{Map, Value};

/// The string at the path, `""` if absent.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).as_str().unwrap_or_default()
}

/// The elements at the path, none if absent.
pub(crate) fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn number(value: &Value, path: &[&str]) -> Option<i64> {
    at(value, path).as_i64()
}

pub(crate) fn flag(value: &Value, path: &[&str]) -> bool {
    at(value, path).as_bool().unwrap_or_default()
}

/// The number of a quantity: a string, or a bare number.
pub(crate) fn quantity(quantity: &Value) -> Option<Amount> {
    let text = match quantity {
        Value::String(text) => text,
        Value::Number(number) => &number.to_string(),
        _ => return None,
    };
    Quantity::parse(text).ok().map(Quantity::amount)
}

/// A quantity as an object shows it: its text, already normalised by the schema.
pub(crate) fn shown_quantity(quantity: &Value) -> String {
    match quantity {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The entries of the object at the path, in key order.
pub(crate) fn entries<'a>(
    value: &'a Value,
    path: &[&str],
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    at(value, path).as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The value at the path, `Null` if absent.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| value.get(name).unwrap_or(&Value::Null))
}

/// The value at the path, for writing. Missing objects on the path are created; the value itself is
/// `Null` if it was absent.
pub(crate) fn entry<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(value, |value, name| {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        value.as_object_mut().expect("made an object above").entry(*name).or_insert(Value::Null)
    })
}

/// Removes the value at the path, without creating anything.
pub(crate) fn remove(value: &mut Value, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let parent = parents.iter().try_fold(value, |value, name| value.get_mut(name))?;
    parent.as_object_mut()?.remove(*last)
}

/// Copies the value at the path from `old` to `new`, or removes it if `old` has none.
pub(crate) fn carry_over(new: &mut Value, old: &Value, path: &[&str]) {
    match at(old, path) {
        Value::Null => drop(remove(new, path)),
        kept => *entry(new, path) = kept.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_reads_as_zero() {
        let object = json!({"spec": {"type": "ClusterIP", "ports": [1], "n": 7, "on": true}});
        assert_eq!(text(&object, &["spec", "type"]), "ClusterIP");
        assert_eq!(list(&object, &["spec", "ports"]), [json!(1)]);
        assert_eq!(number(&object, &["spec", "n"]), Some(7));
        assert!(flag(&object, &["spec", "on"]));
        for path in [&["spec", "none"][..], &["none", "none"], &["spec", "type", "none"]] {
            assert_eq!(text(&object, path), "");
            assert!(list(&object, path).is_empty());
            assert_eq!(number(&object, path), None);
            assert!(!flag(&object, path));
            assert_eq!(entries(&object, path).count(), 0);
        }
    }

    #[test]
    fn an_entry_makes_what_leads_to_it() {
        let mut object = json!({"spec": null});
        *entry(&mut object, &["spec", "finalizers"]) = json!(["kubernetes"]);
        assert_eq!(object, json!({"spec": {"finalizers": ["kubernetes"]}}));
    }

    #[test]
    fn carrying_over_nothing_makes_nothing() {
        let mut new = json!({"spec": {"a": 1}});
        carry_over(&mut new, &json!({"status": {"b": 2}}), &["status", "b"]);
        carry_over(&mut new, &json!({}), &["spec", "a"]);
        carry_over(&mut new, &json!({}), &["metadata", "generation"]);
        assert_eq!(new, json!({"spec": {}, "status": {"b": 2}}));
    }
}
