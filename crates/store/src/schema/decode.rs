//! Reads a client's JSON against a type, in one pass over the bytes.
//!
//! What happens is what Go does when it decodes into a struct: names are case-sensitive; null
//! leaves a scalar alone and empties the rest; a field that comes twice is read into what the
//! first one left, so maps merge, and the second is a finding; unknown fields are findings and
//! dropped. A value of the wrong type is kept in mind and reading goes on, since bad JSON further
//! on has precedence, as has a value that its own reader refuses (a quantity, a time).
//! Stack: bounded by the nesting of the types, and by a number of levels where anything may be.

mod scalars;
mod wrong;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::{scalars::zero, wrong::json_kind};
use super::{
    DecodeError, Decoded, Field, Finding, Schema, Shape, Type, TypeMeta, scan::Scanner,
    time::Precision,
};

/// How deep a type that has itself inside may be read; others do not come near.
const MOST_STEPS: usize = 500;

/// Reads a client's JSON against a type.
pub fn decode(schema: &Schema, of: &Type, json: &[u8]) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder::new(schema, json);
    let mut value = Value::Null;
    match decoder.scanner.peek()? {
        b'n' => drop(decoder.scanner.literal()?),
        _ => decoder.structure(of, &mut value, None)?,
    }
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    decoder.finish(value)
}

/// The same for a value that is already parsed, as after a patch.
pub fn check(schema: &Schema, of: &Type, value: Value) -> Result<Decoded, DecodeError> {
    let json = value.to_string();
    drop(value);
    decode(schema, of, json.as_bytes())
}

/// Reads a list of a type, which is what a JSON patch is.
pub(crate) fn decode_list(schema: &Schema, of: &Type, json: &[u8]) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder::new(schema, json);
    let mut elements = Vec::new();
    match decoder.scanner.peek()? {
        b'[' => decoder.structures(of, &mut elements)?,
        b'n' => drop(decoder.scanner.literal()?),
        byte => decoder.mismatch(byte, None, &format!("[]{}.{}", of.package, of.go))?,
    }
    decoder.finish(Value::Array(elements))
}

/// Reads an object without a type. Findings are the fields that come twice.
pub fn untyped(json: &[u8]) -> Result<Decoded, DecodeError> {
    let schema = Schema::default();
    let mut decoder = Decoder::new(&schema, json);
    let mut value = Value::Null;
    match decoder.scanner.peek()? {
        b'{' | b'n' => value = decoder.any(0)?,
        byte => decoder.mismatch(byte, None, "map[string]interface {}")?,
    }
    decoder.finish(value)
}

/// Reads a value that is a field of nothing.
pub(crate) fn read_alone(schema: &Schema, shape: &Shape, value: &Value) -> Result<(), DecodeError> {
    let json = value.to_string();
    let mut decoder = Decoder::new(schema, json.as_bytes());
    let mut slot = Value::Null;
    match shape {
        Shape::Quantity => decoder.quantity(&mut slot)?,
        Shape::Time => decoder.time(&mut slot, Precision::Seconds, None)?,
        Shape::MicroTime => decoder.time(&mut slot, Precision::Micros, None)?,
        Shape::IntOrString => decoder.int_or_string(&mut slot, None)?,
        Shape::Bytes => decoder.bytes(&mut slot, None)?,
        _ => decoder.scanner.skip()?,
    }
    decoder.finish(slot).map(drop)
}

/// Which kind a text says it is, without looking at the rest of it.
pub fn type_meta(json: &[u8]) -> Result<TypeMeta, DecodeError> {
    let schema = Schema::default();
    let mut decoder = Decoder::new(&schema, json);
    let mut meta = TypeMeta::default();
    match decoder.scanner.peek()? {
        b'{' => decoder.type_meta(&mut meta)?,
        b'n' => drop(decoder.scanner.literal()?),
        byte => {
            let go = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                      Kind string \"json:\\\"kind,omitempty\\\"\" }";
            decoder.mismatch(byte, None, go)?;
        }
    }
    decoder.finish(Value::Null).map(|_| meta)
}

struct Decoder<'a> {
    schema: &'a Schema,
    scanner: Scanner<'a>,
    path: Vec<Step<'a>>,
    /// The first value of a wrong type.
    mistyped: Option<String>,
    /// The first value that its own reader refused.
    refused: Option<String>,
    findings: Vec<Finding>,
    /// The length of all paths that were made for findings.
    looked_for: usize,
}

/// One step into an object.
enum Step<'a> {
    Field(&'a Type, &'a Field),
    Index(usize),
    Key(Cow<'a, str>),
}

/// Go's name of a type: that of a field, or of what is some levels inside of it.
#[derive(Clone, Copy)]
struct GoType<'a> {
    field: &'a Field,
    inside: usize,
}

type Nothing = Result<(), DecodeError>;

impl<'a> Decoder<'a> {
    fn new(schema: &'a Schema, json: &'a [u8]) -> Decoder<'a> {
        let scanner = Scanner::new(json);
        let path = Vec::with_capacity(8);
        Decoder {
            schema,
            scanner,
            path,
            mistyped: None,
            refused: None,
            findings: Vec::new(),
            looked_for: 0,
        }
    }

    fn finish(mut self, value: Value) -> Result<Decoded, DecodeError> {
        self.scanner.end()?;
        match self.refused.or(self.mistyped) {
            Some(words) => Err(DecodeError::Type(words)),
            None => Ok(Decoded { value, unknown: self.findings }),
        }
    }

    fn structures(&mut self, of: &'a Type, elements: &mut Vec<Value>) -> Nothing {
        self.scanner.open()?;
        while self.scanner.element(elements.is_empty())? {
            let mut value = Value::Null;
            self.path.push(Step::Index(elements.len()));
            match self.scanner.peek()? {
                b'n' => drop(self.scanner.literal()?),
                _ => self.structure(of, &mut value, None)?,
            }
            self.path.pop();
            elements.push(value);
        }
        Ok(())
    }

    fn type_meta(&mut self, meta: &mut TypeMeta) -> Nothing {
        self.scanner.open()?;
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            let into = match () {
                () if key.eq_ignore_ascii_case("apiVersion") => {
                    (&mut meta.api_version, "apiVersion")
                }
                () if key.eq_ignore_ascii_case("kind") => (&mut meta.kind, "kind"),
                () => {
                    self.scanner.skip()?;
                    continue;
                }
            };
            match self.scanner.peek()? {
                b'"' => *into.0 = self.scanner.text()?.into_owned(),
                b'n' => drop(self.scanner.literal()?),
                byte => {
                    self.scanner.skip()?;
                    let (what, field) = (json_kind(byte), into.1);
                    self.mistyped(|| {
                        format!("json: cannot unmarshal {what} into Go struct field .{field} of type string")
                    });
                }
            }
        }
        Ok(())
    }

    /// An object into a struct.
    fn structure(&mut self, of: &'a Type, slot: &mut Value, go: Option<GoType<'a>>) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'{' {
            let name = format!("{}.{}", of.package, of.go);
            return self.mismatch(byte, go, &name);
        }
        if self.path.len() > MOST_STEPS {
            return Err(DecodeError::Syntax("exceeded max depth".to_owned()));
        }
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        let Value::Object(members) = slot else { return Ok(()) };
        self.scanner.open()?;
        let mut seen = 0_u128;
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            let Some(at) = of.position(&key) else {
                self.find(&key, Finding::Unknown);
                self.scanner.skip()?;
                continue;
            };
            let field = &of.fields[at];
            let mut value = Value::Null;
            if seen & (1 << at) != 0 {
                self.find(&key, Finding::Duplicate);
                value = members.remove(&*field.name).unwrap_or(Value::Null);
            }
            seen |= 1 << at;
            self.path.push(Step::Field(of, field));
            self.field(field, &mut value)?;
            self.path.pop();
            if !value.is_null() {
                members.insert(key.into_owned(), value);
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &'a Field, slot: &mut Value) -> Nothing {
        if self.scanner.peek()? != b'n' {
            return self.value(&field.shape, slot, GoType { field, inside: 0 });
        }
        self.scanner.literal()?;
        let stays = matches!(
            field.shape,
            Shape::Text(_)
                | Shape::Int32
                | Shape::Int64
                | Shape::Float
                | Shape::Bool
                | Shape::IntOrString
                | Shape::Struct(_)
        );
        if field.pointer || !stays {
            *slot = Value::Null;
        }
        Ok(())
    }

    /// A value that is not null.
    fn value(&mut self, shape: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        match shape {
            Shape::Struct(id) => self.structure(self.schema.of(*id), slot, Some(go)),
            Shape::List(of) => self.list(of, slot, go),
            Shape::Map(of) => self.map(of, slot, go),
            Shape::Any => self.raw(slot),
            Shape::Quantity => self.quantity(slot),
            Shape::Time => self.time(slot, Precision::Seconds, Some(go)),
            Shape::MicroTime => self.time(slot, Precision::Micros, Some(go)),
            Shape::IntOrString => self.int_or_string(slot, Some(go)),
            Shape::Text(_) | Shape::Duration => {
                if let Some(text) = self.string(Some(go))? {
                    *slot = Value::String(text.into_owned());
                }
                Ok(())
            }
            Shape::Bytes => self.bytes(slot, Some(go)),
            Shape::Int32 | Shape::Int64 => self.integer(shape, slot, go),
            Shape::Float => self.float(slot, go),
            Shape::Bool => match self.scanner.peek()? {
                b't' | b'f' => self.raw(slot),
                byte => self.mismatch(byte, Some(go), ""),
            },
        }
    }

    /// An array into a list. Elements go into those that are there.
    fn list(&mut self, of: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'[' {
            return self.mismatch(byte, Some(go), "");
        }
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        let Value::Array(elements) = slot else { return Ok(()) };
        self.scanner.open()?;
        let mut count = 0;
        while self.scanner.element(count == 0)? {
            if elements.len() == count {
                elements.push(Value::Null);
            }
            self.path.push(Step::Index(count));
            self.element(of, &mut elements[count], go)?;
            self.path.pop();
            count += 1;
        }
        elements.truncate(count);
        Ok(())
    }

    fn map(&mut self, of: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'{' {
            return self.mismatch(byte, Some(go), "");
        }
        self.scanner.open()?;
        let mut members = Map::new();
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            if members.contains_key(&*key) {
                self.find(&key, Finding::Duplicate);
            }
            let mut value = Value::Null;
            self.path.push(Step::Key(key.clone()));
            self.element(of, &mut value, go)?;
            self.path.pop();
            members.insert(key.into_owned(), value);
        }
        match slot {
            // Not `append`, which makes the map anew each time.
            Value::Object(earlier) => earlier.extend(members),
            _ => *slot = Value::Object(members),
        }
        Ok(())
    }

    /// What is in a list or map: never absent, so null is the zero value.
    fn element(&mut self, of: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        if self.scanner.peek()? != b'n' {
            return self.value(of, slot, GoType { inside: go.inside + 1, ..go });
        }
        self.scanner.literal()?;
        if slot.is_null() {
            *slot = zero(of);
        }
        Ok(())
    }
}
