//! Decodes messages to JSON objects, according to the table.

use serde_json::{Map, Value};

use super::{
    ProtobufError, special,
    table::{JsonTarget, Message, Shape, Slot, Table, Type},
    wire::{Field, Wire, fields, varint},
};

/// No kind of the table comes near (a Deployment's pod affinity nests about ten deep); a recursive
/// type would.
pub(super) const MAX_DEPTH: usize = 48;

/// Decodes messages of one table, counting the nesting depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages<'t> {
    table: &'t Table,
    depth: usize,
}

// === impl Messages ===

impl<'t> Messages<'t> {
    pub(super) fn of(table: &'t Table) -> Messages<'t> {
        Messages { table, depth: 0 }
    }

    pub(super) fn object(
        self,
        message: usize,
        bytes: &[u8],
    ) -> Result<Map<String, Value>, ProtobufError> {
        let mut object = Map::new();
        self.merge(message, bytes, &mut object)?;
        Ok(object)
    }

    /// Decodes a message into an object that may be partly decoded: a repeated field is merged if
    /// it is a message, else the later one wins.
    fn merge(
        self,
        message: usize,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        if self.depth > MAX_DEPTH {
            return Err(ProtobufError::TooDeep);
        }
        let message = self.table.message(message);
        for field in fields(bytes) {
            let field = field?;
            let Some(slot) = message.slots.iter().find(|slot| slot.number == field.number) else {
                continue;
            };
            match slot.target {
                JsonTarget::Inline => self.inline(message, slot, &field, object)?,
                JsonTarget::Whole => {}
                JsonTarget::Key(key) => self.put(message, slot, key, &field, object)?,
            }
        }
        Ok(())
    }

    fn inline(
        self,
        message: &Message,
        slot: &Slot,
        field: &Field<'_>,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        let Type::Message(inner) = slot.type_ else { return Ok(()) };
        self.inside().merge(inner, field.bytes(&message.name)?, object)
    }

    fn put(
        self,
        message: &Message,
        slot: &Slot,
        key: &'static str,
        field: &Field<'_>,
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        match slot.shape {
            Shape::List => {
                let present = object.entry(key).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(list) = present else { return Ok(()) };
                self.extend(message, slot, field, list)
            }
            Shape::Map => {
                let (name, value) = self.map_entry(message, slot, field)?;
                let present = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
                let Value::Object(map) = present else { return Ok(()) };
                map.insert(name, value);
                Ok(())
            }
            Shape::Plain | Shape::Pointer => {
                let old = object.remove(key);
                let value = self.value(message, slot, field, old)?;
                let says_nothing =
                    value.is_null() || (slot.shape == Shape::Plain && is_zero(&value));
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
        message: &Message,
        slot: &Slot,
        field: &Field<'_>,
        list: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        let (Type::Int, Wire::Counted(mut packed)) = (slot.type_, field.value) else {
            list.push(self.value(message, slot, field, None)?);
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
        message: &Message,
        slot: &Slot,
        field: &Field<'_>,
    ) -> Result<(String, Value), ProtobufError> {
        let mut key = "";
        let mut value = None;
        for entry in fields(field.bytes(&message.name)?) {
            let entry = entry?;
            match entry.number {
                1 => key = entry.text(&message.name, "key")?,
                2 => value = Some(self.value(message, slot, &entry, None)?),
                _ => {}
            }
        }
        let empty = Field { number: 2, value: Wire::Counted(&[]) };
        let value = value.map_or_else(|| self.value(message, slot, &empty, None), Ok)?;
        Ok((key.to_owned(), value))
    }

    fn value(
        self,
        message: &Message,
        slot: &Slot,
        field: &Field<'_>,
        old: Option<Value>,
    ) -> Result<Value, ProtobufError> {
        let name = message.name.as_str();
        match slot.type_ {
            Type::Text => Ok(field.text(name, slot.name())?.into()),
            Type::Bytes => Ok(special::base64(field.bytes(name)?)),
            Type::Bool => Ok((field.int(name)? != 0).into()),
            Type::Int => Ok(field.int(name)?.into()),
            Type::Time => special::time(name, field.bytes(name)?),
            Type::MicroTime => special::micro_time(name, field.bytes(name)?),
            Type::Quantity => special::quantity(name, field.bytes(name)?),
            Type::IntOrString => special::int_or_string(name, field.bytes(name)?),
            Type::Json => special::json(name, field.bytes(name)?),
            Type::Message(inner) => self.inside().message(inner, field.bytes(name)?, old),
        }
    }

    fn message(
        self,
        message: usize,
        bytes: &[u8],
        old: Option<Value>,
    ) -> Result<Value, ProtobufError> {
        if let [slot @ Slot { target: JsonTarget::Whole, .. }] =
            self.table.message(message).slots.as_slice()
        {
            return self.whole(self.table.message(message), slot, bytes);
        }
        let mut object = match old {
            Some(Value::Object(object)) => object,
            _ => Map::new(),
        };
        self.merge(message, bytes, &mut object)?;
        Ok(Value::Object(object))
    }

    fn whole(self, message: &Message, slot: &Slot, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let mut list = Vec::new();
        for field in fields(bytes) {
            let field = field?;
            if field.number == slot.number {
                self.extend(message, slot, &field, &mut list)?;
            }
        }
        Ok(Value::Array(list))
    }

    fn inside(self) -> Messages<'t> {
        Messages { depth: self.depth + 1, ..self }
    }
}

// === impl Slot ===

impl Slot {
    fn name(&self) -> &'static str {
        match self.target {
            JsonTarget::Key(key) => key,
            JsonTarget::Inline | JsonTarget::Whole => "items",
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}
