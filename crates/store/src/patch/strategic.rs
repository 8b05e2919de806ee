//! Strategic merge patch.
//!
//! Objects are merged field by field. A list is replaced, unless its field has the strategy
//! `merge`: then elements with the same merge key are merged, and scalars are united. Directives in
//! the patch override this: `$patch` (`replace`, `delete`) in an object, `$retainKeys` for the
//! fields of an object to keep, `$deleteFromPrimitiveList/FIELD`, and `$setElementOrder/FIELD` for
//! the order of a merged list.
//!
//! The desired order of a merged list is that of the directive, or else that of the patch. Elements
//! in both lists follow the desired order, elements only in the document keep their order, and the
//! two sequences are merged; an element new to the document goes before the remaining others.
//!
//! Source: `k8s.io/apimachinery/pkg/util/strategicpatch/patch.go`.

mod lists;
mod order;

use std::cell::Cell;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use self::lists::{delete_from, merge_lists};
use super::{PatchError, shown, valid};
use crate::schema::{Field, Finding, Schema, Shape, Type, quoted, untyped};

type Object = Map<String, Value>;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const ELEMENT_ORDER: &str = "$setElementOrder";

/// Maximum number of list elements merged by one patch. A patch may name an element many times, and
/// its inner lists are merged again each time.
const MOST_MERGED: usize = 300_000;

/// Merges a patch into a document of a type. On failure the document is partly merged.
pub fn strategic(
    schema: &Schema,
    of: &Type,
    document: &mut Value,
    patch: &[u8],
) -> Result<Vec<Finding>, PatchError> {
    valid(patch)?;
    let decoded = untyped(patch).map_err(|error| PatchError::BadRequest(error.to_string()))?;
    let patch = match decoded.value {
        Value::Object(patch) => patch,
        _ => Object::new(),
    };
    let original = match document.take() {
        Value::Object(original) => original,
        _ => Object::new(),
    };
    let merged = Cell::new(0);
    let context = PatchContext { schema, inside: Inside::Struct(of), merged: &merged };
    *document = Value::Object(merge_objects(context, original, patch)?);
    Ok(decoded.unknown)
}

/// Type information about the object being merged.
#[derive(Clone, Copy)]
pub(super) struct PatchContext<'a> {
    schema: &'a Schema,
    inside: Inside<'a>,
    /// The number of list elements merged by this patch so far.
    merged: &'a Cell<usize>,
}

#[derive(Clone, Copy)]
enum Inside<'a> {
    Struct(&'a Type),
    /// Go's name for the actual type.
    Other(&'static str),
}

impl<'a> PatchContext<'a> {
    /// Adds to the number of merged list elements.
    fn merges(&self, elements: usize) -> Result<(), PatchError> {
        self.merged.set(self.merged.get().saturating_add(elements));
        if self.merged.get() <= MOST_MERGED {
            return Ok(());
        }
        let words = format!(
            "the patch merges more than {MOST_MERGED} list elements in all; name each element of \
             a list once, or send several patches"
        );
        Err(PatchError::BadRequest(words))
    }

    /// A field, which must exist in the type.
    fn field(&self, name: &str) -> Result<&'a Field, PatchError> {
        match self.inside {
            Inside::Struct(of) => of.field(name).ok_or_else(|| {
                let (of, name) = (&of.go, quoted(name));
                PatchError::Internal(format!(
                    "unable to find api field in struct {of} for the json field {name}"
                ))
            }),
            Inside::Other(kind) => Err(PatchError::Internal(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            ))),
        }
    }

    fn inside(&self, shape: &'a Shape) -> PatchContext<'a> {
        let inside = match shape {
            Shape::Struct(id) | Shape::Either(id) => Inside::Struct(self.schema.of(*id)),
            Shape::Map(_) => Inside::Other("map"),
            Shape::List(_) | Shape::Bytes => Inside::Other("slice"),
            Shape::Text(_) => Inside::Other("string"),
            Shape::Any => Inside::Other("interface"),
            _ => Inside::Other("struct"),
        };
        PatchContext { inside, ..*self }
    }

    /// The elements of a list field.
    fn elements(&self, field: &'a Field) -> Result<PatchContext<'a>, PatchError> {
        match &field.shape {
            Shape::List(of) => Ok(self.inside(of)),
            _ => {
                let words = "expected slice or array type, but got: struct";
                Err(PatchError::Internal(words.to_owned()))
            }
        }
    }
}

pub(super) fn merge_objects(
    context: PatchContext<'_>,
    mut original: Object,
    mut patch: Object,
) -> Result<Object, PatchError> {
    match patch.remove(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => return Ok(patch),
        Some(Value::String(directive)) if directive == "delete" => return Ok(Object::new()),
        Some(directive) => return Err(bad_directive(&directive, patch)),
    }
    retain_keys(context, &mut original, &mut patch)?;
    order::apply(context, &mut original, &mut patch)?;
    for (key, value) in patch {
        match key.strip_prefix(DELETE_FROM) {
            Some(rest) => delete_from(context, &mut original, rest, value)?,
            None => merge_member(context, &mut original, key, value)?,
        }
    }
    Ok(original)
}

fn bad_directive(directive: &Value, mut patch: Object) -> PatchError {
    patch.insert(PATCH.to_owned(), directive.clone());
    let patch = shown(&Value::Object(patch));
    let directive = match directive {
        Value::String(text) => text.clone(),
        other => format!("%!s({})", shown(other)),
    };
    PatchError::Internal(format!("unknown patch type: {directive} in map: {patch}"))
}

/// Drops the fields that the patch does not name in `$retainKeys`.
fn retain_keys(
    context: PatchContext<'_>,
    original: &mut Object,
    patch: &mut Object,
) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let Value::Array(keys) = keys else { return Err(bad()) };
    let keys: FxHashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let kept = |key: &String| keys.contains(key.as_str());
    let free = |key: &String, value: &Value| {
        value.is_null() || key.starts_with(DELETE_FROM) || key.starts_with(ELEMENT_ORDER)
    };
    if patch.iter().any(|(key, value)| !free(key, value) && !kept(key)) {
        return Err(bad());
    }
    context.merges(original.len())?;
    original.retain(|key, _| kept(key));
    Ok(())
}

fn merge_member(
    context: PatchContext<'_>,
    original: &mut Object,
    key: String,
    mut value: Value,
) -> Result<(), PatchError> {
    if value.is_null() {
        original.remove(&key);
        return Ok(());
    }
    let merged = match (original.remove(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => {
            let field = context.field(&key)?;
            if field.patch.replace {
                Some(Value::Object(new))
            } else {
                Some(Value::Object(merge_objects(context.inside(&field.shape), old, new)?))
            }
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let field = context.field(&key)?;
            let elements = context.elements(field)?;
            Some(Value::Array(if field.patch.merge {
                merge_lists(elements, field.merge_key.as_deref(), old, new)?
            } else {
                new
            }))
        }
        (_, new) => {
            value = new;
            discard_nulls(&mut value);
            without_directives(value)
        }
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

/// Nulls in a new value delete nothing.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// Objects with a directive have nothing to act on in a new value, and are dropped.
fn without_directives(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(members) if members.contains_key(PATCH) => return None,
        Value::Object(members) => {
            let kept = |(key, value)| Some((key, without_directives(value)?));
            Value::Object(members.into_iter().filter_map(kept).collect())
        }
        Value::Array(elements) => {
            Value::Array(elements.into_iter().filter_map(without_directives).collect())
        }
        scalar => scalar,
    })
}
