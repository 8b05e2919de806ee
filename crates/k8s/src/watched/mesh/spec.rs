//! JSON of any form, nested to a bounded depth.
//!
//! A list is read as one, so what can't be read in one object would spoil it for all of them, and the
//! schemas of Mesh and Dataplane accept everything. What is nested deeper than [`DEEPEST`] is skipped
//! without recursion, and the object says so.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};

/// Kuma's own specs are not nested half as deep. With what a list has around them, it stays below the
/// limit of the JSON reader.
pub(crate) const DEEPEST: usize = 64;

/// `None`: it is nested too deep.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spec(pub(super) Option<Value>);

struct Level<'s> {
    deeper: usize,
    is_too_deep: &'s mut bool,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec(Some(Value::Null))
    }
}

impl<'de> Deserialize<'de> for Spec {
    fn deserialize<D: Deserializer<'de>>(given: D) -> Result<Spec, D::Error> {
        let mut is_too_deep = false;
        let level = Level { deeper: DEEPEST, is_too_deep: &mut is_too_deep };
        let value = level.deserialize(given)?;
        Ok(Spec((!is_too_deep).then_some(value)))
    }
}

// === impl Level ===

impl Level<'_> {
    fn next(&mut self) -> Level<'_> {
        Level { deeper: self.deeper - 1, is_too_deep: self.is_too_deep }
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, given: D) -> Result<Value, D::Error> {
        if self.deeper == 0 {
            *self.is_too_deep = true;
            IgnoredAny::deserialize(given)?;
            return Ok(Value::Null);
        }
        given.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.next())? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key()? {
            map.insert(key, entries.next_value_seed(self.next())?);
        }
        Ok(map.into())
    }
}
