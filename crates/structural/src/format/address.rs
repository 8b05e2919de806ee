//! IP addresses, CIDRs and MAC addresses, as Go's package `net` parses them.

use core::net::Ipv6Addr;

pub(crate) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (is_dotted(text) || is_colon(text))
}

pub(crate) fn is_ipv6(text: &str) -> bool {
    is_colon(text)
}

pub(crate) fn is_cidr(text: &str) -> bool {
    let Some((address, mask)) = text.split_once('/') else { return false };
    let most = match () {
        () if is_dotted(address) => 32,
        () if is_colon(address) => 128,
        () => return false,
    };
    decimal(mask).is_some_and(|mask| mask <= most)
}

/// 6, 8 or 20 octets: `01:23:45:67:89:ab`, `01-23-45-67-89-ab` or `0123.4567.89ab`.
pub(crate) fn is_mac(text: &str) -> bool {
    let groups_of = |separator: char, digits: usize| {
        let mut groups = 0;
        let fits = text.split(separator).all(|group| {
            groups += 1;
            group.len() == digits && group.bytes().all(|c| c.is_ascii_hexdigit())
        });
        fits && matches!(groups * digits / 2, 6 | 8 | 20)
    };
    groups_of(':', 2) || groups_of('-', 2) || groups_of('.', 4)
}

/// Four numbers; leading zeros are allowed, as in Kubernetes' sloppy parser.
fn is_dotted(text: &str) -> bool {
    let mut parts = 0;
    let fits = text.split('.').all(|part| {
        parts += 1;
        decimal(part).is_some_and(|number| number <= 255)
    });
    fits && parts == 4
}

fn is_colon(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

fn decimal(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}
