//! Writes netlink messages: headers, and attributes nested in attributes.
//!
//! Lengths are filled in when a message or a nest ends. Integers in netlink headers are in the
//! machine's byte order; nftables and conntrack attributes are big-endian, route attributes are not.

use core::fmt;
use std::io::Write as _;

use super::{Error, Result};

/// `struct nlmsghdr`.
pub const HEADER: usize = 16;

/// The largest payload that an attribute's 16-bit length can say.
pub const MAX_PAYLOAD: usize = u16::MAX as usize - ATTRIBUTE_HEADER;

/// Flags of `nlmsghdr`, from `linux/netlink.h`.
pub mod flags {
    pub const REQUEST: u16 = 0x1;
    pub const MULTI: u16 = 0x2;
    pub const ACK: u16 = 0x4;
    pub const ECHO: u16 = 0x8;
    pub const DUMP_INTR: u16 = 0x10;
    pub const DUMP: u16 = 0x300;
    pub const EXCL: u16 = 0x200;
    pub const CREATE: u16 = 0x400;
    pub const APPEND: u16 = 0x800;
}

pub(crate) const ATTRIBUTE_HEADER: usize = 4;
pub(crate) const NESTED: u16 = 1 << 15;

/// Messages of one `sendmsg`. A length that overflows is remembered and reported by `finish`.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    too_long: Option<u16>,
}

/// An open message: where it starts.
#[derive(Debug)]
#[must_use = "a message without an end has no length"]
pub struct OpenMessage(usize);

/// An open nested attribute: where it starts.
#[derive(Debug)]
#[must_use = "a nest without an end has no length"]
pub struct Nest(usize);

// === impl Writer ===

impl Writer {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), too_long: None }
    }

    /// The bytes written so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn finish(self) -> Result<Vec<u8>> {
        match self.too_long {
            Some(kind) => Err(Error::AttributeTooLong { kind }),
            None => Ok(self.bytes),
        }
    }

    pub fn begin(&mut self, kind: u16, flags: u16, sequence: u32) -> OpenMessage {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        self.bytes.extend_from_slice(&sequence.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        OpenMessage(start)
    }

    /// A message of a netfilter subsystem: its header is followed by `struct nfgenmsg`.
    pub fn begin_netfilter(
        &mut self,
        (subsystem, kind): (u8, u8),
        flags: u16,
        sequence: u32,
        (family, resource): (u8, u16),
    ) -> OpenMessage {
        let message = self.begin(u16::from_be_bytes([subsystem, kind]), flags, sequence);
        self.bytes.extend_from_slice(&[family, 0]);
        self.bytes.extend_from_slice(&resource.to_be_bytes());
        message
    }

    pub fn end(&mut self, OpenMessage(start): OpenMessage) {
        // A message is at most a few attributes of 64 KB each.
        let length = u32::try_from(self.bytes.len() - start).unwrap_or(u32::MAX);
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Sets a further flag of the message that starts at byte `start`.
    pub fn add_flags(&mut self, start: usize, flags: u16) {
        let old = u16::from_ne_bytes([self.bytes[start + 6], self.bytes[start + 7]]);
        self.bytes[start + 6..start + 8].copy_from_slice(&(old | flags).to_ne_bytes());
    }

    /// Bytes that are no attribute, such as a family's own header.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.pad();
    }

    pub fn nest(&mut self, kind: u16) -> Nest {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0, 0]);
        self.bytes.extend_from_slice(&(kind | NESTED).to_ne_bytes());
        Nest(start)
    }

    pub fn end_nest(&mut self, Nest(start): Nest) {
        let kind = u16::from_ne_bytes([self.bytes[start + 2], self.bytes[start + 3]]) & !NESTED;
        let length = self.length(kind, self.bytes.len() - start);
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }

    pub fn bytes(&mut self, kind: u16, payload: &[u8]) {
        let length = self.length(kind, ATTRIBUTE_HEADER + payload.len());
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(payload);
        self.pad();
    }

    /// A string with its terminating zero.
    pub fn string(&mut self, kind: u16, text: &str) {
        let length = self.length(kind, ATTRIBUTE_HEADER + text.len() + 1);
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.pad();
    }

    /// As `string`, of what is shown as text.
    pub fn display(&mut self, kind: u16, shown: &impl fmt::Display) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        write!(self.bytes, "{shown}").expect("a vector takes all that is written");
        self.bytes.push(0);
        let length = self.length(kind, self.bytes.len() - start);
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.pad();
    }

    /// An attribute without payload.
    pub fn flag(&mut self, kind: u16) {
        self.bytes(kind, &[]);
    }

    pub fn u8(&mut self, kind: u16, value: u8) {
        self.bytes(kind, &[value]);
    }

    pub fn be16(&mut self, kind: u16, value: u16) {
        self.bytes(kind, &value.to_be_bytes());
    }

    pub fn be32(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_be_bytes());
    }

    pub fn be64(&mut self, kind: u16, value: u64) {
        self.bytes(kind, &value.to_be_bytes());
    }

    fn pad(&mut self) {
        let padded = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(padded, 0);
    }

    fn length(&mut self, kind: u16, length: usize) -> u16 {
        u16::try_from(length).unwrap_or_else(|_| {
            self.too_long.get_or_insert(kind);
            u16::MAX
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::attribute::Attributes, *};

    #[test]
    fn nested_attributes_read_back() {
        let mut writer = Writer::default();
        let message = writer.begin_netfilter((10, 3), flags::REQUEST, 7, (2, 0x0102));
        let outer = writer.nest(1);
        writer.be32(2, 0xdead_beef);
        writer.string(3, "abc");
        writer.end_nest(outer);
        writer.u8(4, 9);
        writer.end(message);
        let bytes = writer.finish().unwrap();

        assert_eq!(u32::from_ne_bytes(bytes[..4].try_into().unwrap()), bytes.len() as u32);
        assert_eq!(u16::from_ne_bytes([bytes[4], bytes[5]]), 0x0a03);
        assert_eq!(bytes[16..20], [2, 0, 1, 2]);
        let attributes: Vec<_> = Attributes::new(&bytes[20..]).map(Result::unwrap).collect();
        assert_eq!(attributes.len(), 2);
        let inner: Vec<_> = attributes[0].nested().map(Result::unwrap).collect();
        assert_eq!(inner[0].be32().unwrap(), 0xdead_beef);
        assert_eq!(inner[1].string().unwrap(), "abc");
        assert_eq!(attributes[1].u8().unwrap(), 9);
    }

    #[test]
    fn a_payload_beyond_the_length_field_is_an_error() {
        let mut writer = Writer::default();
        writer.bytes(5, &vec![0; MAX_PAYLOAD]);
        writer.bytes(6, &vec![0; MAX_PAYLOAD + 1]);
        assert_eq!(writer.finish(), Err(Error::AttributeTooLong { kind: 6 }));

        let mut writer = Writer::default();
        let nest = writer.nest(8);
        writer.bytes(1, &vec![0; 40_000]);
        writer.bytes(1, &vec![0; 40_000]);
        writer.end_nest(nest);
        assert_eq!(writer.finish(), Err(Error::AttributeTooLong { kind: 8 }));
    }
}
