//! Keys and data of set elements, as the kernel's registers hold them.
//!
//! A key is the concatenation of its fields, each padded to four bytes. Addresses and ports are in
//! network byte order; indexes and the scratch value are in the byte order of the machine. So a key
//! can be sent, listed and compared without a look at its fields.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{fmt, sync::Arc};

use evenkeel_model::{Backend, Protocol};

use crate::{ChainId, Family};

/// The type of a field of a key, and of scalar data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Address,
    Protocol,
    Port,
    /// What `numgen` gives.
    Index,
    /// What `meta priority` holds: see [`crate::rule`].
    Scratch,
}

/// The key of an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    bytes: [u8; Key::LONGEST],
    len: u8,
}

/// The data of an element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Data {
    /// The element of a set, which is no map.
    None,
    Backend(Backend),
    Scratch(u32),
    Verdict(Verdict),
    /// The name of a counter.
    Counter(Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    Goto(ChainId),
    Drop,
}

// === impl Type ===

impl Type {
    /// In bytes, padded.
    pub fn width(self, family: Family) -> usize {
        match (self, family) {
            (Type::Address, Family::Ipv6) => 16,
            _ => 4,
        }
    }
}

// === impl Key ===

impl Key {
    /// Two IPv6 addresses, a protocol and a port.
    const LONGEST: usize = 40;

    pub fn new() -> Key {
        Key { bytes: [0; Key::LONGEST], len: 0 }
    }

    /// `None`: longer than any key of these rulesets.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        let mut key = Key::new();
        key.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        key.len = bytes.len() as u8;
        Some(key)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    #[must_use]
    pub fn address(self, ip: IpAddr) -> Key {
        match ip {
            IpAddr::V4(ip) => self.with(&ip.octets()),
            IpAddr::V6(ip) => self.with(&ip.octets()),
        }
    }

    #[must_use]
    pub fn protocol(self, protocol: Protocol) -> Key {
        self.protocol_number(number(protocol))
    }

    pub(crate) fn protocol_number(self, protocol: u8) -> Key {
        self.with(&[protocol, 0, 0, 0])
    }

    #[must_use]
    pub fn port(self, port: u16) -> Key {
        let [high, low] = port.to_be_bytes();
        self.with(&[high, low, 0, 0])
    }

    /// An index or a scratch value.
    #[must_use]
    pub fn number(self, number: u32) -> Key {
        self.with(&number.to_ne_bytes())
    }

    fn with(mut self, field: &[u8]) -> Key {
        let at = usize::from(self.len);
        self.bytes[at..at + field.len()].copy_from_slice(field);
        self.len += field.len() as u8;
        self
    }

    /// The fields of a key with these types, as text that `nft` reads. `None`: it has other types.
    pub fn fields(&self, types: &[Type], family: Family) -> Option<Vec<String>> {
        let mut rest = self.as_bytes();
        let mut fields = Vec::with_capacity(types.len());
        for ty in types {
            let (field, behind) = rest.split_at_checked(ty.width(family))?;
            fields.push(field_text(*ty, field)?);
            rest = behind;
        }
        rest.is_empty().then_some(fields)
    }
}

impl Default for Key {
    fn default() -> Self {
        Key::new()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The protocol's number in IP headers.
pub fn number(protocol: Protocol) -> u8 {
    match protocol {
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
        Protocol::Sctp => 132,
    }
}

/// An address in network byte order.
pub fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::V4(Ipv4Addr::from(octets)));
    }
    <[u8; 16]>::try_from(bytes).ok().map(|octets| IpAddr::V6(Ipv6Addr::from(octets)))
}

fn field_text(ty: Type, field: &[u8]) -> Option<String> {
    Some(match ty {
        Type::Address => address(field)?.to_string(),
        Type::Protocol => match field[0] {
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            132 => "sctp".to_owned(),
            other => other.to_string(),
        },
        Type::Port => u16::from_be_bytes([field[0], field[1]]).to_string(),
        Type::Index => u32::from_ne_bytes(field.try_into().ok()?).to_string(),
        Type::Scratch => scratch_text(u32::from_ne_bytes(field.try_into().ok()?)),
    })
}

/// As `nft` writes a class of traffic control.
pub(crate) fn scratch_text(number: u32) -> String {
    match number {
        0 => "none".to_owned(),
        _ => format!("{:x}:{:x}", number >> 16, number & 0xffff),
    }
}

// === impl Data ===

impl Data {
    /// As the kernel's register holds it; `None` for verdicts, counters and elements without data.
    pub fn register(&self) -> Option<Key> {
        match self {
            Data::Backend(backend) => Some(Key::new().address(backend.ip).port(backend.port)),
            Data::Scratch(number) => Some(Key::new().number(*number)),
            Data::None | Data::Verdict(_) | Data::Counter(_) => None,
        }
    }

    /// The backend in a register.
    pub fn backend(register: &[u8], family: Family) -> Option<Data> {
        let (ip, port) = register.split_at_checked(Type::Address.width(family))?;
        let port = u16::from_be_bytes([*port.first()?, *port.get(1)?]);
        Some(Data::Backend(Backend { ip: address(ip)?, port }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_their_fields_padded() {
        let ip: IpAddr = "10.0.0.1".parse().unwrap();
        let key = Key::new().address(ip).protocol(Protocol::Udp).port(53).number(7);
        assert_eq!(key.as_bytes()[..12], [10, 0, 0, 1, 17, 0, 0, 0, 0, 53, 0, 0]);
        let types = [Type::Address, Type::Protocol, Type::Port, Type::Index];
        let fields = key.fields(&types, Family::Ipv4).unwrap();
        assert_eq!(fields.join(" . "), "10.0.0.1 . udp . 53 . 7");
        assert_eq!(key.fields(&types, Family::Ipv6), None);
        assert_eq!(key.fields(&types[..3], Family::Ipv4), None);
    }

    #[test]
    fn the_longest_key_fits() {
        let ip: IpAddr = "fd00::1".parse().unwrap();
        let key = Key::new().address(ip).address(ip).protocol(Protocol::Sctp).port(65_535);
        assert_eq!(Key::from_bytes(key.as_bytes()), Some(key));
        assert_eq!(Key::from_bytes(&[0; 41]), None);
    }
}
