//! Encodes the JSON text of an object as a message, according to the table of types.
//!
//! One pass over the text, without building a value. The fields of an object are encoded in the
//! order of the text behind what is already written; at the object's end they are put in the order
//! of their numbers, between the zero values of those that are absent, which Go writes too. Each
//! byte is thus moved once for each message around it.
//!
//! Only the syntax of a text can be wrong: a value of another type than the table's counts as absent,
//! since the decoder of the client would refuse the whole object.

mod plan;

use evenkeel_store::schema::{Field, Scanner, Shape, Type};

use self::plan::{Embedded, Plan, plan, put_zero, wire_type};
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
    Ok(encoder.scanner.end()?)
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
    /// The position of the field in the message.
    rank: usize,
    start: usize,
    end: usize,
}

type Step<T = ()> = Result<T, ProtobufError>;

// === impl Encoder ===

impl Encoder<'_, '_> {
    /// Appends the message of the object that is next in the text.
    fn object(&mut self, of: &Type) -> Step {
        if self.depth > MAX_DEPTH {
            return Err(ProtobufError::TooDeep);
        }
        self.depth += 1;
        let (start, first, plan) = (self.out.len(), self.spans.len(), plan(of));
        if self.opens(b'{')? {
            let mut is_first = true;
            while let Some(key) = self.scanner.key(is_first)? {
                is_first = false;
                match of.position(&key).and_then(|at| Some((plan.rank(at)?, &of.fields[at]))) {
                    Some((rank, field)) => self.field(rank, field)?,
                    None => self.scanner.skip()?,
                }
            }
        }
        self.arrange(plan, start, first);
        self.depth -= 1;
        Ok(())
    }

    fn field(&mut self, rank: usize, field: &Field) -> Step {
        let mut is_first = true;
        match &field.shape {
            Shape::List(element) => {
                if !self.opens(b'[')? {
                    return Ok(());
                }
                while self.scanner.element(is_first)? {
                    is_first = false;
                    let start = self.out.len();
                    self.element(element)?;
                    self.spans.push(Span { rank, start, end: self.out.len() });
                }
            }
            Shape::Map(element) => {
                if !self.opens(b'{')? {
                    return Ok(());
                }
                while let Some(key) = self.scanner.key(is_first)? {
                    is_first = false;
                    let start = self.out.len();
                    put_counted(self.out, 1, key.as_bytes());
                    self.map_value(element)?;
                    self.spans.push(Span { rank, start, end: self.out.len() });
                }
            }
            shape => {
                let start = self.out.len();
                if self.value(shape)? {
                    self.spans.push(Span { rank, start, end: self.out.len() });
                }
            }
        }
        Ok(())
    }

    /// Consumes the bracket if it is next, else the value that is there instead.
    fn opens(&mut self, bracket: u8) -> Step<bool> {
        if self.scanner.peek()? == bracket {
            self.scanner.open()?;
            return Ok(true);
        }
        self.scanner.skip()?;
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
        while self.scanner.element(is_first)? {
            is_first = false;
            let start = self.out.len();
            self.element(element)?;
            wrap(self.out, ITEMS, start);
        }
        Ok(())
    }

    /// Appends a value without tag and length; false if it is null or of another type.
    fn value(&mut self, shape: &Shape) -> Step<bool> {
        let first = self.scanner.peek()?;
        match (shape, first) {
            (Shape::Struct(id), b'{') => self.object(types::schema().of(*id))?,
            (Shape::Either(id), _) => return self.either(types::schema().of(*id)),
            (Shape::Any, b'n') => self.scanner.skip()?,
            (Shape::Any, _) => {
                let start = self.scanner.start()?;
                self.scanner.skip()?;
                put_counted(self.out, 1, self.scanner.since(start));
            }
            (Shape::Bool, b't' | b'f') => {
                self.scanner.skip()?;
                self.out.push(u8::from(first == b't'));
            }
            (_, b'"') => {
                let text = self.scanner.text()?;
                return Ok(special::put_text(self.out, shape, &text));
            }
            (_, b'-' | b'0'..=b'9') => {
                let number = self.scanner.number()?;
                return Ok(special::put_number(self.out, shape, number));
            }
            _ => {
                self.scanner.skip()?;
                return Ok(false);
            }
        }
        Ok(first != b'n')
    }

    /// Appends the message of a struct with one field set; false if the value fits none.
    fn either(&mut self, of: &Type) -> Step<bool> {
        let Some(at) = of.alternative(self.scanner.peek()?) else {
            self.scanner.skip()?;
            return Ok(false);
        };
        let (start, first, plan) = (self.out.len(), self.spans.len(), plan(of));
        if let Some(rank) = plan.rank(at) {
            self.field(rank, &of.fields[at])?;
        }
        // Where a schema is given, values are allowed.
        let flag = of.alternative(b't').filter(|flag| *flag != at);
        if let Some(rank) = flag.and_then(|flag| plan.rank(flag)) {
            let start = self.out.len();
            self.out.push(1);
            self.spans.push(Span { rank, start, end: self.out.len() });
        }
        self.arrange(plan, start, first);
        Ok(true)
    }

    /// Puts the fields of an object in the order of their numbers.
    fn arrange(&mut self, plan: &Plan, start: usize, first: usize) {
        let unordered = self.out.len();
        self.spans[first..].sort_by_key(|span| span.rank);
        let mut spans = self.spans[first..].iter().peekable();
        let mut embedded = Embedded::default();
        for (rank, slot) in plan.slots().iter().enumerate() {
            embedded.enter(self.out, slot.number);
            if spans.peek().is_none_or(|span| span.rank != rank) {
                self.out.extend_from_slice(&slot.absent);
            }
            while let Some(span) = spans.next_if(|span| span.rank == rank) {
                put_tag(self.out, slot.number.number, slot.wire);
                if slot.wire == COUNTED {
                    put_varint(self.out, (span.end - span.start) as u64);
                }
                self.out.extend_from_within(span.start..span.end);
            }
        }
        embedded.leave(self.out);
        self.out.drain(start..unordered);
        self.spans.truncate(first);
    }
}
