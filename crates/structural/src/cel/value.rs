//! Values at run time. The data of an object is not copied: lists, maps and texts borrow from it.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, rc::Rc, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::TimeDelta;
use kube_cel::cel::objects::Opaque;
use serde_json::{Map as Object, Value as Json};

use super::{
    declaration::{Declaration, Order, Shape},
    equality,
    eval::{Failure, Meter, VALUE},
    time,
};

/// A value.
#[derive(Clone)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Rc<[u8]>),
    Timestamp(time::Timestamp),
    Duration(TimeDelta),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Rc<Value<'a>>>),
    Type(&'static str),
    /// A value of `kube-cel`.
    Opaque(Arc<dyn Opaque>),
}

/// A text of the data, of the expression, or a computed one.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Borrowed(&'a str),
    Computed(Rc<str>),
}

/// A list of the data, or a computed one.
#[derive(Clone)]
pub(super) enum List<'a> {
    Data(&'a [Json], &'a Declaration),
    /// With the order of the list that it was computed from.
    Computed(Rc<Vec<Value<'a>>>, &'a Order),
}

/// An object or map of the data, or a computed map.
#[derive(Clone)]
pub(super) enum Map<'a> {
    Data(&'a Object<String, Json>, &'a Declaration),
    Computed(Rc<BTreeMap<Key<'a>, Value<'a>>>),
}

/// The key of a computed map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Bool(bool),
    /// Whole numbers of both kinds are the same key.
    Number(i128),
    String(Cow<'a, str>),
}

/// The value of some data of a declared type.
pub(super) fn of_data<'a>(
    data: &'a Json,
    declaration: &'a Declaration,
) -> Result<Value<'a>, Failure> {
    if data.is_null() && declaration.nullable {
        return Ok(Value::Null);
    }
    let value = match (&declaration.shape, data) {
        (Shape::Object(_) | Shape::Map(_), Json::Object(map)) => {
            Value::Map(Map::Data(map, declaration))
        }
        (Shape::List(..), Json::Array(items)) => Value::List(List::Data(items, declaration)),
        (Shape::String | Shape::IntOrString, Json::String(text)) => {
            Value::String(Text::Borrowed(text))
        }
        (Shape::Bool, Json::Bool(value)) => Value::Bool(*value),
        (Shape::Int | Shape::IntOrString, Json::Number(number)) => {
            Value::Int(number.as_i64().ok_or_else(|| invalid("int"))?)
        }
        (Shape::Double, Json::Number(number)) => {
            Value::Double(number.as_f64().ok_or_else(|| invalid("float"))?)
        }
        (Shape::Bytes, Json::String(text)) => {
            let bytes = STANDARD.decode(text).map_err(|_| unreadable("byte", text))?;
            Value::Bytes(bytes.into())
        }
        (Shape::Duration, Json::String(text)) => {
            let error = || Failure::Error(format!("Invalid duration {text}").into());
            Value::Duration(time::long_duration(text).ok_or_else(error)?)
        }
        (Shape::Date, Json::String(text)) => {
            Value::Timestamp(time::date(text).ok_or_else(|| unreadable("date", text))?)
        }
        (Shape::DateTime, Json::String(text)) => {
            Value::Timestamp(time::timestamp(text).ok_or_else(|| unreadable("date-time", text))?)
        }
        (_, Json::Null) => {
            return Err(Failure::Error(
                "invalid data, got null for schema with nullable=false".into(),
            ));
        }
        _ => return Err(invalid("a value of the type of the schema")),
    };
    Ok(value)
}

fn invalid(expected: &str) -> Failure {
    Failure::Error(format!("invalid data, expected {expected}").into())
}

fn unreadable(format: &str, text: &str) -> Failure {
    let text: String = text.chars().take(100).collect();
    Failure::Error(format!("Invalid {format} formatted string {text}").into())
}

impl<'a> Value<'a> {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Value<'a> {
        Value::String(Text::Computed(text.into()))
    }

    pub(super) fn list(items: Vec<Value<'a>>) -> Value<'a> {
        Value::List(List::Computed(Rc::new(items), &Order::Atomic))
    }

    pub(super) fn some(value: Value<'a>) -> Value<'a> {
        Value::Optional(Some(Rc::new(value)))
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Optional(_) => "optional_type",
            Value::Type(_) => "type",
            Value::Opaque(_) => "opaque",
        }
    }

    /// Its characters, bytes, items or entries; 1 for a scalar. Counting characters is a pass over
    /// the text, so for cost the bytes of a text stand for them.
    pub(super) fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Optional(Some(value)) => value.size(),
            _ => 1,
        }
    }

    /// Whether it is the zero value of its type.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Value::Null | Value::Bool(false) | Value::Int(0) | Value::Uint(0) => true,
            Value::Double(number) => *number == 0.0,
            Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => self.size() == 0,
            Value::Duration(duration) => duration.is_zero(),
            Value::Optional(value) => value.is_none(),
            _ => false,
        }
    }

    /// Whether two values are equal; charges what is compared.
    pub(super) fn equals(&self, other: &Value<'a>, meter: &mut Meter) -> Result<bool, Failure> {
        meter.work(VALUE)?;
        Ok(match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(a), Value::String(b)) => {
                meter.work(a.len().min(b.len()) as u64)?;
                **a == **b
            }
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a == b,
            (Value::List(a), Value::List(b)) => return a.equals(b, meter),
            (Value::Map(a), Value::Map(b)) => return a.equals(b, meter),
            (Value::Optional(a), Value::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => return a.equals(b, meter),
                (a, b) => a.is_none() && b.is_none(),
            },
            (Value::Opaque(a), Value::Opaque(b)) => a.opaque_eq(&**b),
            (a, b) => a.compared(b) == Some(Ordering::Equal),
        })
    }

    /// The order of numbers, texts, times and truth values.
    pub(super) fn compared(&self, other: &Value<'a>) -> Option<Ordering> {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
            (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
            (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
            (Value::Int(a), Value::Double(b)) => with_double(i128::from(*a), *b),
            (Value::Uint(a), Value::Double(b)) => with_double(i128::from(*a), *b),
            (Value::Double(a), Value::Int(b)) => {
                with_double(i128::from(*b), *a).map(Ordering::reverse)
            }
            (Value::Double(a), Value::Uint(b)) => {
                with_double(i128::from(*b), *a).map(Ordering::reverse)
            }
            (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
            (Value::String(a), Value::String(b)) => Some((**a).cmp(&**b)),
            (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
            (Value::Timestamp(a), Value::Timestamp(b)) => Some(a.cmp(b)),
            (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }

    /// As the key of a map.
    pub(super) fn key(&self) -> Option<Key<'a>> {
        Some(match self {
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(number) => Key::Number(i128::from(*number)),
            Value::Uint(number) => Key::Number(i128::from(*number)),
            Value::String(Text::Borrowed(text)) => Key::String(Cow::Borrowed(text)),
            Value::String(text) => Key::String(Cow::Owned(text.to_string())),
            _ => return None,
        })
    }
}

/// The order of a whole number and one with a fraction, without rounding the first.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
#[expect(clippy::cast_precision_loss, reason = "only whether it is beyond the range matters")]
fn with_double(whole: i128, double: f64) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double >= u64::MAX as f64 || double <= i64::MIN as f64 - 1.0 {
        return 0.0.partial_cmp(&double);
    }
    let floor = double.floor();
    Some(whole.cmp(&(floor as i128)).then(if double > floor {
        Ordering::Less
    } else {
        Ordering::Equal
    }))
}

// === impl Text ===

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Computed(text) => text,
        }
    }
}

// === impl List ===

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::Data(items, _) => items.len(),
            List::Computed(items, _) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Result<Value<'a>, Failure>> {
        match self {
            List::Data(items, declaration) => {
                Some(of_data(items.get(index)?, declaration.element()?))
            }
            List::Computed(items, _) => items.get(index).cloned().map(Ok),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, Failure>> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    fn order(&self) -> &'a Order {
        match self {
            List::Data(_, Declaration { shape: Shape::List(_, order), .. }) => order,
            List::Data(..) => &Order::Atomic,
            List::Computed(_, order) => order,
        }
    }

    /// Sets and maps are equal in any order, if the left one is declared as such.
    fn equals(&self, other: &List<'a>, meter: &mut Meter) -> Result<bool, Failure> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if *self.order() != Order::Atomic {
            return self.has_same_items(other, meter);
        }
        for (left, right) in self.iter().zip(other.iter()) {
            if !left?.equals(&right?, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_same_items(&self, other: &List<'a>, meter: &mut Meter) -> Result<bool, Failure> {
        let mut items = BTreeMap::new();
        for item in self.iter() {
            let item = item?;
            items.insert(equality::identity(&item, self.order(), meter)?, item);
        }
        for item in other.iter() {
            let item = item?;
            let identity = equality::identity(&item, self.order(), meter)?;
            let Some(same) = items.remove(&identity) else { return Ok(false) };
            if !same.equals(&item, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The sum of two lists. If the left one is a set, it gets what it does not have yet; if it is a
    /// map, items with the same keys are replaced.
    pub(super) fn plus(&self, other: &List<'a>, meter: &mut Meter) -> Result<Value<'a>, Failure> {
        meter.work(VALUE * (self.len() + other.len()) as u64)?;
        let order = self.order();
        let mut items: Vec<Value<'a>> = self.iter().collect::<Result<_, _>>()?;
        let mut places = BTreeMap::new();
        if *order != Order::Atomic {
            for (place, item) in items.iter().enumerate() {
                places.insert(equality::identity(item, order, meter)?, place);
            }
        }
        for item in other.iter() {
            let item = item?;
            let place = match order {
                Order::Atomic => None,
                _ => places.get(&equality::identity(&item, order, meter)?).copied(),
            };
            match place {
                Some(place) => items[place] = item,
                None => items.push(item),
            }
        }
        Ok(Value::List(List::Computed(Rc::new(items), order)))
    }
}

// === impl Map ===

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Map::Data(map, _) => map.len(),
            Map::Computed(map) => map.len(),
        }
    }

    /// An entry by a name: for an object, the name of the field in JSON.
    pub(super) fn named(&self, name: &str) -> Option<Result<Value<'a>, Failure>> {
        match self {
            Map::Data(map, declaration) => {
                let data = map.get(name)?;
                match &declaration.shape {
                    Shape::Map(value) => Some(of_data(data, value)),
                    // A field that is null is absent.
                    _ if data.is_null() => None,
                    _ => Some(of_data(data, declaration.property(name)?)),
                }
            }
            Map::Computed(map) => map.get(&Key::String(Cow::Borrowed(name))).cloned().map(Ok),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        match self {
            Map::Data(map, declaration) => match map.get(name) {
                Some(data) => !data.is_null() || matches!(declaration.shape, Shape::Map(_)),
                None => false,
            },
            Map::Computed(map) => map.contains_key(&Key::String(Cow::Borrowed(name))),
        }
    }

    pub(super) fn get(&self, key: &Value<'a>) -> Option<Result<Value<'a>, Failure>> {
        match (self, key) {
            (_, Value::String(name)) => self.named(name),
            (Map::Computed(map), key) => map.get(&key.key()?).cloned().map(Ok),
            _ => None,
        }
    }

    pub(super) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Data(map, _) => map.keys().map(|key| Value::String(Text::Borrowed(key))).collect(),
            Map::Computed(map) => map.keys().map(key_value).collect(),
        }
    }

    fn equals(&self, other: &Map<'a>, meter: &mut Meter) -> Result<bool, Failure> {
        if self.len() != other.len() {
            return Ok(false);
        }
        if let (Map::Data(left, declaration), Map::Data(right, _)) = (self, other) {
            return equality::objects(left, right, declaration, meter);
        }
        for key in self.keys() {
            let (Some(left), Some(right)) = (self.get(&key), other.get(&key)) else {
                return Ok(false);
            };
            if !left?.equals(&right?, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn key_value<'a>(key: &Key<'a>) -> Value<'a> {
    match key {
        Key::Bool(value) => Value::Bool(*value),
        Key::Number(number) => match i64::try_from(*number) {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Uint(u64::try_from(*number).unwrap_or(u64::MAX)),
        },
        Key::String(Cow::Borrowed(text)) => Value::String(Text::Borrowed(text)),
        Key::String(Cow::Owned(text)) => Value::text(text.as_str()),
    }
}
