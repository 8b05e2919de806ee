//! The wire format: fields with a number, and a varint, fixed or length-delimited bytes. Source:
//! protobuf.dev, "Encoding". Groups are deprecated and rejected.

use super::ProtobufError;

/// One field in the bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<'a> {
    pub(super) number: u32,
    pub(super) value: Wire<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Counted(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message in order. After an error there are no more.
pub(super) fn parts(bytes: &[u8]) -> Parts<'_> {
    Parts { rest: bytes }
}

#[derive(Debug)]
pub(super) struct Parts<'a> {
    rest: &'a [u8],
}

/// Consumes a varint.
pub(super) fn varint(rest: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut value = 0_u64;
    for shift in (0..70).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(ProtobufError::Truncated("a number"))?;
        *rest = after;
        // The tenth byte has room for one bit; higher bits are dropped, as in Go.
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ProtobufError::Overflow)
}

/// The wire type of what is preceded by its length.
pub(super) const COUNTED: u8 = 2;

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// A field that is preceded by its length.
pub(super) fn put_counted(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, COUNTED);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Makes what was written since `start` a field that is preceded by its length.
pub(super) fn wrap(out: &mut Vec<u8>, number: u32, start: usize) {
    let end = out.len();
    put_tag(out, number, COUNTED);
    put_varint(out, (end - start) as u64);
    out[start..].rotate_left(end - start);
}

// === impl Parts ===

impl<'a> Parts<'a> {
    fn part(&mut self) -> Result<Part<'a>, ProtobufError> {
        let tag = varint(&mut self.rest)?;
        let wire = (tag & 7) as u8;
        let Ok(number) = u32::try_from(tag >> 3) else { return Err(ProtobufError::Overflow) };
        let value = match wire {
            0 => Wire::Varint(varint(&mut self.rest)?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Wire::Counted(self.counted()?),
            5 => Wire::Fixed32(u32::from_le_bytes(self.fixed()?)),
            _ => return Err(wrong_type("a message", number, wire)),
        };
        Ok(Part { number, value })
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], ProtobufError> {
        let (bytes, rest) =
            self.rest.split_first_chunk::<N>().ok_or(ProtobufError::Truncated("a fixed number"))?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn counted(&mut self) -> Result<&'a [u8], ProtobufError> {
        let length =
            usize::try_from(varint(&mut self.rest)?).map_err(|_| ProtobufError::Overflow)?;
        let (bytes, rest) =
            self.rest.split_at_checked(length).ok_or(ProtobufError::Truncated("a field"))?;
        self.rest = rest;
        Ok(bytes)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<Part<'a>, ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let part = self.part();
        if part.is_err() {
            self.rest = &[];
        }
        Some(part)
    }
}

// === impl Part ===

impl<'a> Part<'a> {
    pub(super) fn bytes(&self, message: &str) -> Result<&'a [u8], ProtobufError> {
        match self.value {
            Wire::Counted(bytes) => Ok(bytes),
            _ => Err(self.does_not_fit(message)),
        }
    }

    pub(super) fn text(&self, message: &str, field: &str) -> Result<&'a str, ProtobufError> {
        str::from_utf8(self.bytes(message)?).map_err(|_| ProtobufError::Utf8 {
            message: message.to_owned(),
            field: field.to_owned(),
        })
    }

    /// Integers of all widths are varints of 64 bits in two's complement.
    pub(super) fn int(&self, message: &str) -> Result<i64, ProtobufError> {
        match self.value {
            Wire::Varint(value) => Ok(value.cast_signed()),
            _ => Err(self.does_not_fit(message)),
        }
    }

    pub(super) fn float(&self, message: &str) -> Result<f64, ProtobufError> {
        match self.value {
            Wire::Fixed64(value) => Ok(f64::from_bits(value)),
            _ => Err(self.does_not_fit(message)),
        }
    }

    fn does_not_fit(&self, message: &str) -> ProtobufError {
        let wire = match self.value {
            Wire::Varint(_) => 0,
            Wire::Fixed64(_) => 1,
            Wire::Counted(_) => 2,
            Wire::Fixed32(_) => 5,
        };
        wrong_type(message, self.number, wire)
    }
}

fn wrong_type(message: &str, field: u32, wire: u8) -> ProtobufError {
    ProtobufError::WireType { message: message.to_owned(), field, wire }
}
