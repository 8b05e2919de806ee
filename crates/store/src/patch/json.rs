//! JSON patch (RFC 6902), with the quirks of the library that Kubernetes uses (evanphx/json-patch
//! v4): a path need not begin with a slash (everything before the first one is ignored), `replace`
//! accepts a missing key, a negative index counts from the end, and an operation without a value
//! uses null.

use std::sync::LazyLock;

use serde_json::Value;

use super::{PatchError, valid};
use crate::schema::{self, DecodeError, Finding, MOST_LEVELS, Schema, decode_list};

/// Maximum number of bytes of JSON that all copies of one patch may add.
const MOST_COPIED: usize = 3 * 1024 * 1024;

/// Maximum number of values that all operations of one patch may touch beyond the patch's own:
/// moved or copied parts, and list elements that shift.
const MOST_HANDLED: usize = 20_000_000;

/// Kubernetes decodes the operations into this type to find unknown fields.
static OPERATION: LazyLock<Schema> = LazyLock::new(|| {
    let text = "package handlers handlers handlers\ntype jsonPatchOp\n  op string\n  path string\n  from string\n  value runtime.RawExtension";
    Schema::parse(&[text]).expect("a good table")
});

/// Applies the operations in order. If one fails, the earlier ones stay applied.
pub fn json(document: &mut Value, patch: &[u8]) -> Result<Vec<Finding>> {
    valid(patch)?;
    let operation = OPERATION.named("handlers.jsonPatchOp").expect("in the table");
    let decoded = decode_list(&OPERATION, operation, patch)
        .map_err(|error| PatchError::BadRequest(format!("error decoding patch: {error}")))?;
    let Value::Array(operations) = decoded.value else { return Ok(Vec::new()) };
    if operations.len() > PatchError::MOST_OPERATIONS {
        return Err(PatchError::TooManyOperations { got: operations.len() });
    }
    // Stored objects may come from a version that accepted deeper values: they may stay as deep as
    // they are.
    let levels = MOST_LEVELS.max(schema::levels(document));
    let mut work = Work { levels, copied: 0, handled: 0 };
    for operation in operations {
        apply(document, operation, &mut work)?;
    }
    Ok(decoded.unknown.into_iter().map(|finding| Finding::InPatch(Box::new(finding))).collect())
}

type Result<T> = std::result::Result<T, PatchError>;

fn rejected(words: impl Into<String>) -> PatchError {
    PatchError::Rejected(words.into())
}

fn apply(document: &mut Value, mut operation: Value, work: &mut Work) -> Result<()> {
    let value = operation.get_mut("value").map_or(Value::Null, Value::take);
    let text = |name: &str| operation.get(name).and_then(Value::as_str).map(str::to_owned);
    let path = || text("path").ok_or_else(|| rejected("operation without path"));
    let from = || text("from").ok_or_else(|| rejected("operation without from"));
    match text("op").as_deref() {
        Some("add") => add(document, &path()?, value, work),
        Some("remove") => remove(document, &path()?, work).map(drop),
        Some("replace") => replace(document, &path()?, value, work),
        Some("move") => {
            let moved = remove(document, &from()?, work)?;
            add(document, &path()?, moved, work)
        }
        Some("copy") => {
            let copy = read(document, &from()?)?.cloned().unwrap_or(Value::Null);
            work.copied += copy.to_string().len();
            if work.copied > MOST_COPIED {
                return Err(rejected(format!("copies of more than {MOST_COPIED} bytes")));
            }
            add(document, &path()?, copy, work)
        }
        Some("test") => test(document, &path()?, &value),
        op => Err(rejected(format!("unexpected kind: {}", op.unwrap_or("unknown")))),
    }
}

/// The cost of a patch so far, and the allowed nesting depth: moves and copies could nest a
/// document without bound.
struct Work {
    levels: usize,
    copied: usize,
    handled: usize,
}

impl Work {
    fn handle(&mut self, values: usize) -> Result<()> {
        self.handled = self.handled.saturating_add(values);
        if self.handled <= MOST_HANDLED {
            return Ok(());
        }
        let words = format!(
            "the JSON patch moves more than {MOST_HANDLED} values in all; send several patches"
        );
        Err(PatchError::BadRequest(words))
    }

    /// Whether a value may be placed at a path.
    fn fits(&mut self, path: &str, value: &Value) -> Result<()> {
        let outside = path.split('/').skip(1).count();
        let mut open = vec![(value, outside)];
        while let Some((value, levels)) = open.pop() {
            let level = levels + 1;
            let waiting = open.len();
            match value {
                Value::Array(elements) => open.extend(elements.iter().map(|one| (one, level))),
                Value::Object(members) => open.extend(members.values().map(|one| (one, level))),
                _ => continue,
            }
            self.handle(1 + open.len() - waiting)?;
            if level > self.levels {
                let path = path.chars().take(80).collect();
                return Err(PatchError::BadRequest(DecodeError::TooDeep(path).to_string()));
            }
        }
        Ok(())
    }
}

/// The container that a path ends in, and the last segment of the path.
fn find<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String)> {
    let missing = || rejected(format!("missing path: {path:?}"));
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

/// The position of an index in a list, which may be one past the end.
fn index(part: &str, length: usize) -> Option<usize> {
    let index = part.parse::<i64>().ok()?;
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}

fn add(document: &mut Value, path: &str, value: Value, work: &mut Work) -> Result<()> {
    work.fits(path, &value)?;
    match find(document, path)? {
        (Value::Object(members), key) => drop(members.insert(key, value)),
        (Value::Array(elements), key) if key == "-" => elements.push(value),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len() + 1).filter(|at| *at <= elements.len());
            let at = at.ok_or_else(|| invalid_index(&key))?;
            work.handle(elements.len() - at)?;
            elements.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str, work: &mut Work) -> Result<Value> {
    let gone = match find(document, path)? {
        (Value::Object(members), key) => members.remove(&key),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            work.handle(at.map_or(0, |at| elements.len() - at))?;
            at.map(|at| elements.remove(at))
        }
        _ => None,
    };
    gone.ok_or_else(|| rejected(format!("nothing to remove at {path:?}")))
}

fn replace(document: &mut Value, path: &str, value: Value, work: &mut Work) -> Result<()> {
    work.fits(path, &value)?;
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(rejected("the document must be an object or array"));
        }
        *document = value;
        return Ok(());
    }
    match find(document, path)? {
        (Value::Object(members), key) => drop(members.insert(key, value)),
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            elements[at.ok_or_else(|| invalid_index(&key))?] = value;
        }
        _ => {}
    }
    Ok(())
}

/// The value at a path: `None` for a missing key.
fn read<'a>(document: &'a mut Value, path: &str) -> Result<Option<&'a Value>> {
    match find(document, path)? {
        (Value::Array(elements), key) => {
            let at = index(&key, elements.len()).filter(|at| *at < elements.len());
            at.map(|at| Some(&elements[at])).ok_or_else(|| invalid_index(&key))
        }
        (place, key) => Ok(place.get(&key)),
    }
}

fn invalid_index(key: &str) -> PatchError {
    rejected(format!("invalid index: {key}"))
}

fn test(document: &mut Value, path: &str, value: &Value) -> Result<()> {
    let equal = match path {
        "" => document == value,
        path => read(document, path)?.unwrap_or(&Value::Null) == value,
    };
    if equal { Ok(()) } else { Err(rejected(format!("testing value {path:?} failed"))) }
}
