//! Operators on values.

use chrono::TimeDelta;

use super::{Meter, Result, error, no_overload};
use crate::cel::{
    cost::tenth,
    program::Operator,
    time,
    value::{Text, Value},
};

pub(super) fn binary<'a>(
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
    is_free: bool,
    meter: &mut Meter,
) -> Result<Value<'a>> {
    match operator {
        Operator::Add => add(left, right, meter),
        Operator::Equal | Operator::NotEqual => {
            meter.charge(tenth(left.size().min(right.size())))?;
            let equal = left.equals(right, meter)?;
            Ok(Value::Bool(equal == (operator == Operator::Equal)))
        }
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            meter.charge(tenth(left.size().min(right.size())))?;
            compare(operator, left, right).map(Value::Bool)
        }
        Operator::In => contains(left, right, is_free, meter).map(Value::Bool),
        _ => {
            meter.charge(1)?;
            arithmetic(operator, left, right)
        }
    }
}

fn compare(operator: Operator, left: &Value<'_>, right: &Value<'_>) -> Result<bool> {
    let Some(order) = left.compared(right) else {
        // Not a number is in no order.
        let doubles = |value: &Value<'_>| matches!(value, Value::Double(number) if number.is_nan());
        let is_nan = doubles(left) || doubles(right);
        return if is_nan { Ok(false) } else { Err(no_overload()) };
    };
    Ok(match operator {
        Operator::Less => order.is_lt(),
        Operator::LessEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    })
}

fn contains<'a>(
    item: &Value<'a>,
    container: &Value<'a>,
    is_free: bool,
    meter: &mut Meter,
) -> Result<bool> {
    match container {
        Value::List(list) => {
            meter.charge(if is_free { 0 } else { list.len() as u64 })?;
            for other in list.iter() {
                if item.equals(&other?, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => {
            meter.charge(1)?;
            Ok(map.get(item).is_some())
        }
        _ => Err(no_overload()),
    }
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>, meter: &mut Meter) -> Result<Value<'a>> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => {
            charge_copy(a.len() + b.len(), meter)?;
            Ok(Value::text([&**a, &**b].concat()))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            charge_copy(a.len() + b.len(), meter)?;
            Ok(Value::Bytes([&**a, &**b].concat().into()))
        }
        (Value::List(a), Value::List(b)) => {
            meter.charge(1)?;
            a.plus(b, meter)
        }
        _ => {
            meter.charge(1)?;
            arithmetic(Operator::Add, left, right)
        }
    }
}

/// The sum of two numbers or durations.
pub(super) fn sum<'a>(left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>> {
    arithmetic(Operator::Add, left, right)
}

fn charge_copy(length: usize, meter: &mut Meter) -> Result<()> {
    meter.charge(tenth(length as u64))?;
    meter.work(length as u64)
}

fn arithmetic<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => ints(operator, *a, *b).map(Value::Int),
        (Value::Uint(a), Value::Uint(b)) => uints(operator, *a, *b).map(Value::Uint),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            _ => return Err(no_overload()),
        })),
        _ => times(operator, left, right),
    }
}

fn ints(operator: Operator, a: i64, b: i64) -> Result<i64> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide if b == 0 => return Err(error("division by zero")),
        Operator::Divide => a.checked_div(b),
        Operator::Modulo if b == 0 => return Err(error("modulus by zero")),
        Operator::Modulo => a.checked_rem(b),
        _ => return Err(no_overload()),
    };
    result.ok_or_else(|| error("integer overflow"))
}

fn uints(operator: Operator, a: u64, b: u64) -> Result<u64> {
    let result = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide if b == 0 => return Err(error("division by zero")),
        Operator::Divide => a.checked_div(b),
        Operator::Modulo if b == 0 => return Err(error("modulus by zero")),
        Operator::Modulo => a.checked_rem(b),
        _ => return Err(no_overload()),
    };
    result.ok_or_else(|| error("unsigned integer overflow"))
}

fn times<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Result<Value<'a>> {
    let in_nanoseconds = |duration: TimeDelta| duration.num_nanoseconds().map(|_| duration);
    let result = match (operator, left, right) {
        (Operator::Add, Value::Duration(a), Value::Duration(b)) => {
            a.checked_add(b).and_then(in_nanoseconds).map(Value::Duration)
        }
        (Operator::Subtract, Value::Duration(a), Value::Duration(b)) => {
            a.checked_sub(b).and_then(in_nanoseconds).map(Value::Duration)
        }
        (Operator::Add, Value::Timestamp(time), Value::Duration(duration))
        | (Operator::Add, Value::Duration(duration), Value::Timestamp(time)) => {
            time.checked_add_signed(*duration).and_then(time::in_range).map(Value::Timestamp)
        }
        (Operator::Subtract, Value::Timestamp(time), Value::Duration(duration)) => {
            time.checked_sub_signed(*duration).and_then(time::in_range).map(Value::Timestamp)
        }
        (Operator::Subtract, Value::Timestamp(a), Value::Timestamp(b)) => {
            in_nanoseconds(a.signed_duration_since(b)).map(Value::Duration)
        }
        _ => return Err(no_overload()),
    };
    result.ok_or_else(|| error("duration overflow"))
}

pub(super) fn negate<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Int(number) => {
            number.checked_neg().map(Value::Int).ok_or_else(|| error("integer overflow"))
        }
        Value::Double(number) => Ok(Value::Double(-number)),
        _ => Err(no_overload()),
    }
}

/// An item by position or an entry by key. An optional one is absent where the data is.
pub(super) fn index<'a>(
    operand: Value<'a>,
    index: &Value<'a>,
    is_optional: bool,
) -> Result<Value<'a>> {
    let operand = match operand {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => (*inner).clone(),
        other => other,
    };
    let (found, words) = match &operand {
        Value::List(list) => {
            let position = match index {
                Value::Int(index) => usize::try_from(*index).ok(),
                Value::Uint(index) => usize::try_from(*index).ok(),
                _ => return Err(no_overload()),
            };
            (position.and_then(|position| list.get(position)), "index out of bounds")
        }
        Value::Map(map) => (map.get(index), "no such key"),
        _ => return Err(no_overload()),
    };
    match (found, is_optional) {
        (Some(value), true) => Ok(Value::some(value?)),
        (Some(value), false) => value,
        (None, true) => Ok(Value::Optional(None)),
        (None, false) => Err(error(&format!("{words}: {}", shown(index)))),
    }
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::String(text @ (Text::Borrowed(_) | Text::Computed(_))) => {
            text.chars().take(200).collect()
        }
        other => other.type_name().to_owned(),
    }
}
