//! JSON patch (RFC 6902), with the habits of the library that Kubernetes uses (evanphx/json-patch
//! v4): a path need not begin with a slash (what is before the first is passed over), `replace`
//! takes a key that is not there, an index below zero counts from the end, and an operation
//! without a value has null.

use std::sync::LazyLock;

use serde_json::Value;

use super::{PatchError, valid};
use crate::schema::{Finding, Schema, decode_list};

/// What all copies of one patch may add, in bytes of JSON.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// How many values all operations of one patch may move: those behind a place in a list where
/// something comes or goes, and those within what is put in. Without an end, a short patch of a
/// long list would take the product of the two.
const MOST_MOVED: usize = 50_000_000;

/// How deep a document may become. Moves and copies could build it up without end, and all that
/// comes after needs stack for each level.
const MOST_LEVELS: usize = 600;

/// Kubernetes reads the operations against this type to find unknown parts.
static OPERATION: LazyLock<Schema> = LazyLock::new(|| {
    let text = "package handlers handlers handlers\ntype jsonPatchOp\n  op string\n  path string\n  from string\n  value runtime.RawExtension";
    Schema::parse(&[text]).expect("a good table")
});

/// Applies the operations in order. If one fails, the document is as far as those before it.
pub fn json(document: &mut Value, patch: &[u8]) -> Result<Vec<Finding>, PatchError> {
    valid(patch)?;
    let operation = OPERATION.named("handlers.jsonPatchOp").expect("in the table");
    let decoded = decode_list(&OPERATION, operation, patch)
        .map_err(|error| PatchError::BadRequest(format!("error decoding patch: {error}")))?;
    let Value::Array(operations) = decoded.value else { return Ok(Vec::new()) };
    if operations.len() > PatchError::MOST_OPERATIONS {
        return Err(PatchError::TooManyOperations { got: operations.len() });
    }
    let mut spent = Spent::default();
    for operation in operations {
        apply(document, operation, &mut spent).map_err(PatchError::Rejected)?;
    }
    Ok(decoded.unknown.into_iter().map(|finding| Finding::InPatch(Box::new(finding))).collect())
}

/// What the operations so far have cost.
#[derive(Debug, Default)]
struct Spent {
    copied: usize,
    moved: usize,
}

impl Spent {
    fn copy(&mut self, bytes: usize) -> Result<(), String> {
        self.copied += bytes;
        match self.copied > MOST_COPIED {
            true => Err(format!("copies of more than {MOST_COPIED} bytes")),
            false => Ok(()),
        }
    }

    fn shift(&mut self, values: usize) -> Result<(), String> {
        self.moved += values;
        match self.moved > MOST_MOVED {
            true => Err(format!("more than {MOST_MOVED} values moved")),
            false => Ok(()),
        }
    }
}

fn apply(document: &mut Value, mut operation: Value, spent: &mut Spent) -> Result<(), String> {
    let value = operation.get_mut("value").map_or(Value::Null, Value::take);
    let text = |name: &str| operation.get(name).and_then(Value::as_str).map(str::to_owned);
    let path = || text("path").ok_or_else(|| "operation without path".to_owned());
    let from = || text("from").ok_or_else(|| "operation without from".to_owned());
    match text("op").as_deref() {
        Some("add") => add(document, &path()?, value, spent),
        Some("remove") => remove(document, &path()?, spent).map(drop),
        Some("replace") => replace(document, &path()?, value, spent),
        Some("move") => {
            let moved = remove(document, &from()?, spent)?;
            add(document, &path()?, moved, spent)
        }
        Some("copy") => {
            let copy = read(document, &from()?)?.cloned().unwrap_or(Value::Null);
            spent.copy(copy.to_string().len())?;
            add(document, &path()?, copy, spent)
        }
        Some("test") => test(document, &path()?, &value),
        op => Err(format!("unexpected kind: {}", op.unwrap_or("unknown"))),
    }
}

/// The container that a path ends in, and the last part of the path.
fn find<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let missing = || format!("missing path: {path:?}");
    let mut parts: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
    let last = parts.pop().ok_or_else(missing)?;
    let mut place = document;
    for part in parts {
        place = match place {
            Value::Object(members) => members.get_mut(&part).ok_or_else(missing)?,
            Value::Array(elements) => {
                let at = index(&part, elements.len()).filter(|at| *at < elements.len());
                &mut elements[at.ok_or_else(missing)?]
            }
            _ => return Err(missing()),
        };
    }
    match place {
        Value::Object(_) | Value::Array(_) => Ok((place, last)),
        _ => Err(missing()),
    }
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The place that an index means in a list, which may be one past its end.
fn index(part: &str, length: usize) -> Option<usize> {
    let index = part.parse::<i64>().ok()?;
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

fn add(document: &mut Value, path: &str, value: Value, spent: &mut Spent) -> Result<(), String> {
    within_levels(path, &value, spent)?;
    match find(document, path)? {
        (Value::Object(members), key) => drop(members.insert(key, value)),
        (Value::Array(elements), key) if key == "-" => elements.push(value),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len() + 1).filter(|at| *at <= elements.len());
            let at = at.ok_or_else(|| format!("invalid index: {key}"))?;
            spent.shift(elements.len() - at)?;
            elements.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str, spent: &mut Spent) -> Result<Value, String> {
    let gone = match find(document, path)? {
        (Value::Object(members), key) => members.remove(&key),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            spent.shift(elements.len() - at.unwrap_or(elements.len()))?;
            at.map(|at| elements.remove(at))
        }
        _ => None,
    };
    gone.ok_or_else(|| format!("nothing to remove at {path:?}"))
}

fn replace(
    document: &mut Value,
    path: &str,
    value: Value,
    spent: &mut Spent,
) -> Result<(), String> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err("the document must be an object or array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    within_levels(path, &value, spent)?;
    match find(document, path)? {
        (Value::Object(members), key) => drop(members.insert(key, value)),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            elements[at.ok_or_else(|| format!("invalid index: {key}"))?] = value;
        }
        _ => {}
    }
    Ok(())
}

/// What is at a path: nothing for a key that is not there.
fn read<'a>(document: &'a mut Value, path: &str) -> Result<Option<&'a Value>, String> {
    match find(document, path)? {
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            at.map(|at| Some(&elements[at])).ok_or_else(|| format!("invalid index: {key}"))
        }
        (place, key) => Ok(place.get(&key)),
    }
}

fn test(document: &mut Value, path: &str, value: &Value) -> Result<(), String> {
    let equal = match path {
        "" => document == value,
        path => read(document, path)?.unwrap_or(&Value::Null) == value,
    };
    if equal { Ok(()) } else { Err(format!("testing value {path:?} failed")) }
}

fn within_levels(path: &str, value: &Value, spent: &mut Spent) -> Result<(), String> {
    let parts = path.split('/').count();
    let mut values = 0;
    let fits =
        MOST_LEVELS.checked_sub(parts).is_some_and(|levels| fits(value, levels, &mut values));
    spent.shift(values)?;
    if fits { Ok(()) } else { Err(format!("more than {MOST_LEVELS} levels")) }
}

fn fits(value: &Value, levels: usize, values: &mut usize) -> bool {
    *values += 1;
    let inner = |value: &Value| levels > 0 && fits(value, levels - 1, values);
    match value {
        Value::Array(elements) => elements.iter().all(inner),
        Value::Object(members) => members.values().all(inner),
        _ => true,
    }
}
