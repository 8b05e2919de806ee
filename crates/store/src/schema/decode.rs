//! Decodes a client's JSON into a type, in one pass over the bytes.
//!
//! Follows Go's decoding into a struct: names are case-sensitive; null leaves a scalar unchanged
//! and empties everything else; a duplicate field is decoded into the result of the first, so maps
//! merge, and is reported as a finding; unknown fields are findings and dropped. A value of the
//! wrong type is recorded and decoding continues, since invalid JSON later in the text takes
//! precedence, as does a value rejected by its own decoder (a quantity, a time). Stack use is
//! bounded by [`MOST_LEVELS`]; skipping values uses none.

mod scalars;
mod wrong;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::{scalars::zero, wrong::json_kind};
use super::{
    DecodeError, Decoded, Field, Finding, MOST_LEVELS, Schema, Shape, Type, TypeMeta,
    scan::Scanner, time::Precision,
};

/// Decodes a client's JSON into a type.
pub fn decode(schema: &Schema, of: &Type, json: &[u8]) -> Result<Decoded, DecodeError> {
    decode_within(schema, of, json, MOST_LEVELS)
}

fn decode_within(
    schema: &Schema,
    of: &Type,
    json: &[u8],
    levels: usize,
) -> Result<Decoded, DecodeError> {
    let mut decoder = Decoder { levels, ..Decoder::new(schema, json) };
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

/// Like [`decode`], for a value that is already parsed, as after a patch.
pub fn check(schema: &Schema, of: &Type, value: Value) -> Result<Decoded, DecodeError> {
    check_within(schema, of, value, MOST_LEVELS)
}

/// Like [`check`], with a limit other than [`MOST_LEVELS`]: for objects already stored, perhaps by
/// a version with a higher limit.
pub fn check_within(
    schema: &Schema,
    of: &Type,
    value: Value,
    levels: usize,
) -> Result<Decoded, DecodeError> {
    let json = value.to_string();
    drop(value);
    decode_within(schema, of, json.as_bytes(), levels)
}

/// Nesting depth of objects and lists in a value, including the outermost.
pub fn levels(value: &Value) -> usize {
    let mut most = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(elements) => open.extend(elements.iter().map(|one| (one, level + 1))),
            Value::Object(members) => open.extend(members.values().map(|one| (one, level + 1))),
            _ => continue,
        }
        most = most.max(level);
    }
    most
}

/// Decodes a list of a type, such as a JSON patch.
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

/// Decodes an untyped object. Findings are the duplicate fields.
pub fn untyped(json: &[u8]) -> Result<Decoded, DecodeError> {
    let schema = Schema::default();
    let mut decoder = Decoder::new(&schema, json);
    let mut value = Value::Null;
    match decoder.scanner.peek()? {
        b'{' | b'n' => value = decoder.any()?,
        byte => decoder.mismatch(byte, None, "map[string]interface {}")?,
    }
    decoder.finish(value)
}

/// Decodes any JSON, nested up to `levels` deep. The stack must suffice for them.
pub fn any_json(json: &[u8], levels: usize) -> Result<Value, DecodeError> {
    let schema = Schema::default();
    let mut decoder = Decoder { levels, quiet: true, ..Decoder::new(&schema, json) };
    let value = decoder.any()?;
    decoder.finish(value).map(|decoded| decoded.value)
}

/// Decodes a standalone value.
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
        Shape::Either(id) => decoder.either(schema.of(*id), &mut slot)?,
        _ => decoder.scanner.skip()?,
    }
    decoder.finish(slot).map(drop)
}

/// The kind that a text declares, without looking at the rest of it.
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
    /// Allowed nesting depth.
    levels: usize,
    path: Vec<Step<'a>>,
    /// The first value of a wrong type.
    mistyped: Option<String>,
    /// The first value rejected by its own decoder.
    refused: Option<String>,
    findings: Vec<Finding>,
    /// The length of all paths built for findings, including duplicates.
    described: usize,
    /// Don't collect findings.
    quiet: bool,
}

/// One step down into an object.
enum Step<'a> {
    Field(&'a Type, &'a Field),
    Index(usize),
    Key(Cow<'a, str>),
}

/// Go's name of a type: that of a field, or of a value nested some levels inside it.
#[derive(Clone, Copy)]
struct GoType<'a> {
    field: &'a Field,
    inside: usize,
}

type Nothing = Result<(), DecodeError>;

impl<'a> Decoder<'a> {
    fn new(schema: &'a Schema, json: &'a [u8]) -> Decoder<'a> {
        let scanner = Scanner::new(json);
        Decoder {
            schema,
            scanner,
            levels: MOST_LEVELS,
            path: Vec::with_capacity(8),
            mistyped: None,
            refused: None,
            findings: Vec::new(),
            described: 0,
            quiet: false,
        }
    }

    /// Consumes the opening brace or bracket of a value to keep.
    fn open(&mut self) -> Nothing {
        self.scanner.open()?;
        if self.scanner.levels() > self.levels {
            return Err(DecodeError::TooDeep(self.start_of_path()));
        }
        Ok(())
    }

    fn finish(mut self, value: Value) -> Result<Decoded, DecodeError> {
        self.scanner.end()?;
        match self.refused.or(self.mistyped) {
            Some(words) => Err(DecodeError::Type(words)),
            None => Ok(Decoded { value, unknown: self.findings }),
        }
    }

    fn structures(&mut self, of: &'a Type, elements: &mut Vec<Value>) -> Nothing {
        self.open()?;
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

    /// Decodes an object into a struct.
    fn structure(&mut self, of: &'a Type, slot: &mut Value, go: Option<GoType<'a>>) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'{' {
            let name = format!("{}.{}", of.package, of.go);
            return self.mismatch(byte, go, &name);
        }
        if !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        let Value::Object(members) = slot else { return Ok(()) };
        self.open()?;
        let mut seen = 0_u128;
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            let Some(at) = of.position(&key) else {
                self.find(Finding::Unknown, &key);
                self.scanner.skip()?;
                continue;
            };
            let field = &of.fields[at];
            let mut value = Value::Null;
            if seen & (1 << at) != 0 {
                self.find(Finding::Duplicate, &key);
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

    /// A value other than null.
    fn value(&mut self, shape: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        match shape {
            Shape::Struct(id) => self.structure(self.schema.of(*id), slot, Some(go)),
            Shape::Either(id) => self.either(self.schema.of(*id), slot),
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

    /// Decodes a value that is one of several. Go's types of this form decode it by themselves:
    /// without findings, replacing an earlier value, and an error ends the decoding. A value that
    /// is none of them is null, unless a boolean could have been meant.
    fn either(&mut self, of: &'a Type, slot: &mut Value) -> Nothing {
        let first = self.scanner.peek()?;
        *slot = Value::Null;
        let Some(field) = of.alternative(first).map(|at| &of.fields[at]) else {
            self.scanner.skip()?;
            if of.alternative(b't').is_some() {
                self.refused("boolean or JSON schema expected".to_owned());
            }
            return Ok(());
        };
        let outside = std::mem::replace(&mut self.quiet, true);
        let mistyped = self.mistyped.take();
        self.value(&field.shape, slot, GoType { field, inside: 0 })?;
        self.quiet = outside;
        if let Some(words) = std::mem::replace(&mut self.mistyped, mistyped) {
            self.refused(words);
        }
        if slot.as_array().is_some_and(Vec::is_empty) {
            *slot = Value::Null;
        }
        Ok(())
    }

    /// Decodes an array into a list, element by element into the existing ones.
    fn list(&mut self, of: &'a Shape, slot: &mut Value, go: GoType<'a>) -> Nothing {
        let byte = self.scanner.peek()?;
        if byte != b'[' {
            return self.mismatch(byte, Some(go), "");
        }
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        let Value::Array(elements) = slot else { return Ok(()) };
        self.open()?;
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
        self.open()?;
        let mut members = Map::new();
        let mut first = true;
        while let Some(key) = self.scanner.key(first)? {
            first = false;
            if members.contains_key(&*key) {
                self.find(Finding::Duplicate, &key);
            }
            let mut value = Value::Null;
            self.path.push(Step::Key(key.clone()));
            self.element(of, &mut value, go)?;
            self.path.pop();
            members.insert(key.into_owned(), value);
        }
        match slot {
            // Not `append`, which walks all existing members: a field may be repeated many times.
            Value::Object(earlier) => earlier.extend(members),
            _ => *slot = Value::Object(members),
        }
        Ok(())
    }

    /// An element of a list or map: never absent, so null becomes the zero value.
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
