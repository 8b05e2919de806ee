//! JSON merge patch (RFC 7386), with a quirk of the library that Kubernetes uses: nulls in new
//! values are removed, also inside lists.

use serde_json::{Map, Value};

use super::{PatchError, valid};
use crate::schema::{Finding, untyped};

/// Merges a patch into a document.
pub fn merge(document: &mut Value, patch: &[u8]) -> Result<Vec<Finding>, PatchError> {
    valid(patch)?;
    let decoded = untyped(patch)
        .map_err(|error| PatchError::BadRequest(format!("error decoding patch: {error}")))?;
    let (Value::Object(members), Value::Object(patch)) = (document, decoded.value) else {
        return Err(PatchError::BadRequest("Invalid JSON Patch".to_owned()));
    };
    merge_objects(members, patch);
    Ok(decoded.unknown)
}

fn merge_objects(members: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, mut value) in patch {
        match members.get_mut(&key) {
            _ if value.is_null() => drop(members.remove(&key)),
            None | Some(Value::Null) => {
                prune(&mut value);
                members.insert(key, value);
            }
            Some(Value::Object(inner)) => match value {
                Value::Object(value) => merge_objects(inner, value),
                value => drop(members.insert(key, value)),
            },
            Some(other) => {
                prune(&mut value);
                *other = value;
            }
        }
    }
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(prune);
        }
        Value::Array(elements) => elements.iter_mut().for_each(prune),
        _ => {}
    }
}
