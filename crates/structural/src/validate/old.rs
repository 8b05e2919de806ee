//! The old value of a changed one: which errors are tolerated.
//!
//! Source: `k8s.io/apiserver/pkg/cel/common/equality.go` and `maplist.go`. Fields correlate with the
//! old fields of the same name, items of a list of type `map` with the first old item with the same
//! keys, other items with nothing.

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    list_type::{Keys, can_look_up},
    schema::{ListType, Schema, Type},
};

/// The old value, and the structural schema of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: &'a Schema,
}

/// The items of an old list by key.
#[derive(Debug)]
pub(super) struct OldItems<'a> {
    items: HashMap<Keys<'a>, &'a Value>,
    keys: &'a [Box<str>],
    schema: &'a Schema,
}

impl<'a> Old<'a> {
    pub(super) fn field(old: Option<Old<'a>>, name: &str) -> Option<Old<'a>> {
        let old = old?;
        let schema =
            old.schema.properties.get(name).or_else(|| old.schema.additional_properties())?;
        Some(Old { value: old.value.as_object()?.get(name)?, schema })
    }
}

impl<'a> OldItems<'a> {
    pub(super) fn new(old: Old<'a>) -> Option<OldItems<'a>> {
        let extensions = old.schema.extensions();
        let is_map = old.schema.type_ == Type::Array && extensions.list_type == Some(ListType::Map);
        let items =
            old.value.as_array().filter(|_| is_map && !extensions.list_map_keys.is_empty())?;
        let keys = &extensions.list_map_keys[..];
        if !can_look_up(items, keys) {
            return None;
        }
        let mut by_key = HashMap::with_capacity(items.len());
        for item in items {
            if let Some(key) = key_of(item, keys) {
                by_key.entry(key).or_insert(item);
            }
        }
        Some(OldItems { items: by_key, keys, schema: old.schema.items()? })
    }

    pub(super) fn get(&self, item: &Value) -> Option<Old<'a>> {
        // The keys of the new item are looked up only: their lifetime is shorter than the map's.
        let key = key_of(item, self.keys)?;
        let (_, value) = self.items.get_key_value(&key)?;
        Some(Old { value, schema: self.schema })
    }
}

/// The keys of an item, if all are there and scalars.
fn key_of<'a>(item: &'a Value, keys: &'a [Box<str>]) -> Option<Keys<'a>> {
    let fields = item.as_object()?;
    let scalar = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let fits = keys.iter().all(|key| fields.get(&**key).is_some_and(scalar));
    fits.then_some(Keys { item, keys })
}
