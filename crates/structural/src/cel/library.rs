//! Calls of the functions of `kube-cel`: Kubernetes' and cel-go's libraries.
//!
//! Arguments are copied to the values of the `cel` crate, the call is resolved there with nothing
//! but these arguments, and the result is copied back. Every copy is charged before it is made.

use std::{
    panic::{self, AssertUnwindSafe},
    rc::Rc,
    sync::{Arc, LazyLock},
};

use kube_cel::{
    KubeCelExt,
    cel::{
        Context, ExecutionError, IdedExpr, Value as Foreign,
        objects::{Key as ForeignKey, Map as ForeignMap, OptionalValue},
    },
};

use super::{
    eval::{Failure, Meter, VALUE},
    value::{Key, Map, Value},
};

static CONTEXT: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// A copy is made three times on the way in and twice on the way out.
const COPIES: u64 = 5;

/// Resolves a call of the variables `a0`, `a1` and so on.
pub(super) fn call<'a>(
    expression: &IdedExpr,
    arguments: &[Value<'a>],
    meter: &mut Meter,
) -> Result<Value<'a>, Failure> {
    let mut scope = CONTEXT.new_inner_scope();
    for (index, argument) in arguments.iter().enumerate() {
        scope.add_variable_from_value(format!("a{index}"), foreign(argument, meter)?);
    }
    // The functions are not ours: what they do with the data of a client may not end the server.
    let resolve = AssertUnwindSafe(|| Foreign::resolve(expression, &scope));
    let result = panic::catch_unwind(resolve)
        .map_err(|_| Failure::Error("internal error in a function".into()))?;
    native(&result.map_err(|error| failure(&error))?, meter)
}

fn failure(error: &ExecutionError) -> Failure {
    match error {
        ExecutionError::FunctionError { message, .. } => {
            Failure::Error(message.chars().take(500).collect::<String>().into())
        }
        ExecutionError::IndexOutOfBounds(_) => Failure::Error("index out of range".into()),
        ExecutionError::Overflow(..) => Failure::Error("integer overflow".into()),
        _ => Failure::Error("no such overload".into()),
    }
}

fn foreign(value: &Value<'_>, meter: &mut Meter) -> Result<Foreign, Failure> {
    let bytes = if is_container(value) { 0 } else { value.size() };
    meter.work(COPIES * (VALUE + bytes))?;
    Ok(match value {
        Value::Null => Foreign::Null,
        Value::Bool(value) => Foreign::Bool(*value),
        Value::Int(number) => Foreign::Int(*number),
        Value::Uint(number) => Foreign::UInt(*number),
        Value::Double(number) => Foreign::Float(*number),
        Value::String(text) => Foreign::String(Arc::new(text.to_string())),
        Value::Bytes(bytes) => Foreign::Bytes(Arc::new(bytes.to_vec())),
        Value::Timestamp(time) => Foreign::Timestamp(*time),
        Value::Duration(duration) => Foreign::Duration(*duration),
        Value::List(list) => {
            let items = list.iter().map(|item| foreign(&item?, meter));
            Foreign::List(Arc::new(items.collect::<Result<_, _>>()?))
        }
        Value::Map(map) => foreign_map(map, meter)?,
        Value::Optional(None) => Foreign::Opaque(Arc::new(OptionalValue::none())),
        Value::Optional(Some(value)) => {
            Foreign::Opaque(Arc::new(OptionalValue::of(foreign(value, meter)?)))
        }
        Value::Type(name) => Foreign::String(Arc::new((*name).to_owned())),
        Value::Opaque(value) => Foreign::Opaque(Arc::clone(value)),
    })
}

fn is_container(value: &Value<'_>) -> bool {
    matches!(value, Value::List(_) | Value::Map(_) | Value::Optional(_))
}

fn foreign_map(map: &Map<'_>, meter: &mut Meter) -> Result<Foreign, Failure> {
    let mut entries = std::collections::HashMap::with_capacity(map.len());
    for key in map.keys() {
        // Fields that are not declared are not part of an object.
        let Some(value) = map.get(&key) else { continue };
        let key = match key.key() {
            Some(Key::Bool(value)) => ForeignKey::Bool(value),
            Some(Key::Number(number)) => match i64::try_from(number) {
                Ok(number) => ForeignKey::Int(number),
                Err(_) => ForeignKey::Uint(u64::try_from(number).unwrap_or(u64::MAX)),
            },
            Some(Key::String(text)) => ForeignKey::String(Arc::new(text.into_owned())),
            None => continue,
        };
        entries.insert(key, foreign(&value?, meter)?);
    }
    Ok(Foreign::Map(ForeignMap { map: Arc::new(entries) }))
}

fn native<'a>(value: &Foreign, meter: &mut Meter) -> Result<Value<'a>, Failure> {
    meter.work(VALUE)?;
    Ok(match value {
        Foreign::Null => Value::Null,
        Foreign::Bool(value) => Value::Bool(*value),
        Foreign::Int(number) => Value::Int(*number),
        Foreign::UInt(number) => Value::Uint(*number),
        Foreign::Float(number) => Value::Double(*number),
        Foreign::String(text) => {
            meter.work(text.len() as u64)?;
            Value::text(text.as_str())
        }
        Foreign::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
        Foreign::Timestamp(time) => Value::Timestamp(*time),
        Foreign::Duration(duration) => Value::Duration(*duration),
        Foreign::List(items) => {
            let items = items.iter().map(|item| native(item, meter));
            Value::list(items.collect::<Result<_, _>>()?)
        }
        Foreign::Map(map) => {
            let mut entries = std::collections::BTreeMap::new();
            for (key, value) in map.map.iter() {
                let key = match key {
                    ForeignKey::Bool(value) => Key::Bool(*value),
                    ForeignKey::Int(number) => Key::Number(i128::from(*number)),
                    ForeignKey::Uint(number) => Key::Number(i128::from(*number)),
                    ForeignKey::String(text) => Key::String(text.to_string().into()),
                };
                entries.insert(key, native(value, meter)?);
            }
            Value::Map(Map::Computed(Rc::new(entries)))
        }
        Foreign::Opaque(opaque) => match opaque.downcast_ref::<OptionalValue>() {
            Some(optional) => match optional.value() {
                Some(value) => Value::some(native(value, meter)?),
                None => Value::Optional(None),
            },
            None => Value::Opaque(Arc::clone(opaque)),
        },
        Foreign::Function(..) => return Err(Failure::Error("no such overload".into())),
    })
}
