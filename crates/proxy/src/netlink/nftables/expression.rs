//! The expressions that rules consist of, one method each. They pass values through registers of four
//! bytes; a longer value takes several in a row.
//!
//! Numbers are those of `linux/netfilter/nf_tables.h`.

use core::fmt;

use super::super::message::{Nest, Writer};

/// A register of four bytes, of which there are 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register(u32);

#[derive(Debug, Clone, Copy)]
pub(super) enum Meta {
    Priority = 2,
    Mark = 3,
    InterfaceName = 6,
    Protocol = 16,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Ct {
    Status = 2,
    DestinationPort = 12,
    DestinationIpv4 = 20,
    DestinationIpv6 = 22,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Base {
    Network = 1,
    Transport = 2,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Dynset {
    Update { milliseconds: u64 },
    Delete,
}

/// A verdict with the chain that it leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdict<C> {
    Drop,
    Return,
    Jump(C),
    Goto(C),
}

/// Writes the expressions of one rule.
#[derive(Debug)]
pub(super) struct Expressions<'w> {
    writer: &'w mut Writer,
}

pub(super) const JUMP: u32 = -3_i32 as u32;
pub(super) const GOTO: u32 = -4_i32 as u32;
pub(super) const RETURN: u32 = -5_i32 as u32;
pub(super) const DROP: u32 = 0;

// Attributes of an element of a list, of an expression and of data.
pub(super) const LIST_ELEMENT: u16 = 1;
pub(super) const NAME: u16 = 1;
const DATA: u16 = 2;
pub(super) const DATA_VALUE: u16 = 1;
pub(super) const DATA_VERDICT: u16 = 2;
pub(super) const VERDICT_CODE: u16 = 1;
pub(super) const VERDICT_CHAIN: u16 = 2;

const VERDICT_REGISTER: u32 = 0;
const FULLY_RANDOM: u32 = 1 << 4;

// === impl Register ===

impl Register {
    pub(super) const FIRST: Register = Register(0);

    /// The register behind a value of `width` bytes in this one.
    pub(super) fn behind(self, width: usize) -> Register {
        Register(self.0 + width.div_ceil(4) as u32)
    }

    /// The next register that `nft` would give to a value of its own: those come in fours.
    pub(super) fn aligned(self) -> Register {
        Register(self.0.next_multiple_of(4))
    }

    /// As the kernel lists it: every fourth has a name from the time when registers had 16 bytes.
    fn number(self) -> u32 {
        if self.0.is_multiple_of(4) { 1 + self.0 / 4 } else { 8 + self.0 }
    }
}

// === impl Expressions ===

impl<'w> Expressions<'w> {
    pub(super) fn new(writer: &'w mut Writer) -> Self {
        Self { writer }
    }

    pub(super) fn payload(&mut self, base: Base, offset: u32, length: u32, to: Register) {
        self.add("payload", |writer| {
            writer.be32(1, to.number());
            writer.be32(2, base as u32);
            writer.be32(3, offset);
            writer.be32(4, length);
        });
    }

    pub(super) fn meta(&mut self, key: Meta, to: Register) {
        self.add("meta", |writer| {
            writer.be32(2, key as u32);
            writer.be32(1, to.number());
        });
    }

    pub(super) fn set_meta(&mut self, key: Meta, from: Register) {
        self.add("meta", |writer| {
            writer.be32(2, key as u32);
            writer.be32(3, from.number());
        });
    }

    pub(super) fn ct(&mut self, key: Ct, to: Register) {
        self.add("ct", |writer| {
            writer.be32(2, key as u32);
            writer.be32(1, to.number());
            if !matches!(key, Ct::Status) {
                // Of the original direction.
                writer.u8(3, 0);
            }
        });
    }

    pub(super) fn compare(&mut self, from: Register, equal: bool, value: &[u8]) {
        self.add("cmp", |writer| {
            writer.be32(1, from.number());
            writer.be32(2, u32::from(!equal));
            value_attribute(writer, 3, value);
        });
    }

    /// Both operands are as long as the value in the register.
    pub(super) fn mask_and_xor(&mut self, register: Register, mask: &[u8], xor: &[u8]) {
        self.add("bitwise", |writer| {
            writer.be32(1, register.number());
            writer.be32(2, register.number());
            writer.be32(3, mask.len() as u32);
            writer.be32(6, 0);
            value_attribute(writer, 4, mask);
            value_attribute(writer, 5, xor);
        });
    }

    pub(super) fn immediate(&mut self, to: Register, value: &[u8]) {
        self.add("immediate", |writer| {
            writer.be32(1, to.number());
            value_attribute(writer, 2, value);
        });
    }

    pub(super) fn verdict(&mut self, verdict: Verdict<impl fmt::Display>) {
        self.add("immediate", |writer| {
            writer.be32(1, VERDICT_REGISTER);
            verdict_attribute(writer, 2, verdict);
        });
    }

    /// Matches if the set has the key, or has not.
    pub(super) fn is_in(&mut self, set: &str, key: Register, is_in: bool) {
        self.add("lookup", |writer| {
            writer.string(1, set);
            writer.be32(2, key.number());
            if !is_in {
                writer.be32(5, 1);
            }
        });
    }

    pub(super) fn map(&mut self, map: &str, key: Register, to: Register) {
        self.lookup(map, key, to.number());
    }

    pub(super) fn verdict_map(&mut self, map: &str, key: Register) {
        self.lookup(map, key, VERDICT_REGISTER);
    }

    pub(super) fn dynset(&mut self, map: &str, op: Dynset, key: Register, data: Register) {
        self.add("dynset", |writer| {
            writer.be32(4, key.number());
            writer.be32(5, data.number());
            match op {
                Dynset::Update { milliseconds } => {
                    writer.be32(3, 1);
                    writer.be64(6, milliseconds);
                }
                Dynset::Delete => writer.be32(3, 2),
            }
            writer.string(1, map);
        });
    }

    pub(super) fn object_map(&mut self, map: &str, key: Register) {
        self.add("objref", |writer| {
            writer.be32(3, key.number());
            writer.string(4, map);
        });
    }

    pub(super) fn random(&mut self, modulus: u32, offset: u32, to: Register) {
        self.add("numgen", |writer| {
            writer.be32(1, to.number());
            writer.be32(2, modulus);
            writer.be32(3, 1);
            writer.be32(4, offset);
        });
    }

    pub(super) fn jhash(&mut self, from: Register, length: usize, by: (u32, u32), to: Register) {
        let (modulus, seed) = by;
        self.add("hash", |writer| {
            writer.be32(1, from.number());
            writer.be32(2, to.number());
            writer.be32(3, length as u32);
            writer.be32(4, modulus);
            writer.be32(5, seed);
            writer.be32(7, 0);
        });
    }

    /// What kind of address the source is, as `RTN_*`.
    pub(super) fn source_type(&mut self, to: Register) {
        self.add("fib", |writer| {
            writer.be32(1, to.number());
            writer.be32(2, 3);
            writer.be32(3, 1);
        });
    }

    pub(super) fn translate(&mut self, family: u8, address: Register, port: Register) {
        self.add("nat", |writer| {
            writer.be32(1, 1);
            writer.be32(2, family.into());
            writer.be32(3, address.number());
            writer.be32(5, port.number());
        });
    }

    pub(super) fn masquerade(&mut self) {
        self.add("masq", |writer| writer.be32(1, FULLY_RANDOM));
    }

    /// Answers with "port unreachable", whose code differs by family.
    pub(super) fn reject(&mut self, code: u8) {
        self.add("reject", |writer| {
            writer.be32(1, 0);
            writer.u8(2, code);
        });
    }

    /// `NFT_REJECT_TCP_RST`.
    pub(super) fn reset(&mut self) {
        self.add("reject", |writer| writer.be32(1, 1));
    }

    fn lookup(&mut self, map: &str, key: Register, to: u32) {
        self.add("lookup", |writer| {
            writer.string(1, map);
            writer.be32(2, key.number());
            writer.be32(3, to);
        });
    }

    fn add(&mut self, name: &str, write: impl FnOnce(&mut Writer)) {
        let expression: Nest = self.writer.nest(LIST_ELEMENT);
        self.writer.string(NAME, name);
        let data = self.writer.nest(DATA);
        write(self.writer);
        self.writer.end_nest(data);
        self.writer.end_nest(expression);
    }
}

pub(super) fn value_attribute(writer: &mut Writer, kind: u16, value: &[u8]) {
    let nest = writer.nest(kind);
    writer.bytes(DATA_VALUE, value);
    writer.end_nest(nest);
}

pub(super) fn verdict_attribute(
    writer: &mut Writer,
    kind: u16,
    verdict: Verdict<impl fmt::Display>,
) {
    let (code, chain) = match verdict {
        Verdict::Drop => (DROP, None),
        Verdict::Return => (RETURN, None),
        Verdict::Jump(chain) => (JUMP, Some(chain)),
        Verdict::Goto(chain) => (GOTO, Some(chain)),
    };
    let data = writer.nest(kind);
    let nest = writer.nest(DATA_VERDICT);
    writer.be32(VERDICT_CODE, code);
    if let Some(chain) = chain {
        writer.display(VERDICT_CHAIN, &chain);
    }
    writer.end_nest(nest);
    writer.end_nest(data);
}
