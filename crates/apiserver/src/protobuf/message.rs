//! Decodes messages to JSON objects, according to the table of types.

use evenkeel_store::schema::{Field, MOST_LEVELS, Shape, Type};
use serde_json::{Map, Value};

use super::{
    ProtobufError, special,
    wire::{Part, Wire, parts, varint},
};
use crate::types;

/// Whatever can be stored can be sent: each message but those of [`Shape::Either`], which are not
/// counted, is an object in JSON.
pub(super) const MAX_DEPTH: usize = MOST_LEVELS;

/// The number of the list in a message that stands for a list: protobuf has no lists of lists, nor
/// maps of lists.
pub(super) const ITEMS: u32 = 1;

/// Decodes a message of this type.
pub(super) fn object(of: &Type, bytes: &[u8]) -> Result<Map<String, Value>, ProtobufError> {
    let mut object = Map::new();
    Message { of, depth: 0 }.merge(None, bytes, &mut object)?;
    Ok(object)
}

/// A type, and the nesting depth of its message.
#[derive(Clone, Copy, Debug)]
struct Message<'t> {
    of: &'t Type,
    depth: usize,
}

// === impl Message ===

impl Message<'_> {
    /// Decodes a message into an object that may be partly decoded: a repeated field is merged if
    /// it is a message, else the later one wins. The message of an embedded struct (`within`) has
    /// its fields in the object of the struct around it.
    fn merge(
        self,
        within: Option<u32>,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        if self.depth > MAX_DEPTH {
            return Err(ProtobufError::TooDeep);
        }
        for part in parts(bytes) {
            let part = part?;
            if let Some(field) = self.of.numbered(within, part.number) {
                self.put(field, &part, object)?;
            } else if within.is_none() && self.of.embeds(part.number) {
                let inside = Message { depth: self.depth + 1, ..self };
                inside.merge(Some(part.number), part.bytes(&self.of.name)?, object)?;
            }
        }
        Ok(())
    }

    fn put(
        self,
        field: &Field,
        part: &Part<'_>,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        let key = &*field.name;
        match &field.shape {
            Shape::List(element) => {
                let present = object.entry(key).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(list) = present else { return Ok(()) };
                self.extend(key, element, part, list)
            }
            Shape::Map(element) => {
                let (name, value) = self.map_entry(key, element, part)?;
                let present = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(map) = present else { return Ok(()) };
                map.insert(name, value);
                Ok(())
            }
            shape => {
                let old = object.remove(key);
                let value = self.value(key, shape, part, old)?;
                // The zero value of this type is the number.
                let is_text = *shape == Shape::IntOrString && value.is_string();
                let is_zero = !field.pointer && !is_text && is_zero(&value);
                let says_nothing = value.is_null() || is_zero;
                if !says_nothing {
                    object.insert(key.to_owned(), value);
                }
                Ok(())
            }
        }
    }

    /// Numbers may be packed: many in one field.
    fn extend(
        self,
        key: &str,
        element: &Shape,
        part: &Part<'_>,
        list: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        let (Shape::Int32 | Shape::Int64, Wire::Counted(mut packed)) = (element, part.value) else {
            list.push(self.value(key, element, part, None)?);
            return Ok(());
        };
        while !packed.is_empty() {
            list.push(varint(&mut packed)?.cast_signed().into());
        }
        Ok(())
    }

    /// A map is a repeated message of key and value; either may be omitted if it is zero.
    fn map_entry(
        self,
        key: &str,
        element: &Shape,
        part: &Part<'_>,
    ) -> Result<(String, Value), ProtobufError> {
        let mut name = "";
        let mut value = None;
        for entry in parts(part.bytes(&self.of.name)?) {
            let entry = entry?;
            match entry.number {
                1 => name = entry.text(&self.of.name, "key")?,
                2 => value = Some(self.value(key, element, &entry, None)?),
                _ => {}
            }
        }
        let empty = Part { number: 2, value: Wire::Counted(&[]) };
        let value = value.map_or_else(|| self.value(key, element, &empty, None), Ok)?;
        Ok((name.to_owned(), value))
    }

    fn value(
        self,
        key: &str,
        shape: &Shape,
        part: &Part<'_>,
        old: Option<Value>,
    ) -> Result<Value, ProtobufError> {
        let name = &*self.of.name;
        match shape {
            Shape::Text(_) | Shape::Duration => Ok(part.text(name, key)?.into()),
            Shape::Bytes => Ok(special::base64(part.bytes(name)?)),
            Shape::Bool => Ok((part.int(name)? != 0).into()),
            Shape::Int32 | Shape::Int64 => Ok(part.int(name)?.into()),
            Shape::Float => Ok(part.float(name)?.into()),
            Shape::Time => special::time(name, part.bytes(name)?),
            Shape::MicroTime => special::micro_time(name, part.bytes(name)?),
            Shape::Quantity => special::quantity(name, part.bytes(name)?),
            Shape::IntOrString => special::int_or_string(name, part.bytes(name)?),
            Shape::Any => special::json(name, part.bytes(name)?),
            Shape::List(element) => self.list(key, element, part.bytes(name)?),
            // No type has a map in a list or map.
            Shape::Map(_) => Ok(Value::Null),
            Shape::Struct(id) => {
                let inside = Message { of: types::schema().of(*id), depth: self.depth + 1 };
                let mut object = match old {
                    Some(Value::Object(object)) => object,
                    _ => Map::new(),
                };
                inside.merge(None, part.bytes(name)?, &mut object)?;
                Ok(Value::Object(object))
            }
            Shape::Either(id) => {
                let inside = Message { of: types::schema().of(*id), ..self };
                inside.either(part.bytes(name)?)
            }
        }
    }

    /// The value of one field. A boolean that is absent is false; a schema beside it wins.
    fn either(self, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let mut object = Map::new();
        self.merge(None, bytes, &mut object)?;
        let mut take = |first: u8| {
            let field = &self.of.fields[self.of.alternative(first)?];
            Some(object.remove(&*field.name).unwrap_or(Value::Null))
        };
        let value = take(b'{').filter(|value| !value.is_null()).or_else(|| take(b'['));
        Ok(value.unwrap_or_else(|| (take(b't') == Some(Value::Bool(true))).into()))
    }

    fn list(self, key: &str, element: &Shape, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let mut list = Vec::new();
        for part in parts(bytes) {
            let part = part?;
            if part.number == ITEMS {
                self.extend(key, element, &part, &mut list)?;
            }
        }
        Ok(Value::Array(list))
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}
