//! Reading JSON objects field by field, so that every error has its path and all are found at once.
//!
//! Absent and `null` mean the same, as in Kuma. Unknown fields are errors. Time is linear in the
//! size of the input; recursion goes as deep as the schema, never as deep as the input.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use crate::{Errors, FieldPath, field_error::quoted};

/// An object whose fields are all known.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'v, 'p> {
    object: &'v Map<String, Value>,
    pub path: FieldPath<'p>,
}

impl<'v, 'p> Fields<'v, 'p> {
    /// `None` if it is no object. Fields that are not `known` are errors.
    pub fn of(
        value: &'v Value,
        path: FieldPath<'p>,
        known: &[&str],
        errors: &mut Errors,
    ) -> Option<Self> {
        let Value::Object(object) = value else {
            wrong_type(value, &path, "an object", errors);
            return None;
        };
        for name in object.keys().filter(|name| !known.contains(&name.as_str())) {
            errors.push(&path.field(name), unknown_field(name, known));
        }
        Some(Fields { object, path })
    }

    /// The field's value, unless it is absent or null.
    pub fn get(&self, name: &str) -> Option<&'v Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub fn text(&self, name: &str, errors: &mut Errors) -> Option<Arc<str>> {
        let value = self.get(name)?;
        text(value, &self.path.field(name), errors)
    }

    pub fn flag(&self, name: &str, errors: &mut Errors) -> Option<bool> {
        let value = self.get(name)?;
        if value.as_bool().is_none() {
            wrong_type(value, &self.path.field(name), "true or false", errors);
        }
        value.as_bool()
    }

    /// A whole number from 0 to 4294967295.
    pub fn number(&self, name: &str, errors: &mut Errors) -> Option<u32> {
        let value = self.get(name)?;
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
        if number.is_none() {
            let expected = "a whole number from 0 to 4294967295";
            wrong_type(value, &self.path.field(name), expected, errors);
        }
        number
    }

    pub fn texts(&self, name: &str, errors: &mut Errors) -> Option<Vec<Arc<str>>> {
        self.list(name, errors, |value, path, errors| text(value, &path, errors))
    }

    /// An object with texts as values, such as labels.
    pub fn text_map(&self, name: &str, errors: &mut Errors) -> BTreeMap<Arc<str>, Arc<str>> {
        let Some(value) = self.get(name) else { return BTreeMap::new() };
        let path = self.path.field(name);
        let Value::Object(object) = value else {
            wrong_type(value, &path, "an object", errors);
            return BTreeMap::new();
        };
        let entries = object.iter().filter_map(|(key, value)| {
            Some((Arc::from(key.as_str()), text(value, &path.field(key), errors)?))
        });
        entries.collect()
    }

    /// What `read` makes of the field.
    pub fn nested<T>(
        &self,
        name: &str,
        errors: &mut Errors,
        read: impl FnOnce(&'v Value, FieldPath<'_>, &mut Errors) -> Option<T>,
    ) -> Option<T> {
        read(self.get(name)?, self.path.field(name), errors)
    }

    /// What `read` makes of each item of a list; items of which it makes nothing are left out.
    pub fn list<T>(
        &self,
        name: &str,
        errors: &mut Errors,
        mut read: impl FnMut(&'v Value, FieldPath<'_>, &mut Errors) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = self.get(name)?;
        let path = self.path.field(name);
        let Value::Array(items) = value else {
            wrong_type(value, &path, "a list", errors);
            return None;
        };
        let items = items.iter().enumerate();
        let mut items: Vec<T> =
            items.filter_map(|(i, item)| read(item, path.index(i), errors)).collect();
        // Most lists have one item, and a list that grows begins with a place for four.
        items.shrink_to_fit();
        Some(items)
    }

    /// One of the names in a table; the error names the nearest.
    pub fn one_of<T: Copy>(
        &self,
        name: &str,
        table: &[(&str, T)],
        errors: &mut Errors,
    ) -> Option<T> {
        one_of(self.get(name)?, &self.path.field(name), table, errors)
    }
}

/// One of the names in a table; the error names the nearest.
pub fn one_of<T: Copy>(
    value: &Value,
    path: &FieldPath<'_>,
    table: &[(&str, T)],
    errors: &mut Errors,
) -> Option<T> {
    let value = text(value, path, errors)?;
    let found = table.iter().find(|(known, _)| **known == *value);
    if found.is_none() {
        let names: Vec<&str> = table.iter().map(|(known, _)| *known).collect();
        errors.push(path, unknown_value(&value, &names));
    }
    found.map(|(_, one)| *one)
}

/// A text, or an error.
pub fn text(value: &Value, path: &FieldPath<'_>, errors: &mut Errors) -> Option<Arc<str>> {
    if value.as_str().is_none() {
        wrong_type(value, path, "a text", errors);
    }
    value.as_str().map(Arc::from)
}

pub fn wrong_type(value: &Value, path: &FieldPath<'_>, expected: &str, errors: &mut Errors) {
    let got = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => quoted(&number.to_string()),
        Value::String(text) => format!("\"{}\"", quoted(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    errors.push(path, format!("must be {expected}, not {got}"));
}

pub fn unknown_value(value: &str, known: &[&str]) -> String {
    let value = quoted(value);
    match nearest(&value, known) {
        Some(near) => format!("value '{value}' is not known; did you mean '{near}'?"),
        None => format!("value '{value}' is not known; expected one of {}", known.join(", ")),
    }
}

fn unknown_field(name: &str, known: &[&str]) -> String {
    match nearest(name, known) {
        Some(near) => format!("unknown field; did you mean '{near}'?"),
        None => format!("unknown field; expected one of {}", known.join(", ")),
    }
}

/// The known name that differs least, if it differs little.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    const LONGEST: usize = 40;
    if name.len() > LONGEST {
        return None;
    }
    let distances = known.iter().map(|known| (distance(name, known), *known));
    let (distance, near) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + near.len() / 4).then_some(near)
}

/// Letters to insert, remove or replace (Levenshtein), whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.bytes().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOT: FieldPath<'static> = FieldPath::root("spec");

    #[test]
    fn an_unknown_field_is_named_with_its_nearest_neighbour() {
        let mut errors = Errors::default();
        let value = json!({"weigth": 1, "quite different": 2, "key": "a"});
        Fields::of(&value, ROOT, &["key", "weight"], &mut errors).unwrap();
        let mut errors = errors.into_vec();
        errors.sort();
        let expected = [
            ("spec.quite different", "unknown field; expected one of key, weight"),
            ("spec.weigth", "unknown field; did you mean 'weight'?"),
        ];
        let got: Vec<_> = errors.iter().map(|e| (e.path.as_str(), e.message.as_str())).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn values_of_a_wrong_type_are_all_found() {
        let mut errors = Errors::default();
        let value = json!({"a": 1, "b": "x", "c": -1, "d": [1], "e": {"k": []}, "f": null});
        let known = ["a", "b", "c", "d", "e", "f"];
        let fields = Fields::of(&value, ROOT, &known, &mut errors).unwrap();
        assert_eq!(fields.text("a", &mut errors), None);
        assert_eq!(fields.flag("b", &mut errors), None);
        assert_eq!(fields.number("c", &mut errors), None);
        assert_eq!(fields.texts("d", &mut errors), Some(vec![]));
        assert!(fields.text_map("e", &mut errors).is_empty());
        assert_eq!(fields.text("f", &mut errors), None);
        let paths: Vec<String> = errors.into_vec().into_iter().map(|e| e.path).collect();
        assert_eq!(paths, ["spec.a", "spec.b", "spec.c", "spec.d[0]", "spec.e.k"]);
    }

    #[test]
    fn distances_count_single_letters() {
        assert_eq!(distance("zones", "zones"), 0);
        assert_eq!(distance("Zone", "zones"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
