//! The order of merged lists.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    ELEMENT_ORDER, Object, PATCH, PatchContext,
    lists::{are_objects, kind, merge_lists, no_merge_key},
    without_directives,
};
use crate::patch::{PatchError, shown};

/// Applies `$setElementOrder/FIELD`, and removes it and its list from the patch.
pub(super) fn apply(
    context: PatchContext<'_>,
    original: &mut Object,
    patch: &mut Object,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else { continue };
        let order = list_of(Some(order))?.unwrap_or_default();
        let Some(name) = directive[ELEMENT_ORDER.len()..].strip_prefix('/') else {
            return Err(bad_order());
        };
        let old = list_of(original.remove(name))?;
        let new = list_of(patch.remove(name))?;
        let field = context.field(name)?;
        let elements = context.elements(field)?;
        let key = field.merge_key.as_deref();
        check_order(new.as_deref().unwrap_or_default(), &order, key)?;
        context.merges(old.as_ref().map_or(0, Vec::len))?;
        let lists = [&old, &new].map(|list| list.as_deref().unwrap_or_default());
        // Errors in these lists are reported only after errors in the merged list.
        let alike = are_objects(lists[0], lists[1]).map(drop);
        let identified =
            order.iter().chain(lists[0]).try_for_each(|one| identity(one, key).map(drop));
        let server_order = Positions::of(lists[0], key);
        let merged = match (old, new) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) if field.patch.merge => merge_lists(elements, key, old, new)?,
            (Some(_), Some(new)) => new,
        };
        let order = Positions::of(&order, key);
        let (wanted, others) = partitioned(merged, &order)?;
        alike.and(identified)?;
        let arranged = arranged(wanted, others, &order, &server_order);
        original.insert(name.to_owned(), Value::Array(arranged));
    }
    Ok(())
}

fn bad_order() -> PatchError {
    PatchError::BadRequest("invalid patch format of setElementOrder list".to_owned())
}

fn list_of(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(elements)) => Ok(Some(elements)),
        Some(other) => {
            let words = format!("expected a []interface {{}}, but received a {}", kind(&other));
            Err(PatchError::Internal(words))
        }
    }
}

/// The patch's elements must be in the order that it requests.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let plain = |element: &&Value| key.is_none() || element.get(PATCH).is_none();
    let mut elements = patch.iter().filter(plain).peekable();
    for wanted in order {
        let Some(element) = elements.peek() else { break };
        if identity(element, key)? == identity(wanted, key)? {
            elements.next();
        }
    }
    if elements.peek().is_none() {
        return Ok(());
    }
    let (patch, order) = (Value::Array(patch.to_vec()), Value::Array(order.to_vec()));
    Err(PatchError::Internal(format!(
        "The order in patch list:\n{}\n doesn't match {ELEMENT_ORDER} list:\n{}\n",
        shown(&patch),
        shown(&order),
    )))
}

/// The identity of an element: its merge key, or the whole element.
fn identity<'a>(element: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else { return Ok(element) };
    if !element.is_object() {
        let words = "expected a map[string]interface {}, but received a";
        return Err(PatchError::Internal(format!("{words} {}", kind(element))));
    }
    element.get(key).ok_or_else(|| no_merge_key(element, key))
}

/// The first position of each element of a list, by identity.
#[derive(Clone, Debug)]
pub(super) struct Positions<'a> {
    key: Option<&'a str>,
    first: BTreeMap<String, usize>,
}

impl<'a> Positions<'a> {
    pub(super) fn of(list: &[Value], key: Option<&'a str>) -> Positions<'a> {
        let mut positions = Positions { key, first: BTreeMap::new() };
        for (at, element) in list.iter().enumerate() {
            positions.add(element, at);
        }
        positions
    }

    pub(super) fn add(&mut self, element: &Value, at: usize) {
        let text = self.text(element);
        self.first.entry(text).or_insert(at);
    }

    pub(super) fn find(&self, element: &Value) -> Option<usize> {
        self.first.get(&self.text(element)).copied()
    }

    /// JSON, which differs for different values; empty if the key is missing.
    fn text(&self, element: &Value) -> String {
        match self.key {
            None => element.to_string(),
            Some(key) => element.get(key).map(Value::to_string).unwrap_or_default(),
        }
    }
}

/// Splits elements into those contained in another list and the rest.
pub(super) fn partitioned(
    list: Vec<Value>,
    by: &Positions<'_>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    list.iter().try_for_each(|element| identity(element, by.key).map(drop))?;
    Ok(list.into_iter().partition(|element| by.find(element).is_some()))
}

/// Sorts `wanted` and `others` each into its own order and merges them: an element of `others` goes
/// first only where the document had both, in that order.
pub(super) fn arranged(
    mut wanted: Vec<Value>,
    mut others: Vec<Value>,
    order: &Positions<'_>,
    server_order: &Positions<'_>,
) -> Vec<Value> {
    wanted.sort_by_cached_key(|element| order.find(element));
    others.sort_by_cached_key(|element| server_order.find(element));
    let mut out = Vec::with_capacity(wanted.len() + others.len());
    let mut others = others.into_iter().peekable();
    for element in wanted {
        let place = server_order.find(&element);
        while let (Some(place), Some(other)) = (place, others.peek()) {
            match server_order.find(other) {
                Some(at) if at < place => out.extend(others.next()),
                _ => break,
            }
        }
        out.push(element);
    }
    out.extend(others);
    out
}
