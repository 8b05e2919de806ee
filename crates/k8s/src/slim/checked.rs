//! Values that must make sense, or else the problem with them. These follow
//! [`convert`](crate::convert) word for word; a test holds the two together.

use evenkeel_model::{Address, AddressType, Protocol};

use crate::{convert::parse_ip, excerpt};

pub(super) fn address_type(name: &str) -> Result<AddressType, String> {
    match name {
        "IPv4" => Ok(AddressType::IPv4),
        "IPv6" => Ok(AddressType::IPv6),
        "FQDN" => Ok(AddressType::Fqdn),
        other => Err(unexpected(other, "an address type; expected IPv4, IPv6 or FQDN")),
    }
}

pub(super) fn address(kind: AddressType, text: &str) -> Result<Address, String> {
    if kind == AddressType::Fqdn {
        return Ok(Address::Name(text.into()));
    }
    match (kind, parse_ip(text)) {
        (AddressType::IPv4, Some(ip)) if ip.is_ipv4() => Ok(Address::Ip(ip)),
        (AddressType::IPv6, Some(ip)) if ip.is_ipv6() => Ok(Address::Ip(ip)),
        (other, _) => Err(unexpected(text, &format!("an {other} address"))),
    }
}

pub(super) fn port(number: i32) -> Result<u16, String> {
    match u16::try_from(number) {
        Ok(port) if port != 0 => Ok(port),
        _ => Err(format!("{number} is not a port; expected a number from 1 to 65535")),
    }
}

pub(super) fn protocol(name: &str) -> Result<Protocol, String> {
    match name {
        "" | "TCP" => Ok(Protocol::Tcp),
        "UDP" => Ok(Protocol::Udp),
        "SCTP" => Ok(Protocol::Sctp),
        other => Err(unexpected(other, "a protocol; expected TCP, UDP or SCTP")),
    }
}

fn unexpected(found: &str, expected: &str) -> String {
    format!("{} is not {expected}", excerpt::quoted(found))
}
