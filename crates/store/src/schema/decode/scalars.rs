//! Values other than typed structs, lists and maps.

use std::borrow::Cow;

use evenkeel_model::quantity::Quantity;
use serde_json::{Map, Number, Value};

use super::{Decoder, GoType, Nothing, Step};
use crate::schema::{
    DecodeError, Finding, Shape, base64,
    scan::Literal,
    time::{Precision, canonical_time},
};

impl<'a> Decoder<'a> {
    pub(super) fn string(
        &mut self,
        go: Option<GoType<'a>>,
    ) -> Result<Option<Cow<'a, str>>, DecodeError> {
        match self.scanner.peek()? {
            b'"' => self.scanner.text().map(Some),
            byte => self.mismatch(byte, go, "").map(|()| None),
        }
    }

    pub(super) fn bytes(&mut self, slot: &mut Value, go: Option<GoType<'a>>) -> Nothing {
        let Some(text) = self.string(go)? else { return Ok(()) };
        match base64::canonical(&text) {
            Ok(text) => *slot = Value::String(text),
            Err(at) => self.mistyped(|| format!("illegal base64 data at input byte {at}")),
        }
        Ok(())
    }

    pub(super) fn integer(&mut self, shape: &Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        let byte = self.scanner.peek()?;
        if !matches!(byte, b'-' | b'0'..=b'9') {
            return self.mismatch(byte, Some(go), "");
        }
        let written = self.scanner.number()?;
        let fits = |number: &i64| *shape != Shape::Int32 || i32::try_from(*number).is_ok();
        match written.parse::<i64>().ok().filter(fits) {
            Some(number) => *slot = Value::from(number),
            None => self.wrong(&format!("number {written}"), Some(go), ""),
        }
        Ok(())
    }

    pub(super) fn float(&mut self, slot: &mut Value, go: GoType<'a>) -> Nothing {
        let byte = self.scanner.peek()?;
        if !matches!(byte, b'-' | b'0'..=b'9') {
            return self.mismatch(byte, Some(go), "");
        }
        let written = self.scanner.number()?;
        match number(written) {
            Some(number) => *slot = Value::Number(number),
            None => self.wrong(&format!("number {written}"), Some(go), ""),
        }
        Ok(())
    }

    /// Takes the text between the quotes unchanged, or any other value.
    pub(super) fn quantity(&mut self, slot: &mut Value) -> Nothing {
        let start = self.scanner.start()?;
        self.scanner.skip()?;
        let written = String::from_utf8_lossy(self.scanner.since(start));
        let inner = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match Quantity::parse(inner.unwrap_or(&written).trim()) {
            Ok(quantity) => *slot = Value::String(quantity.canonical()),
            Err(error) => self.refused(error.to_string()),
        }
        Ok(())
    }

    pub(super) fn time(
        &mut self,
        slot: &mut Value,
        precision: Precision,
        go: Option<GoType<'a>>,
    ) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'"' {
            return self.refused_type(byte, go, "string");
        }
        match canonical_time(&self.scanner.text()?, precision) {
            Ok(text) => *slot = text.map_or(Value::Null, Value::String),
            Err(words) => self.refused(words),
        }
        Ok(())
    }

    pub(super) fn int_or_string(&mut self, slot: &mut Value, go: Option<GoType<'a>>) -> Nothing {
        match self.scanner.peek()? {
            b'"' => *slot = Value::String(self.scanner.text()?.into_owned()),
            b'-' | b'0'..=b'9' => {
                let written = self.scanner.number()?;
                match written.parse::<i32>() {
                    Ok(number) => *slot = Value::from(number),
                    Err(_) => {
                        let words = self.words(&format!("number {written}"), go, "int32");
                        self.refused(words);
                    }
                }
            }
            byte => return self.refused_type(byte, go, "int32"),
        }
        Ok(())
    }

    /// JSON that Go keeps unparsed, and so does not check for duplicates.
    pub(super) fn raw(&mut self, slot: &mut Value) -> Nothing {
        let outside = std::mem::replace(&mut self.quiet, true);
        *slot = self.any()?;
        self.quiet = outside;
        Ok(())
    }

    /// An untyped value.
    pub(super) fn any(&mut self) -> Result<Value, DecodeError> {
        Ok(match self.scanner.peek()? {
            b'{' => self.any_object()?,
            b'[' => {
                self.open()?;
                let mut elements = Vec::new();
                while self.scanner.element(elements.is_empty())? {
                    self.path.push(Step::Index(elements.len()));
                    elements.push(self.any()?);
                    self.path.pop();
                }
                Value::Array(elements)
            }
            b'"' => Value::String(self.scanner.text()?.into_owned()),
            b'-' | b'0'..=b'9' => {
                let written = self.scanner.number()?;
                let number = number(written);
                if number.is_none() {
                    self.wrong(&format!("number {written}"), None, "float64");
                }
                number.map_or(Value::Null, Value::Number)
            }
            _ => match self.scanner.literal()? {
                Literal::Null => Value::Null,
                Literal::Bool(value) => Value::Bool(value),
            },
        })
    }

    fn any_object(&mut self) -> Result<Value, DecodeError> {
        self.open()?;
        let mut members = Map::new();
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            if members.contains_key(&*key) {
                self.find(Finding::Duplicate, &key);
            }
            self.path.push(Step::Key(key.clone()));
            let value = self.any()?;
            self.path.pop();
            members.insert(key.into_owned(), value);
        }
        Ok(Value::Object(members))
    }
}

/// An untyped number as Go keeps it: an integer if it is written as one and fits.
fn number(written: &str) -> Option<Number> {
    if !written.contains('.')
        && let Ok(whole) = written.parse::<i64>()
    {
        return Some(whole.into());
    }
    let float = written.parse::<f64>().ok().filter(|float| float.is_finite())?;
    // Go prints it without a decimal point.
    if float.fract() == 0.0 && float.abs() < 9e15 {
        return Some((float as i64).into());
    }
    Number::from_f64(float)
}

/// Go's zero value.
pub(super) fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Text(_) | Shape::Duration | Shape::Bytes => Value::String(String::new()),
        Shape::Int32 | Shape::Int64 | Shape::Float | Shape::IntOrString => Value::from(0),
        Shape::Bool => Value::Bool(false),
        Shape::Quantity => Value::from("0"),
        Shape::Struct(_) => Value::Object(Map::new()),
        Shape::List(_)
        | Shape::Map(_)
        | Shape::Time
        | Shape::MicroTime
        | Shape::Any
        | Shape::Either(_) => Value::Null,
    }
}
