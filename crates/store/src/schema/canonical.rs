//! The form in which Go would print a stored value of a type.
//!
//! Absent fields that Go always prints are added: structs that are not pointers, scalars without
//! `omitempty`. Fields that `omitempty` drops are removed. An empty list or map counts as absent,
//! since the encoding in which Kubernetes stores objects does not distinguish the two.

use evenkeel_model::quantity::Quantity;
use serde_json::{Map, Value};

use super::{
    Field, Omit, Schema, Shape, Type,
    time::{Precision, canonical_time},
};

/// Converts a value to its printed form. Values that don't match their type are left unchanged.
pub fn canonical(schema: &Schema, of: &Type, value: &mut Value) {
    let Value::Object(members) = value else { return };
    members.retain(|name, value| {
        let Some(field) = of.field(name) else { return true };
        if !value.is_null() {
            one(schema, &field.shape, value);
        }
        let empty = value.is_null() || (!field.pointer && is_empty(&field.shape, value));
        if empty && is_always_printed(field) {
            *value = nothing(schema, field);
        }
        !empty || is_always_printed(field)
    });
    for field in of.always_printed() {
        if !members.contains_key(&*field.name) {
            members.insert(field.name.to_string(), nothing(schema, field));
        }
    }
}

/// Whether a field is printed even if absent. Go never omits a struct for being empty.
pub(super) fn is_always_printed(field: &Field) -> bool {
    match field.omit {
        Omit::Never => true,
        Omit::Empty => !field.pointer && is_struct(&field.shape),
        Omit::Zero => false,
    }
}

/// The value printed for an absent field.
fn nothing(schema: &Schema, field: &Field) -> Value {
    if field.pointer { Value::Null } else { zero(schema, &field.shape) }
}

fn is_struct(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Struct(_) | Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime
    )
}

/// Whether `omitempty` drops the value, or it is a list or map that counts as absent.
fn is_empty(shape: &Shape, value: &Value) -> bool {
    match (shape, value) {
        (_, Value::Null) => true,
        (Shape::Struct(_) | Shape::Either(_) | Shape::Any, _) => false,
        (_, Value::Array(elements)) => elements.is_empty(),
        (_, Value::Object(members)) => members.is_empty(),
        (Shape::IntOrString | Shape::Quantity, _) => false,
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Bool(value)) => !value,
        (_, Value::Number(number)) => number.as_f64() == Some(0.0),
    }
}

fn zero(schema: &Schema, shape: &Shape) -> Value {
    match shape {
        Shape::Text(_) | Shape::Duration => Value::String(String::new()),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => Value::from(0),
        Shape::Bool => Value::Bool(false),
        Shape::Quantity => Value::from("0"),
        Shape::Struct(id) => {
            let mut value = Value::Object(Map::new());
            canonical(schema, schema.of(*id), &mut value);
            value
        }
        Shape::List(_)
        | Shape::Map(_)
        | Shape::Bytes
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::Either(_) => Value::Null,
    }
}

fn one(schema: &Schema, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(id), value) => canonical(schema, schema.of(*id), value),
        (Shape::Either(id), value) => {
            let first = match value {
                Value::Object(_) => b'{',
                Value::Array(_) => b'[',
                _ => return,
            };
            let of = schema.of(*id);
            if let Some(at) = of.alternative(first) {
                one(schema, &of.fields[at].shape, value);
            }
        }
        (Shape::List(of), Value::Array(elements)) if has_form(of) => {
            elements.iter_mut().for_each(|value| one(schema, of, value));
        }
        (Shape::Map(of), Value::Object(members)) if has_form(of) => {
            members.values_mut().for_each(|value| one(schema, of, value));
        }
        (Shape::Time, value) => printed_time(value, Precision::Seconds),
        (Shape::MicroTime, value) => printed_time(value, Precision::Micros),
        (Shape::Quantity, value) => {
            if let Some(Ok(quantity)) = value.as_str().map(Quantity::parse) {
                *value = Value::String(quantity.canonical());
            }
        }
        _ => {}
    }
}

/// Whether values of a shape need any conversion.
fn has_form(shape: &Shape) -> bool {
    is_struct(shape) || matches!(shape, Shape::List(_) | Shape::Map(_) | Shape::Either(_))
}

fn printed_time(value: &mut Value, precision: Precision) {
    if let Some(Ok(time)) = value.as_str().map(|text| canonical_time(text, precision)) {
        *value = time.map_or(Value::Null, Value::String);
    }
}
