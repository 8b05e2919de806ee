//! Checks the result of a strategic merge against its type.
//!
//! Kubernetes does not decode such a result from JSON but converts it value by value, which is more
//! lenient with numbers and has different error messages. Source:
//! `k8s.io/apimachinery/pkg/runtime/converter.go`.

use serde_json::Value;

use crate::schema::{DecodeError, Decoded, MOST_LEVELS, Schema, Shape, Type, check_within};

/// The value converted to its type. Unknown fields are sorted by name.
pub fn converted(schema: &Schema, of: &Type, value: Value) -> Result<Decoded, DecodeError> {
    converted_within(schema, of, value, MOST_LEVELS)
}

/// Like [`converted`], with a limit other than [`MOST_LEVELS`].
pub fn converted_within(
    schema: &Schema,
    of: &Type,
    mut value: Value,
    levels: usize,
) -> Result<Decoded, DecodeError> {
    structure(schema, of, &mut value).map_err(DecodeError::Type)?;
    let mut decoded = check_within(schema, of, value, levels)?;
    decoded.unknown.sort_by_key(ToString::to_string);
    Ok(decoded)
}

fn structure(schema: &Schema, of: &Type, value: &mut Value) -> Result<(), String> {
    let Value::Object(members) = value else {
        return Err(format!("cannot restore struct from: {}", kind(value)));
    };
    for field in &of.fields {
        if let Some(value) = members.get_mut(&*field.name).filter(|value| !value.is_null()) {
            one(schema, &field.shape, &field.go, value)?;
        }
    }
    Ok(())
}

fn one(schema: &Schema, shape: &Shape, go: &str, value: &mut Value) -> Result<(), String> {
    match shape {
        _ if value.is_null() => Ok(()),
        Shape::Struct(id) => structure(schema, schema.of(*id), value),
        Shape::List(of) => match value {
            Value::Array(elements) => {
                elements.iter_mut().try_for_each(|value| one(schema, of, schema.inner(go), value))
            }
            other => Err(format!("cannot restore slice from {}", kind(other))),
        },
        Shape::Map(of) => match value {
            Value::Object(members) => {
                members.values_mut().try_for_each(|value| one(schema, of, schema.inner(go), value))
            }
            other => Err(format!("cannot restore map from {}", kind(other))),
        },
        Shape::Text(_) => match value {
            Value::String(_) => Ok(()),
            Value::Number(number) if !number.is_f64() => Err(cannot_convert("int64", go)),
            _ => Err("unrecognized type: string".to_owned()),
        },
        Shape::Bool => match value {
            Value::Bool(_) => Ok(()),
            _ => Err("unrecognized type: bool".to_owned()),
        },
        Shape::Int32 | Shape::Int64 => integer(shape, go, value),
        Shape::Float => match value {
            Value::Number(_) => Ok(()),
            _ => Err("unrecognized type: float64".to_owned()),
        },
        Shape::Bytes => match value {
            Value::String(_) => by_itself(schema, shape, value)
                .map_err(|error| format!("error decoding from json: {error}")),
            other => Err(format!("cannot restore slice from {}", kind(other))),
        },
        Shape::Any | Shape::Duration => Ok(()),
        Shape::Quantity
        | Shape::IntOrString
        | Shape::Time
        | Shape::MicroTime
        | Shape::Either(_) => by_itself(schema, shape, value),
    }
}

/// Go wraps integers that are too large, and accepts a float without a fraction.
fn integer(shape: &Shape, go: &str, value: &mut Value) -> Result<(), String> {
    let Value::Number(number) = value else { return Err(format!("unrecognized type: {go}")) };
    let whole = match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => whole,
        (None, Some(float)) if float.fract() == 0.0 => float as i64,
        _ => return Err(cannot_convert("float64", go)),
    };
    *value = match shape {
        Shape::Int32 => Value::from(whole as i32),
        _ => Value::from(whole),
    };
    Ok(())
}

fn cannot_convert(from: &str, to: &str) -> String {
    format!("cannot convert {from} to {to}")
}

/// Types with their own JSON decoder use it here too.
fn by_itself(schema: &Schema, shape: &Shape, value: &Value) -> Result<(), String> {
    crate::schema::read_alone(schema, shape, value).map_err(|error| error.to_string())
}

/// Go's kind of an untyped value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
