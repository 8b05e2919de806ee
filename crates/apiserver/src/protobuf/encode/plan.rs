//! What the encoder knows of each type beforehand: the order of its fields, and what is written for
//! those that are absent.

use std::sync::LazyLock;

use evenkeel_store::schema::{Field, FieldNumber, Shape, Type};

use super::super::{
    special,
    wire::{COUNTED, put_counted, put_tag, wrap},
};
use crate::types;

/// The message of a type.
pub(super) struct Plan {
    /// In the order of numbers.
    slots: Vec<Slot>,
    /// The position in `slots` of each field of the type.
    ranks: Vec<Option<usize>>,
    /// The message without any fields set.
    zero: Vec<u8>,
}

/// A field of a message.
pub(super) struct Slot {
    pub(super) number: FieldNumber,
    pub(super) wire: u8,
    /// What is written if it is absent.
    pub(super) absent: Box<[u8]>,
}

/// The embedded struct whose fields are being written: its number, and where it starts.
#[derive(Default)]
pub(super) struct Embedded(Option<(u32, usize)>);

pub(super) fn plan(of: &Type) -> &'static Plan {
    static PLANS: LazyLock<Vec<Plan>> =
        LazyLock::new(|| types::schema().types().map(Plan::new).collect());
    &PLANS[of.id.index()]
}

// === impl Plan ===

impl Plan {
    fn new(of: &Type) -> Plan {
        let mut plan =
            Plan { slots: Vec::new(), ranks: vec![None; of.fields.len()], zero: Vec::new() };
        let mut embedded = Embedded::default();
        for (rank, (number, at, field)) in of.by_number().enumerate() {
            let absent = absent(number.number, field);
            embedded.enter(&mut plan.zero, number);
            plan.zero.extend_from_slice(&absent);
            let shape = match &field.shape {
                Shape::List(element) => element,
                shape => shape,
            };
            plan.slots.push(Slot { number, wire: wire_type(shape), absent: absent.into() });
            plan.ranks[at] = Some(rank);
        }
        embedded.leave(&mut plan.zero);
        plan
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The position of a field in the message.
    pub(super) fn rank(&self, field: usize) -> Option<usize> {
        self.ranks[field]
    }
}

// === impl Embedded ===

impl Embedded {
    /// Before a field: ends the embedded struct that it is not in.
    pub(super) fn enter(&mut self, out: &mut Vec<u8>, number: FieldNumber) {
        if self.0.map(|(within, _)| within) != number.within {
            self.leave(out);
            self.0 = number.within.map(|within| (within, out.len()));
        }
    }

    pub(super) fn leave(&mut self, out: &mut Vec<u8>) {
        if let Some((within, start)) = self.0.take() {
            wrap(out, within, start);
        }
    }
}

/// Go writes the zero value of all but pointers, lists and maps.
fn absent(number: u32, field: &Field) -> Vec<u8> {
    let mut out = Vec::new();
    if field.pointer {
        return out;
    }
    match &field.shape {
        Shape::List(_) | Shape::Map(_) | Shape::Bytes | Shape::Duration => {}
        // A struct that is no pointer can't contain itself, so that this ends.
        Shape::Struct(id) => {
            put_counted(&mut out, number, &Plan::new(types::schema().of(*id)).zero);
        }
        shape => {
            let wire = wire_type(shape);
            if wire != COUNTED {
                put_tag(&mut out, number, wire);
            }
            put_zero(&mut out, shape);
            if wire == COUNTED {
                wrap(&mut out, number, 0);
            }
        }
    }
    out
}

/// The zero value, without tag and length.
pub(super) fn put_zero(out: &mut Vec<u8>, shape: &Shape) {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => out.push(0),
        Shape::Float => out.extend([0; 8]),
        Shape::Quantity => _ = special::put_text(out, shape, "0"),
        Shape::IntOrString => _ = special::put_number(out, shape, "0"),
        Shape::Struct(id) => out.extend_from_slice(&plan(types::schema().of(*id)).zero),
        _ => {}
    }
}

pub(super) fn wire_type(shape: &Shape) -> u8 {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => 0,
        Shape::Float => 1,
        _ => COUNTED,
    }
}
