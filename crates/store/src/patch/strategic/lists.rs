//! Merging of lists.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Object, PATCH, PatchContext, bad_directive, merge_objects,
    order::{Positions, arranged, partitioned},
};
use crate::patch::{PatchError, shown};

/// Merges a patch's list into the document's.
pub(super) fn merge_lists(
    context: PatchContext<'_>,
    key: Option<&str>,
    original: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    context.merges(original.len() + patch.len())?;
    if !are_objects(&original, &patch)? {
        let (order, server_order) = (Positions::of(&patch, None), Positions::of(&original, None));
        let merged = united(original.into_iter().chain(patch));
        let (wanted, others) = partitioned(merged, &order)?;
        return Ok(arranged(wanted, others, &order, &server_order));
    }
    let Some(key) = key else {
        let words = "cannot merge lists without merge key for struct";
        return Err(PatchError::Internal(words.to_owned()));
    };
    let (original, patch) = apply_directives(key, original, patch)?;
    let order = Positions::of(&patch, Some(key));
    let server_order = Positions::of(&original, Some(key));
    let mut merged = original;
    let mut positions = server_order.clone();
    for element in patch {
        merge_element(context, key, &mut merged, &mut positions, element)?;
    }
    let (wanted, others) = partitioned(merged, &order)?;
    Ok(arranged(wanted, others, &order, &server_order))
}

/// `$deleteFromPrimitiveList/FIELD`: removes scalars from a list. `rest` is the rest of the key
/// after the directive's name.
pub(super) fn delete_from(
    context: PatchContext<'_>,
    original: &mut Object,
    rest: &str,
    values: Value,
) -> Result<(), PatchError> {
    let Some(name) = rest.strip_prefix('/') else {
        return Err(PatchError::BadRequest("invalid patch format of primitive list".to_owned()));
    };
    if values.is_null() {
        original.remove(name);
        return Ok(());
    }
    let (Some(Value::Array(list)), Value::Array(values)) = (original.get_mut(name), values) else {
        return Ok(());
    };
    let field = context.field(name)?;
    let elements = context.elements(field)?;
    if list.is_empty() && values.is_empty() {
        return Ok(());
    }
    if are_objects(list, &values)? {
        let old = std::mem::take(list);
        *list = merge_lists(elements, field.merge_key.as_deref(), old, values)?;
        return Ok(());
    }
    context.merges(list.len())?;
    let gone = Positions::of(&values, None);
    list.retain(|value| gone.find(value).is_none());
    Ok(())
}

/// Whether two lists contain objects. All elements must have the same type.
pub(super) fn are_objects(original: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut elements = original.iter().chain(patch);
    let Some(first) = elements.next() else {
        let words = "no elements in any of the given slices";
        return Err(PatchError::Internal(words.to_owned()));
    };
    if first.is_array() {
        return Err(PatchError::Rejected("lists of lists are not supported".to_owned()));
    }
    if elements.any(|other| kind(other) != kind(first)) {
        let lists = [Value::Array(original.to_vec()), Value::Array(patch.to_vec())];
        let lists = shown(&Value::Array(lists.to_vec()));
        return Err(PatchError::Internal(format!("list element types are not identical: {lists}")));
    }
    Ok(first.is_object())
}

/// Go's name for the type of an untyped value.
pub(in crate::patch) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Removes duplicate scalars. Go moves the last one into the gap; the order is established later.
fn united(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    values.filter(|value| seen.insert(value.to_string())).collect()
}

/// Applies the elements with `$patch`, and returns the lists without them.
fn apply_directives(
    key: &str,
    mut original: Vec<Value>,
    patch: Vec<Value>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut deleted = Positions::of(&[], Some(key));
    let mut replace = false;
    for element in patch {
        let Value::Object(members) = &element else { continue };
        match members.get(PATCH).map(Value::as_str) {
            None => plain.push(element),
            Some(Some("delete")) => {
                if !members.contains_key(key) {
                    return Err(no_merge_key(&element, key));
                }
                deleted.add(&element, 0);
            }
            Some(Some("replace")) => replace = true,
            Some(Some("merge")) => {
                let words = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Internal(words.to_owned()));
            }
            Some(_) => return Err(bad_directive(&members[PATCH], members.clone())),
        }
    }
    original.retain(|element| deleted.find(element).is_none());
    if replace { Ok((plain, Vec::new())) } else { Ok((original, plain)) }
}

fn merge_element(
    context: PatchContext<'_>,
    key: &str,
    merged: &mut Vec<Value>,
    positions: &mut Positions<'_>,
    element: Value,
) -> Result<(), PatchError> {
    if element.get(key).is_none() {
        return Err(no_merge_key(&element, key));
    }
    let Some(at) = positions.find(&element) else {
        positions.add(&element, merged.len());
        merged.push(element);
        return Ok(());
    };
    let old = &mut merged[at];
    if let (Value::Object(members), Value::Object(element)) = (old.take(), element) {
        *old = Value::Object(merge_objects(context, members, element)?);
    }
    Ok(())
}

pub(super) fn no_merge_key(element: &Value, key: &str) -> PatchError {
    let element = shown(element);
    PatchError::Internal(format!("map: {element} does not contain declared merge key: {key}"))
}
