//! Objects as the proposal prints them: without `apiVersion`, and with `meta` for `metadata`.
//!
//! One of them, a backstop, has prose in parentheses where a value would stand. There, and only in
//! this form, prose means what the backstop would have: the level that catches all, and a matching
//! priority behind all others, for it is said not to matter and would at 1000.

use serde_json::{Map, Value};

use crate::dialect::proposal::Prose;

/// Brings the object into the usual form; none if it is not in the printed one.
pub(super) fn normalize(object: &mut Map<String, Value>) -> Option<Vec<Prose>> {
    if object.contains_key("metadata") {
        return None;
    }
    let metadata = object.remove("meta")?;
    object.insert("metadata".to_owned(), metadata);
    let mut prose = Vec::new();
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        if take_prose(spec, "matchingPriority") {
            prose.push(Prose::MatchingPriority);
        }
        if let Some(Value::Object(level)) = spec.get_mut("requestPriority")
            && take_prose(level, "name")
        {
            prose.push(Prose::RequestPriority);
        }
    }
    Some(prose)
}

fn take_prose(object: &mut Map<String, Value>, field: &str) -> bool {
    let is_prose = |value: &Value| {
        value.as_str().is_some_and(|text| text.starts_with('(') && text.ends_with(')'))
    };
    object.get(field).is_some_and(is_prose) && object.remove(field).is_some()
}
