//! The notation of addresses, in strict fields and in those that predate strict validation.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/ip.go`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address in a field that has always been strict: valid and in canonical form.
pub(crate) fn ip(value: &str) -> Vec<String> {
    let wrong = legacy_ip(value);
    if !wrong.is_empty() {
        return wrong;
    }
    let canonical = sloppy_ip(value).map(|ip| ip.to_string()).unwrap_or_default();
    if value == canonical {
        return Vec::new();
    }
    vec![format!("must be in canonical form ({canonical:?})")]
}

/// An address in an older field: need not be in canonical form.
pub(crate) fn legacy_ip(value: &str) -> Vec<String> {
    let Some(_) = sloppy_ip(value) else {
        return vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()];
    };
    match value.parse::<IpAddr>() {
        Err(_) => vec!["must not have leading 0s".to_owned()],
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            vec!["must not be an IPv4-mapped IPv6 address".to_owned()]
        }
        Ok(_) => Vec::new(),
    }
}

/// A network (`10.0.0.0/8`); need not be in canonical form.
pub(crate) fn legacy_cidr(value: &str) -> Vec<String> {
    let Some((ip, prefix)) = sloppy_cidr(value) else {
        return vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()];
    };
    let (address, length) = value.split_once('/').unwrap_or((value, ""));
    let message = match address.parse::<IpAddr>() {
        Err(_) => Some("must not have leading 0s in IP or prefix length"),
        Ok(_) if length.len() > 1 && length.starts_with('0') => {
            Some("must not have leading 0s in IP or prefix length")
        }
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            Some("must not have an IPv4-mapped IPv6 address")
        }
        Ok(_) if ip != masked(ip, prefix) => {
            Some("must not have bits set beyond the prefix length")
        }
        Ok(_) => None,
    };
    message.map(str::to_owned).into_iter().collect()
}

/// An address as Kubernetes has always parsed it: leading zeros are allowed, and an IPv4-mapped
/// IPv6 address is the IPv4 address.
pub(crate) fn sloppy_ip(value: &str) -> Option<IpAddr> {
    if !value.contains(':') {
        return sloppy_ipv4(value).map(IpAddr::V4);
    }
    let groups: Option<Vec<String>> = value
        .split(':')
        .map(|group| match group.contains('.') {
            true => sloppy_ipv4(group).map(|ip| ip.to_string()),
            false if group.len() > 4 => {
                let short = group.trim_start_matches('0');
                Some(if short.is_empty() { "0".to_owned() } else { short.to_owned() })
            }
            false => Some(group.to_owned()),
        })
        .collect();
    let ip: Ipv6Addr = groups?.join(":").parse().ok()?;
    Some(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4))
}

fn sloppy_ipv4(value: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = value.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let short = part.trim_start_matches('0');
        *octet = if short.is_empty() { 0 } else { short.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// Address and prefix length, the address not masked.
pub(crate) fn sloppy_cidr(value: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = value.split_once('/')?;
    if length.is_empty() || !length.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let length: u32 = length
        .trim_start_matches('0')
        .parse()
        .or_else(|_| {
            // Only zeros, or too large for a number.
            length.bytes().all(|c| c == b'0').then_some(0).ok_or(())
        })
        .ok()?;
    let ip = sloppy_ip(address)?;
    // A mapped address has a prefix of 128 bits.
    let mapped = address.contains(':') && ip.is_ipv4();
    let bits: u32 = if ip.is_ipv4() && !mapped { 32 } else { 128 };
    if length > bits {
        return None;
    }
    let length = if mapped { length.saturating_sub(96) } else { length };
    u8::try_from(length).ok().map(|length| (ip, length))
}

/// The first address of the network.
pub(crate) fn masked(ip: IpAddr, prefix: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
    }
}
