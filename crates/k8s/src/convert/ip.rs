//! IP addresses as Kubernetes reads them.

use std::{fmt::Write, net::IpAddr};

use evenkeel_model::Cidr;

/// Reads an address as Kubernetes' `ParseIPSloppy` does: octets of IPv4 may have leading zeros and
/// are decimal all the same, and an IPv6 address that maps an IPv4 one is that IPv4 one.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(ip.to_canonical());
    }
    let dotted = text.rfind(':').map_or(0, |colon| colon + 1);
    let mut plain = text[..dotted].to_owned();
    for (index, octet) in text[dotted..].split('.').enumerate() {
        let digits = octet.trim_start_matches('0');
        let is_number = !octet.is_empty() && octet.bytes().all(|b| b.is_ascii_digit());
        if index > 3 || digits.len() > 3 || !is_number {
            return None;
        }
        let value = if digits.is_empty() { "0" } else { digits };
        let dot = if index == 0 { "" } else { "." };
        write!(plain, "{dot}{value}").expect("writing to a String does not fail");
    }
    plain.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Reads a range of addresses such as `10.0.0.0/8`.
pub fn parse_cidr(text: &str) -> Option<Cidr> {
    let (ip, prefix) = text.split_once('/')?;
    let is_number = prefix.bytes().all(|b| b.is_ascii_digit());
    Cidr::new(parse_ip(ip)?, prefix.parse().ok().filter(|_| is_number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_leniently_as_kubernetes_does() {
        let cases = [
            ("10.0.0.1", Some("10.0.0.1")),
            ("010.000.00.0001", Some("10.0.0.1")),
            ("08.09.0.255", Some("8.9.0.255")),
            ("fd00::1", Some("fd00::1")),
            ("FD00:0:0::0001", Some("fd00::1")),
            ("::ffff:10.0.0.1", Some("10.0.0.1")),
            ("::ffff:010.0.0.01", Some("10.0.0.1")),
            ("", None),
            ("10.0.0", None),
            ("10.0.0.1.2", None),
            ("10.0.0.256", None),
            ("10.0..1", None),
            ("10.0.0.+1", None),
            ("0x0a.0.0.1", None),
            (" 10.0.0.1", None),
            ("10.0.0.1 ", None),
            ("10.0.0.1/24", None),
            ("fe80::1%eth0", None),
            ("[::1]", None),
            ("banana", None),
        ];
        for (text, expected) in cases {
            let expected = expected.map(|ip| ip.parse::<IpAddr>().unwrap());
            assert_eq!(parse_ip(text), expected, "{text}");
        }
    }
}
