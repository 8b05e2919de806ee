//! Whether two pieces of data are equal, and what tells the items of sets and maps apart.
//!
//! Lists that are declared as sets or maps are equal in any order. The time is that of sorting what
//! is compared, and is charged as work.

use serde_json::{Map as Object, Value as Json};

use super::{
    declaration::{Declaration, Order, Shape},
    eval::{Failure, Meter, VALUE},
    value::{Map, Value, of_data},
};

/// Whether two objects or maps of the data are equal. What is not declared is compared as it is.
pub(super) fn objects(
    left: &Object<String, Json>,
    right: &Object<String, Json>,
    declaration: &Declaration,
    meter: &mut Meter,
) -> Result<bool, Failure> {
    if left.len() != right.len() {
        return Ok(false);
    }
    for (name, left) in left {
        let Some(right) = right.get(name) else { return Ok(false) };
        meter.work(VALUE + name.len() as u64)?;
        let entry = match &declaration.shape {
            Shape::Map(value) => Some(value),
            _ => declaration.property(name),
        };
        let equal = match entry.map(|entry| (of_data(left, entry), of_data(right, entry))) {
            Some((Ok(left), Ok(right))) => left.equals(&right, meter)?,
            _ => undeclared(left, right, meter)?,
        };
        if !equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn undeclared(left: &Json, right: &Json, meter: &mut Meter) -> Result<bool, Failure> {
    meter.work(VALUE)?;
    match (left, right) {
        (Json::String(left), Json::String(right)) => {
            meter.work(left.len().min(right.len()) as u64)?;
            Ok(left == right)
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            for (left, right) in left.iter().zip(right) {
                if !undeclared(left, right, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Object(left), Json::Object(right)) if left.len() == right.len() => {
            for (name, left) in left {
                let Some(right) = right.get(name) else { return Ok(false) };
                if !undeclared(left, right, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (left, right) => Ok(left == right),
    }
}

/// What tells an item of a set or map from the others, as a text.
pub(super) fn identity(
    item: &Value<'_>,
    order: &Order,
    meter: &mut Meter,
) -> Result<String, Failure> {
    let mut text = String::new();
    match (order, item) {
        (Order::Map(keys), Value::Map(map)) => {
            for key in keys {
                match map.named(key) {
                    Some(value) => write(&value?, &mut text)?,
                    None => text.push('-'),
                }
                text.push(',');
            }
        }
        _ => write(item, &mut text)?,
    }
    meter.work(VALUE * text.len() as u64)?;
    Ok(text)
}

/// Writes a value so that equal values are the same text.
fn write(value: &Value<'_>, text: &mut String) -> Result<(), Failure> {
    match value {
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Int(number) => text.push_str(&number.to_string()),
        Value::Uint(number) => text.push_str(&number.to_string()),
        Value::Double(number) => text.push_str(&number.to_string()),
        Value::String(string) => {
            text.push_str(&string.len().to_string());
            text.push('"');
            text.push_str(string);
        }
        Value::Bytes(bytes) => text.extend(bytes.iter().map(|byte| char::from(*byte))),
        Value::Timestamp(time) => text.push_str(&time.to_rfc3339()),
        Value::Duration(duration) => text.push_str(&duration.to_string()),
        Value::List(list) => {
            text.push('[');
            for item in list.iter() {
                write(&item?, text)?;
                text.push(',');
            }
            text.push(']');
        }
        Value::Map(map) => write_map(map, text)?,
        Value::Null | Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => {
            text.push_str(value.type_name());
        }
    }
    Ok(())
}

fn write_map(map: &Map<'_>, text: &mut String) -> Result<(), Failure> {
    let mut entries = Vec::with_capacity(map.len());
    for key in map.keys() {
        let Some(value) = map.get(&key) else { continue };
        let mut entry = String::new();
        write(&key, &mut entry)?;
        entry.push(':');
        write(&value?, &mut entry)?;
        entries.push(entry);
    }
    entries.sort_unstable();
    text.push('{');
    text.push_str(&entries.join(","));
    text.push('}');
    Ok(())
}
