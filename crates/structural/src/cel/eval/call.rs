//! Calls of functions.

use chrono::TimeDelta;

use super::{Evaluation, Failure, Result, VALUE, error, no_overload, operator};
use crate::cel::{
    cost::{self, Cost, Extent},
    functions::{Run, Zero},
    library,
    program::Call,
    quantity,
    regex::Expression,
    time,
    value::{Text, Value},
};

/// The work of compiling a regular expression that is not a literal.
const COMPILE: u64 = 2_000_000;

impl<'a> Evaluation<'_, 'a> {
    pub(super) fn call(&mut self, call: &'a Call) -> Result<Value<'a>> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            arguments.push(self.node(argument)?);
        }
        self.charge_call(call.cost, &arguments)?;
        match (call.run, &arguments[..]) {
            (Run::Size, [value]) => self.size(value),
            (Run::Contains, [Value::String(text), Value::String(part)]) => {
                self.meter.work(text.len() as u64)?;
                Ok(Value::Bool(text.contains(&**part)))
            }
            (Run::StartsWith, [Value::String(text), Value::String(part)]) => {
                Ok(Value::Bool(text.starts_with(&**part)))
            }
            (Run::EndsWith, [Value::String(text), Value::String(part)]) => {
                Ok(Value::Bool(text.ends_with(&**part)))
            }
            (
                Run::Matches | Run::Find | Run::FindAll,
                [Value::String(text), Value::String(regex), ..],
            ) => self.regex(call, text, regex, arguments.get(2)),
            (Run::Replace, [Value::String(text), Value::String(from), Value::String(to), ..]) => {
                self.replace(text, from, to, arguments.get(3))
            }
            (Run::Join, [Value::List(list), ..]) => {
                let items: Vec<Value<'a>> = list.iter().collect::<Result<_>>()?;
                self.join(&items, arguments.get(1))
            }
            (Run::Range, [Value::Int(end)]) => Ok(Value::list((0..*end).map(Value::Int).collect())),
            (Run::Sum(zero), [Value::List(list)]) => {
                list.iter().try_fold(nothing(zero), |sum, item| operator::sum(&sum, &item?))
            }
            (Run::Quantity, [Value::String(text)]) if !quantity::is_in_range(text) => {
                Err(error("quantities of this size are not supported"))
            }
            (Run::IsQuantity, [Value::String(text)]) if !quantity::is_in_range(text) => {
                Ok(Value::Bool(false))
            }
            (Run::Of, [value]) => Ok(Value::some(value.clone())),
            (Run::OfNonZero, [value]) if value.is_zero() => Ok(Value::Optional(None)),
            (Run::OfNonZero, [value]) => Ok(Value::some(value.clone())),
            (Run::None, []) => Ok(Value::Optional(None)),
            (Run::HasValue, [Value::Optional(value)]) => Ok(Value::Bool(value.is_some())),
            (Run::Value, [Value::Optional(value)]) => match value {
                Some(value) => Ok((**value).clone()),
                None => Err(error("optional.none() dereference")),
            },
            (Run::Dyn, [value]) => Ok(value.clone()),
            (Run::TypeOf, [value]) => Ok(Value::Type(value.type_name())),
            (Run::Part(part), [Value::Timestamp(time)]) => Ok(Value::Int(time::part(*time, part))),
            (Run::Part(part), [Value::Duration(duration)]) => {
                Ok(Value::Int(time::duration_part(*duration, part)))
            }
            (Run::NamedFormat, _) => {
                let Some(expression) = &call.expression else { return Err(no_overload()) };
                match library::call(expression, &arguments, self.meter) {
                    Ok(format) => Ok(Value::some(format)),
                    Err(Failure::Cancelled) => Err(Failure::Cancelled),
                    Err(Failure::Error(_)) => Ok(Value::Optional(None)),
                }
            }
            (Run::String, [Value::Opaque(_)])
            | (Run::Library | Run::Quantity | Run::IsQuantity, _) => {
                let Some(expression) = &call.expression else { return Err(no_overload()) };
                library::call(expression, &arguments, self.meter)
            }
            (Run::Format, [text, Value::List(list)]) => {
                let Some(expression) = &call.expression else { return Err(no_overload()) };
                let items = list.iter().map(|item| item.map(formatted)).collect::<Result<_>>()?;
                library::call(expression, &[text.clone(), Value::list(items)], self.meter)
            }
            (run, [value]) => convert(run, value),
            _ => Err(no_overload()),
        }
    }

    fn charge_call(&mut self, rule: Cost, arguments: &[Value<'a>]) -> Result<()> {
        match (rule, arguments.first()) {
            (Cost::Free, _) => return Ok(()),
            (Cost::One, _) => return self.meter.charge(1),
            // Charged when the size of the result is known.
            (Cost::Join, _) => return Ok(()),
            (Cost::Elements, Some(Value::List(list))) => {
                for item in list.iter() {
                    self.meter.work(VALUE)?;
                    self.meter.charge(traversal(&item?))?;
                }
                return Ok(());
            }
            (Cost::Elements, Some(text)) => return self.meter.charge(traversal(text)),
            _ => {}
        }
        let extents: Vec<Extent> = arguments.iter().map(extent).collect();
        let (cost, _) = cost::call(rule, &extents);
        self.meter.charge(cost)
    }

    fn size(&mut self, value: &Value<'a>) -> Result<Value<'a>> {
        let size = match value {
            Value::String(text) => {
                self.meter.work(text.len() as u64 / 8)?;
                text.chars().count()
            }
            Value::Bytes(bytes) => bytes.len(),
            Value::List(list) => list.len(),
            Value::Map(map) => map.len(),
            _ => return Err(no_overload()),
        };
        Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
    }

    fn regex(
        &mut self,
        call: &Call,
        text: &Text<'a>,
        pattern: &str,
        most: Option<&Value<'a>>,
    ) -> Result<Value<'a>> {
        self.meter.work(cost::regex(text.len() as u64, pattern.len() as u64))?;
        let compiled;
        let regex = match &call.regex {
            Some(regex) => regex,
            None => {
                self.meter.work(COMPILE)?;
                let error = || error("error parsing regexp");
                compiled = Expression::new(pattern).ok_or_else(error)?;
                &compiled
            }
        };
        if call.run == Run::Matches {
            return Ok(Value::Bool(regex.is_match(text)));
        }
        let most = match (call.run, most) {
            (Run::Find, _) => 1,
            (_, Some(Value::Int(most))) => usize::try_from(*most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let found = regex.find_all(text, most).ok_or_else(|| error("error parsing regexp"))?;
        self.meter.work(VALUE * found.len() as u64)?;
        Ok(match call.run {
            Run::Find => Value::text(found.first().copied().unwrap_or_default()),
            _ => Value::list(found.into_iter().map(Value::text).collect()),
        })
    }

    fn replace(
        &mut self,
        text: &str,
        from: &str,
        to: &str,
        most: Option<&Value<'a>>,
    ) -> Result<Value<'a>> {
        let most = match most {
            Some(Value::Int(most)) => usize::try_from(*most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        self.meter.work(text.len() as u64)?;
        let found = text.matches(from).take(most).count() as u64;
        self.meter.work(found.saturating_mul(to.len() as u64))?;
        Ok(Value::text(text.replacen(from, to, most)))
    }

    fn join(&mut self, items: &[Value<'a>], separator: Option<&Value<'a>>) -> Result<Value<'a>> {
        let separator = match separator {
            Some(Value::String(text)) => &**text,
            _ => "",
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            let Value::String(text) = item else { return Err(no_overload()) };
            self.meter.work(VALUE + (text.len() + separator.len()) as u64)?;
            texts.push(&**text);
        }
        let joined = texts.join(separator);
        self.meter.charge(cost::tenth(joined.len() as u64))?;
        Ok(Value::text(joined))
    }
}

/// Times are texts in `format`, as `kube-cel` writes them in another form.
fn formatted(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Duration(duration) => Value::text(time::duration_text(duration)),
        Value::Timestamp(time) => Value::text(time::timestamp_text(time)),
        other => other,
    }
}

fn nothing<'a>(zero: Zero) -> Value<'a> {
    match zero {
        Zero::Int => Value::Int(0),
        Zero::Uint => Value::Uint(0),
        Zero::Double => Value::Double(0.0),
        Zero::Duration => Value::Duration(TimeDelta::zero()),
    }
}

fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(_) | Value::Bytes(_) => value.size() / 10,
        _ => 1,
    }
}

/// What is known of a value. Joined texts are charged when their size is known.
fn extent(value: &Value<'_>) -> Extent {
    let element = match value {
        Value::List(list) => match list.get(0) {
            Some(Ok(first @ (Value::String(_) | Value::Bytes(_)))) => Some((first.size(), true)),
            _ => Some((1, false)),
        },
        _ => None,
    };
    let number = match value {
        Value::Int(number) => Some(u64::try_from(*number).unwrap_or(0)),
        _ => None,
    };
    let is_text = matches!(value, Value::String(_) | Value::Bytes(_));
    Extent { most: value.size(), element, is_text, number }
}

/// A conversion to another type.
fn convert<'a>(run: Run, value: &Value<'a>) -> Result<Value<'a>> {
    match run {
        Run::Bool => to_bool(value),
        Run::Bytes => match value {
            Value::Bytes(_) => Ok(value.clone()),
            Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
            _ => Err(no_overload()),
        },
        Run::Double => to_double(value),
        Run::Int => to_int(value),
        Run::Uint => to_uint(value),
        Run::String => to_string(value),
        Run::Duration => match value {
            Value::Duration(_) => Ok(value.clone()),
            Value::String(text) => {
                let words = format!("time: invalid duration {:?}", bounded(text));
                time::duration(text).map(Value::Duration).ok_or_else(|| error(&words))
            }
            _ => Err(no_overload()),
        },
        Run::Timestamp => match value {
            Value::Timestamp(_) => Ok(value.clone()),
            Value::Int(seconds) => time::from_seconds(*seconds)
                .map(Value::Timestamp)
                .ok_or_else(|| error("timestamp overflow")),
            Value::String(text) => {
                let words = format!("cannot parse {:?} as a timestamp", bounded(text));
                time::timestamp(text).map(Value::Timestamp).ok_or_else(|| error(&words))
            }
            _ => Err(no_overload()),
        },
        _ => Err(no_overload()),
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(100).collect()
}

fn conversion_error(to: &str) -> Failure {
    error(&format!("type conversion error from 'string' to '{to}'"))
}

fn to_bool<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(conversion_error("bool")),
        },
        _ => Err(no_overload()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "the conversion of CEL rounds")]
fn to_double<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    Ok(Value::Double(match value {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::Uint(number) => *number as f64,
        Value::String(text) => text.parse().map_err(|_| conversion_error("double"))?,
        _ => return Err(no_overload()),
    }))
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn to_int<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let overflow = || error("integer overflow");
    Ok(Value::Int(match value {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) if number.abs() < LIMIT => *number as i64,
        Value::Double(_) => return Err(overflow()),
        Value::String(text) => text.parse().map_err(|_| conversion_error("int"))?,
        Value::Timestamp(time) => time.timestamp(),
        _ => return Err(no_overload()),
    }))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn to_uint<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    let overflow = || error("unsigned integer overflow");
    Ok(Value::Uint(match value {
        Value::Uint(number) => *number,
        Value::Int(number) => u64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) if (0.0..LIMIT).contains(number) => *number as u64,
        Value::Double(_) => return Err(overflow()),
        Value::String(text) => text.parse().map_err(|_| conversion_error("uint"))?,
        _ => return Err(no_overload()),
    }))
}

fn to_string<'a>(value: &Value<'a>) -> Result<Value<'a>> {
    Ok(Value::text(match value {
        Value::String(_) => return Ok(value.clone()),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Duration(duration) => time::duration_text(*duration),
        Value::Timestamp(time) => time::timestamp_text(*time),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(error("invalid UTF-8 in bytes, cannot convert to string")),
        },
        _ => return Err(no_overload()),
    }))
}
