//! Encodes the JSON text of an object as a message, according to the table of types.
//!
//! One pass over the text, without building a value. The fields of an object are encoded in the
//! order of the text behind what is already written; at the object's end they are put in the order
//! of their numbers, between the zero values of those that are absent, which Go writes too. Each
//! byte is thus moved once for each message around it.
//!
//! Only the syntax of a text can be wrong: a value of another type than the table's counts as absent,
//! since the decoder of the client would refuse the whole object.

use std::sync::LazyLock;

use evenkeel_store::schema::{Field, FieldNumber, Scanner, Shape, Type};

use super::{
    ProtobufError,
    message::{ITEMS, MAX_DEPTH},
    special,
    wire::{COUNTED, put_counted, put_tag, put_varint, wrap},
};
use crate::types;

/// Appends the message of a JSON object.
pub(super) fn message(of: &Type, json: &[u8], out: &mut Vec<u8>) -> Result<(), ProtobufError> {
    let mut encoder = Encoder { scanner: Scanner::new(json), out, spans: Vec::new(), depth: 0 };
    encoder.object(of)?;
    encoder.scanner.end().map_err(syntax)
}

struct Encoder<'j, 'o> {
    scanner: Scanner<'j>,
    out: &'o mut Vec<u8>,
    /// The fields of all open objects, innermost last.
    spans: Vec<Span>,
    depth: usize,
}

/// Where the value of a field is in the output, without its tag and length.
struct Span {
    /// The index of the field in its type.
    field: usize,
    start: usize,
    end: usize,
}

/// The embedded struct whose fields are being written: its number, and where it starts.
#[derive(Default)]
struct Embedded(Option<(u32, usize)>);

type Step<T = ()> = Result<T, ProtobufError>;

#[expect(clippy::needless_pass_by_value, reason = "the form of `map_err`")]
fn syntax(error: evenkeel_store::schema::DecodeError) -> ProtobufError {
    ProtobufError::Json(error.to_string())
}

// === impl Encoder ===

impl Encoder<'_, '_> {
    /// Appends the message of the object that is next in the text.
    fn object(&mut self, of: &Type) -> Step {
        if self.depth > MAX_DEPTH {
            return Err(ProtobufError::TooDeep);
        }
        self.depth += 1;
        let (start, first) = (self.out.len(), self.spans.len());
        if self.opens(b'{')? {
            let mut is_first = true;
            while let Some(key) = self.scanner.key(is_first).map_err(syntax)? {
                is_first = false;
                match of.position(&key) {
                    Some(at) if of.fields[at].number.is_some() => self.field(at, &of.fields[at])?,
                    _ => self.scanner.skip().map_err(syntax)?,
                }
            }
        }
        self.arrange(of, start, first);
        self.depth -= 1;
        Ok(())
    }

    fn field(&mut self, at: usize, field: &Field) -> Step {
        let mut is_first = true;
        match &field.shape {
            Shape::List(element) => {
                if !self.opens(b'[')? {
                    return Ok(());
                }
                while self.scanner.element(is_first).map_err(syntax)? {
                    is_first = false;
                    let start = self.out.len();
                    self.element(element)?;
                    self.spans.push(Span { field: at, start, end: self.out.len() });
                }
            }
            Shape::Map(element) => {
                if !self.opens(b'{')? {
                    return Ok(());
                }
                while let Some(key) = self.scanner.key(is_first).map_err(syntax)? {
                    is_first = false;
                    let start = self.out.len();
                    put_counted(self.out, 1, key.as_bytes());
                    self.map_value(element)?;
                    self.spans.push(Span { field: at, start, end: self.out.len() });
                }
            }
            shape => {
                let start = self.out.len();
                if self.value(shape)? {
                    self.spans.push(Span { field: at, start, end: self.out.len() });
                }
            }
        }
        Ok(())
    }

    /// Consumes the bracket if it is next, else the value that is there instead.
    fn opens(&mut self, bracket: u8) -> Step<bool> {
        if self.scanner.peek().map_err(syntax)? == bracket {
            self.scanner.open().map_err(syntax)?;
            return Ok(true);
        }
        self.scanner.skip().map_err(syntax)?;
        Ok(false)
    }

    fn map_value(&mut self, shape: &Shape) -> Step {
        let wire = wire_type(shape);
        if wire != COUNTED {
            put_tag(self.out, 2, wire);
            return self.element(shape);
        }
        let start = self.out.len();
        self.element(shape)?;
        wrap(self.out, 2, start);
        Ok(())
    }

    /// A value in a list or map, which can't be absent.
    fn element(&mut self, shape: &Shape) -> Step {
        if let Shape::List(element) = shape {
            return self.list(element);
        }
        if !self.value(shape)? {
            put_zero(self.out, shape);
        }
        Ok(())
    }

    /// A list in a list or map is a message of its own.
    fn list(&mut self, element: &Shape) -> Step {
        if !self.opens(b'[')? {
            return Ok(());
        }
        let mut is_first = true;
        while self.scanner.element(is_first).map_err(syntax)? {
            is_first = false;
            let start = self.out.len();
            self.element(element)?;
            wrap(self.out, ITEMS, start);
        }
        Ok(())
    }

    /// Appends a value without tag and length; false if it is null or of another type.
    fn value(&mut self, shape: &Shape) -> Step<bool> {
        let first = self.scanner.peek().map_err(syntax)?;
        match (shape, first) {
            (Shape::Struct(id), b'{') => self.object(types::schema().of(*id))?,
            (Shape::Any, b'n') => self.scanner.skip().map_err(syntax)?,
            (Shape::Any, _) => {
                let start = self.scanner.start().map_err(syntax)?;
                self.scanner.skip().map_err(syntax)?;
                put_counted(self.out, 1, self.scanner.since(start));
            }
            (Shape::Bool, b't' | b'f') => {
                self.scanner.skip().map_err(syntax)?;
                self.out.push(u8::from(first == b't'));
            }
            (_, b'"') => {
                let text = self.scanner.text().map_err(syntax)?;
                return Ok(special::put_text(self.out, shape, &text));
            }
            (_, b'-' | b'0'..=b'9') => {
                let number = self.scanner.number().map_err(syntax)?;
                return Ok(special::put_number(self.out, shape, number));
            }
            _ => {
                self.scanner.skip().map_err(syntax)?;
                return Ok(false);
            }
        }
        Ok(first != b'n')
    }

    /// Puts the fields of an object in the order of their numbers.
    fn arrange(&mut self, of: &Type, start: usize, first: usize) {
        let unordered = self.out.len();
        let spans = &mut self.spans[first..];
        spans.sort_by_key(|span| span.field);
        let mut embedded = Embedded::default();
        for (number, at, field) in of.by_number() {
            embedded.enter(self.out, number);
            let from = spans.partition_point(|span| span.field < at);
            let own = spans[from..].iter().take_while(|span| span.field == at);
            let mut is_absent = true;
            for span in own {
                is_absent = false;
                put_header(self.out, number.number, &field.shape, span.end - span.start);
                self.out.extend_from_within(span.start..span.end);
            }
            if is_absent {
                put_absent(self.out, number.number, field, |id| &ZEROS[id]);
            }
        }
        embedded.leave(self.out);
        self.out.drain(start..unordered);
        self.spans.truncate(first);
    }
}

// === impl Embedded ===

impl Embedded {
    /// Before a field: ends the embedded struct that it is not in.
    fn enter(&mut self, out: &mut Vec<u8>, number: FieldNumber) {
        if self.0.map(|(within, _)| within) != number.within {
            self.leave(out);
            self.0 = number.within.map(|within| (within, out.len()));
        }
    }

    fn leave(&mut self, out: &mut Vec<u8>) {
        if let Some((within, start)) = self.0.take() {
            wrap(out, within, start);
        }
    }
}

// === Zero values ===

/// The message of each type without any fields set.
static ZEROS: LazyLock<Vec<Box<[u8]>>> =
    LazyLock::new(|| types::schema().types().map(zero).collect());

fn zero(of: &Type) -> Box<[u8]> {
    let mut out = Vec::new();
    let mut embedded = Embedded::default();
    let all: Vec<&Type> = types::schema().types().collect();
    for (number, _, field) in of.by_number() {
        embedded.enter(&mut out, number);
        // A struct that is no pointer can't contain itself, so that this ends.
        put_absent(&mut out, number.number, field, |id| zero(all[id]));
    }
    embedded.leave(&mut out);
    out.into()
}

/// A field that is absent: Go writes the zero value of all but pointers, lists and maps.
fn put_absent<Z: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    number: u32,
    field: &Field,
    zero: impl FnOnce(usize) -> Z,
) {
    if field.pointer {
        return;
    }
    match &field.shape {
        Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Duration => {}
        Shape::Struct(id) => put_counted(out, number, zero(id.index()).as_ref()),
        shape => {
            let (wire, start) = (wire_type(shape), out.len());
            if wire == COUNTED {
                put_zero(out, shape);
                wrap(out, number, start);
            } else {
                put_tag(out, number, wire);
                put_zero(out, shape);
            }
        }
    }
}

/// The zero value, without tag and length.
fn put_zero(out: &mut Vec<u8>, shape: &Shape) {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => out.push(0),
        Shape::Float => out.extend([0; 8]),
        Shape::Quantity => drop(special::put_text(out, shape, "0")),
        Shape::IntOrString => drop(special::put_number(out, shape, "0")),
        Shape::Struct(id) => out.extend_from_slice(&ZEROS[id.index()]),
        _ => {}
    }
}

fn put_header(out: &mut Vec<u8>, number: u32, shape: &Shape, length: usize) {
    let shape = match shape {
        Shape::List(element) => element,
        shape => shape,
    };
    let wire = wire_type(shape);
    put_tag(out, number, wire);
    if wire == COUNTED {
        put_varint(out, length as u64);
    }
}

fn wire_type(shape: &Shape) -> u8 {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => 0,
        Shape::Float => 1,
        _ => COUNTED,
    }
}
