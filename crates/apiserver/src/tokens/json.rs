//! JSON in which a key occurs once. A token whose claims two readers could understand differently
//! is refused, as in Kubernetes.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonError {
    Malformed,
    /// The key that occurs twice in an object.
    Duplicate(String),
}

/// The depth of nesting is limited by the parser.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let duplicate = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = Unique(&duplicate).deserialize(&mut deserializer);
    match read.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(_) => Err(duplicate.take().map_or(JsonError::Malformed, JsonError::Duplicate)),
    }
}

/// Reads a value; the first key that occurs twice ends up in the cell.
#[derive(Clone, Copy)]
struct Unique<'a>(&'a RefCell<Option<String>>);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                self.0.replace(Some(key));
                return Err(A::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_occurs_once_at_every_depth() {
        let value = json!({"a": [1, -2, 0.5, null, true, "x"], "b": {"a": {}}});
        assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        let twice = |key: &str| Err(JsonError::Duplicate(key.to_owned()));
        let deep = "[".repeat(10_000);
        for (text, expected) in [
            (r#"{"a":1,"a":1}"#, twice("a")),
            (r#"{"x":[{"b":{"c":1,"\u0063":2}}]}"#, twice("c")),
            ("{} x", Err(JsonError::Malformed)),
            ("", Err(JsonError::Malformed)),
            ("{\"a\":\"\u{1}\"}", Err(JsonError::Malformed)),
            (&deep, Err(JsonError::Malformed)),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text:.40}");
        }
        assert_eq!(parse(b"\"\xff\""), Err(JsonError::Malformed));
    }
}
