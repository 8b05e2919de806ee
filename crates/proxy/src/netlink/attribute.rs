//! Reads what the kernel sends: messages in a datagram, attributes in a message. Every length is
//! checked; what does not fit is an error, never a panic.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    Error, Result,
    message::{ATTRIBUTE_HEADER, HEADER, NESTED},
};

/// A message of a datagram.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub kind: u16,
    pub flags: u16,
    pub sequence: u32,
    pub payload: &'a [u8],
}

/// The messages of a datagram.
#[derive(Debug, Clone)]
pub struct Messages<'a>(&'a [u8]);

/// An attribute; `kind` is without its flags.
#[derive(Debug, Clone, Copy)]
pub struct Attribute<'a> {
    pub kind: u16,
    pub payload: &'a [u8],
    /// It says that it holds attributes. Not all of the kernel's that do say so.
    pub is_nest: bool,
}

/// The attributes of a message or of a nest.
#[derive(Debug, Clone)]
pub struct Attributes<'a>(&'a [u8]);

// The two highest bits say "nested" and "network byte order".
const KIND: u16 = 0x3fff;

// === impl Message ===

impl<'a> Message<'a> {
    /// The family and the attributes of a netfilter message, which follow `struct nfgenmsg`.
    pub fn netfilter(&self) -> Result<(u8, Attributes<'a>)> {
        match self.payload {
            [family, _, _, _, attributes @ ..] => Ok((*family, Attributes::new(attributes))),
            _ => Err(Error::Malformed("nfgenmsg")),
        }
    }
}

// === impl Messages ===

impl<'a> Messages<'a> {
    pub fn new(datagram: &'a [u8]) -> Self {
        Self(datagram)
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = core::mem::take(&mut self.0);
        let Some((header, _)) = bytes.split_first_chunk::<HEADER>() else {
            return Some(Err(Error::Malformed("message header")));
        };
        let [l0, l1, l2, l3, k0, k1, f0, f1, s0, s1, s2, s3, ..] = *header;
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let Some(payload) = bytes.get(HEADER..length) else {
            return Some(Err(Error::Malformed("message length")));
        };
        self.0 = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Message {
            kind: u16::from_ne_bytes([k0, k1]),
            flags: u16::from_ne_bytes([f0, f1]),
            sequence: u32::from_ne_bytes([s0, s1, s2, s3]),
            payload,
        }))
    }
}

// === impl Attributes ===

impl<'a> Attributes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let bytes = core::mem::take(&mut self.0);
        let Some(([l0, l1, k0, k1], _)) = bytes.split_first_chunk::<ATTRIBUTE_HEADER>() else {
            return Some(Err(Error::Malformed("attribute header")));
        };
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let Some(payload) = bytes.get(ATTRIBUTE_HEADER..length) else {
            return Some(Err(Error::Malformed("attribute length")));
        };
        // The last attribute's padding may be missing.
        self.0 = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        let kind = u16::from_ne_bytes([*k0, *k1]);
        Some(Ok(Attribute { kind: kind & KIND, payload, is_nest: kind & NESTED != 0 }))
    }
}

// === impl Attribute ===

impl<'a> Attribute<'a> {
    pub fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.payload)
    }

    pub fn u8(&self) -> Result<u8> {
        self.array().map(u8::from_be_bytes)
    }

    pub fn be16(&self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn be32(&self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn be64(&self) -> Result<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A number in the machine's byte order, as route attributes have it.
    pub fn ne32(&self) -> Result<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    /// Text up to its terminating zero.
    pub fn string(&self) -> Result<&'a str> {
        let text = self.payload.split(|byte| *byte == 0).next().unwrap_or_default();
        core::str::from_utf8(text).map_err(|_| Error::Malformed("string"))
    }

    /// An address, whose length says its family.
    pub fn address(&self) -> Result<IpAddr> {
        if let Ok(octets) = self.array::<4>() {
            return Ok(Ipv4Addr::from(octets).into());
        }
        self.array::<16>().map(|octets| Ipv6Addr::from(octets).into())
    }

    fn array<const N: usize>(&self) -> Result<[u8; N]> {
        self.payload.try_into().map_err(|_| Error::Malformed("attribute size"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads nests in nests, as far as the bytes allow it.
    fn walk(attributes: Attributes<'_>, depth: usize) -> usize {
        let read = attributes.map_while(Result::ok).take(10_000);
        read.map(|attribute| {
            let _ = (attribute.u8(), attribute.be16(), attribute.be32(), attribute.be64());
            let _ = (attribute.string(), attribute.address(), attribute.ne32());
            1 + if depth > 0 { walk(attribute.nested(), depth - 1) } else { 0 }
        })
        .sum()
    }

    proptest! {
        #[test]
        fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for message in Messages::new(&bytes).map_while(Result::ok) {
                walk(Attributes::new(message.payload), 3);
            }
            prop_assert!(walk(Attributes::new(&bytes), 3) <= bytes.len() * 4);
        }

        /// Small lengths, so that most bytes are read as attributes.
        #[test]
        fn random_attributes_are_read_or_refused(
            parts in prop::collection::vec((0_u16..40, any::<u16>(), any::<[u8; 8]>()), 0..30),
        ) {
            let bytes: Vec<u8> = parts
                .iter()
                .flat_map(|(length, kind, rest)| {
                    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), rest].concat()
                })
                .collect();
            prop_assert!(walk(Attributes::new(&bytes), 3) <= bytes.len() * 4);
        }
    }

    #[test]
    fn lengths_beyond_the_end_and_below_the_header_are_errors() {
        for bytes in [&[8, 0, 1, 0, 1, 2][..], &[3, 0, 1, 0], &[0, 0, 1, 0], &[4, 0, 1]] {
            let last = Attributes::new(bytes).last();
            assert!(matches!(last, Some(Err(Error::Malformed(_)))), "{bytes:?}: {last:?}");
        }
        let short = [12_u32.to_ne_bytes(), [0; 4], [0; 4], [0; 4]].concat();
        assert!(Messages::new(&short).next().is_some_and(|message| message.is_err()));
    }
}
