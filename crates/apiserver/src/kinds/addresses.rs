//! Addresses in objects: which are valid endpoints, and which cause a warning.
//!
//! Sources: `ValidateEndpointIP` in `pkg/apis/core/validation`, and `ip.go` and `validation.go` in
//! `k8s.io/apimachinery/pkg/util/validation`.

use std::net::IpAddr;

use serde_json::json;

use crate::{
    invalid::{Errors, FieldError, Path, quoted},
    kinds::names::{dns1123_label, dns1123_subdomain, masked, sloppy_cidr, sloppy_ip},
};

/// Endpoint and external addresses must not be loopback, link-local or otherwise special on every
/// node.
pub(crate) fn endpoint_ip(value: &str, path: &Path) -> Errors {
    let Some(ip) = sloppy_ip(value) else {
        return vec![FieldError::invalid(
            path.clone(),
            &json!(value),
            "must be a valid IP address",
        )];
    };
    let (link_local, link_local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => {
            (ip.is_unicast_link_local(), ip.is_multicast() && ip.segments()[0] & 0xf == 2)
        }
    };
    let unspecified = format!("may not be unspecified ({value})");
    let found = [
        (ip.is_unspecified(), unspecified.as_str()),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            link_local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ];
    let wrong = found.into_iter().filter(|(is, _)| *is);
    wrong.map(|(_, text)| FieldError::invalid(path.clone(), &json!(value), text)).collect()
}

/// A name with a dot in it; a trailing dot is allowed.
pub(crate) fn fully_qualified_domain(name: &str, path: &Path) -> Errors {
    if name.is_empty() {
        return vec![FieldError::required(path.clone(), "")];
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let one =
        |value: &str, text: String| vec![FieldError::invalid(path.clone(), &json!(value), text)];
    let wrong = dns1123_subdomain(name);
    if !wrong.is_empty() {
        return one(name, wrong.join(","));
    }
    if !name.contains('.') {
        let text = "should be a domain with at least two segments separated by dots";
        return one(name, text.to_owned());
    }
    let bad = name.split('.').map(|label| (label, dns1123_label(label)));
    let mut bad = bad.filter(|(_, wrong)| !wrong.is_empty());
    bad.next().map(|(label, wrong)| one(label, wrong.join(","))).unwrap_or_default()
}

/// Warnings for a field whose addresses were once validated less strictly.
pub(crate) fn ip_warnings(path: &Path, value: &str) -> Option<String> {
    let ip = sloppy_ip(value)?;
    let shown = quoted(value);
    match value.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => None,
        Ok(IpAddr::V6(strict)) if strict.to_ipv4_mapped().is_none() => {
            let canonical = strict.to_string();
            (canonical != value).then(|| {
                format!("{path}: IPv6 address {shown} should be in RFC 5952 canonical format ({canonical:?})")
            })
        }
        _ => {
            let use_this = ip.to_string();
            Some(format!("{path}: non-standard IP address {shown} is invalid: use {use_this:?}"))
        }
    }
}

pub(crate) fn cidr_warnings(path: &Path, value: &str) -> Vec<String> {
    let Some((ip, prefix)) = sloppy_cidr(value) else { return Vec::new() };
    let shown = quoted(value);
    let network = format!("{}/{prefix}", masked(ip, prefix));
    let mut warnings = Vec::new();
    if ip != masked(ip, prefix) {
        let single = format!("{ip}/{}", if ip.is_ipv4() { 32 } else { 128 });
        warnings.push(format!(
            "{path}: CIDR value {shown} is ambiguous in this context (should be {network:?} or {single:?}?)"
        ));
    }
    let (address, length) = value.split_once('/').unwrap_or((value, ""));
    let standard = match address.parse::<IpAddr>() {
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => false,
        Ok(_) => length == prefix.to_string(),
        Err(_) => false,
    };
    if !standard {
        warnings
            .push(format!("{path}: non-standard CIDR value {shown} is invalid: use {network:?}"));
    }
    if warnings.is_empty() && ip.is_ipv6() && network != value {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {shown} should be in RFC 5952 canonical format ({network:?})"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_no_endpoints() {
        let path = Path::root("p");
        for (address, wrong) in [
            ("10.0.0.1", 0),
            ("fd00::1", 0),
            ("0.0.0.0", 1),
            ("127.0.0.1", 1),
            ("::1", 1),
            ("169.254.1.1", 1),
            ("fe80::1", 1),
            ("224.0.0.1", 1),
            ("ff02::1", 1),
            ("x", 1),
        ] {
            assert_eq!(endpoint_ip(address, &path).len(), wrong, "{address}");
        }
    }

    #[test]
    fn odd_ways_to_write_addresses_are_warned_about() {
        let path = Path::root("p");
        for (value, warning) in [
            ("1.2.3.4", None),
            ("fd00::1", None),
            (
                "01.2.3.4",
                Some("p: non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\""),
            ),
            (
                "FD00::1",
                Some(
                    "p: IPv6 address \"FD00::1\" should be in RFC 5952 canonical format (\"fd00::1\")",
                ),
            ),
        ] {
            assert_eq!(ip_warnings(&path, value).as_deref(), warning);
        }
        assert!(cidr_warnings(&path, "10.0.0.0/8").is_empty());
        assert_eq!(
            cidr_warnings(&path, "10.0.0.1/8"),
            [
                "p: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \"10.0.0.0/8\" or \"10.0.0.1/32\"?)"
            ]
        );
    }
}
