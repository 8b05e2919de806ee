//! Fields that selectors may name: paths to scalars of the schema.
//!
//! A path is `.name.name`; each step must be in the schema. Source: `ValidFieldPath` in
//! `pkg/apiserver/schema/cel/validation.go`, without its brackets, which are not allowed here.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    invalid::{Errors, FieldError, Path},
    kinds::read::{at, list, text},
};

const MOST: usize = 8;

/// The fields of one version. `too_many` allows any number of them, as they were accepted before.
pub(super) fn validate(fields: &Value, schema: &Value, path: &Path, too_many: bool) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (i, field) in list(fields, &[]).iter().enumerate() {
        let given = at(field, &["jsonPath"]);
        let path = path.index(i).child("jsonPath");
        let invalid = |words: String| FieldError::invalid(path.clone(), given, words);
        if text(field, &["jsonPath"]).is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
            continue;
        }
        let found = match find(text(field, &["jsonPath"]), schema) {
            Ok(found) => found,
            Err(words) => {
                errors.push(invalid(format!("is an invalid path: {words}")));
                continue;
            }
        };
        if found.root == "metadata" {
            errors.push(invalid("must not point to fields in metadata".to_owned()));
        }
        if !["string", "boolean", "integer"].contains(&text(found.schema, &["type"])) {
            errors.push(invalid("must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.".to_owned()));
        }
        if !seen.insert(found.path) {
            errors.push(FieldError::duplicate(path.clone(), given));
        }
    }
    if seen.len() > MOST && !too_many {
        errors.push(FieldError::too_many(path.clone(), seen.len(), MOST));
    }
    errors
}

/// The field that a path leads to.
struct Found<'a> {
    root: &'a str,
    path: String,
    schema: &'a Value,
}

fn find<'a>(given: &'a str, schema: &'a Value) -> Result<Found<'a>, String> {
    let mut found = Found { root: "", path: String::new(), schema };
    let mut rest = given;
    while !rest.is_empty() {
        let delimiter;
        (delimiter, rest) = token(rest);
        match delimiter {
            "." => {}
            "[" => return Err("array notation is not allowed".to_owned()),
            other => return Err(format!("expected [ or . but got: {other}")),
        }
        if rest.is_empty() {
            return Err("unexpected end of JSON path".to_owned());
        }
        let name;
        (name, rest) = token(rest);
        found = found.step(name).ok_or("does not refer to a valid field")?;
    }
    Ok(found)
}

/// The next token: a delimiter, a quoted text, or what precedes the next delimiter.
fn token(text: &str) -> (&str, &str) {
    let is_delimiter = |c: char| matches!(c, '.' | '[' | ']');
    let end = match text.as_bytes().first() {
        Some(b'\'') => {
            let bytes = text.as_bytes();
            let closes = |at: &usize| bytes[*at] == b'\'' && bytes[*at - 1] != b'\\';
            (1..bytes.len()).find(closes).map_or(text.len(), |at| at + 1)
        }
        _ => match text.find(is_delimiter) {
            Some(0) => 1,
            Some(at) => at,
            None => text.len(),
        },
    };
    text.split_at(end)
}

// === impl Found ===

impl<'a> Found<'a> {
    /// A property if there are any, else a key of the map.
    fn step(self, name: &'a str) -> Option<Found<'a>> {
        let root = if self.root.is_empty() { name } else { self.root };
        let properties = at(self.schema, &["properties"]);
        if let Value::Object(properties) = properties {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{name}", self.path);
            return Some(Found { root, path, schema: properties.get(name)? });
        }
        let schema = at(self.schema, &["additionalProperties"]);
        let path = format!("{}[{name}]", self.path);
        (!schema.is_null()).then_some(Found { root, path, schema })
    }
}
