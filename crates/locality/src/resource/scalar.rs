//! Single values: names, addresses, ports, durations, percentages, bytes.

use core::net::IpAddr;
use std::{num::NonZeroU16, sync::Arc, time::Duration};

use serde_json::Value;

use super::Labels;
use crate::{Errors, FieldPath, decode::Fields, strategy::parse_duration};

/// The longest name, and the longest value of a tag.
const LONGEST_NAME: usize = 253;

/// A name of something, or a value of a tag.
pub(super) fn check_name(name: &str, path: &FieldPath<'_>, errors: &mut Errors) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-:/".contains(c);
    let message = match name {
        "" => "must not be empty".to_owned(),
        name if name.len() > LONGEST_NAME => format!("must not be longer than {LONGEST_NAME}"),
        name if !name.chars().all(is_allowed) => {
            "must consist of letters, digits and the characters . _ - : /".to_owned()
        }
        _ => return true,
    };
    errors.push(path, message);
    false
}

/// A name that must be there.
pub(super) fn required_name(
    fields: &Fields<'_, '_>,
    name: &str,
    errors: &mut Errors,
) -> Option<Arc<str>> {
    if fields.get(name).is_none() {
        errors.push(&fields.path.field(name), "must be set");
    }
    let text = fields.text(name, errors)?;
    check_name(&text, &fields.path.field(name), errors).then_some(text)
}

/// Tags or labels whose keys and values are names.
pub(super) fn tags(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Labels {
    let tags = fields.text_map(name, errors);
    let path = fields.path.field(name);
    for (key, value) in &tags {
        let path = path.field(key);
        if check_name(key, &path, errors) {
            check_name(value, &path, errors);
        }
    }
    tags
}

/// A literal address: Envoy's endpoint discovery knows no other.
pub(super) fn address(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<IpAddr> {
    let text = fields.text(name, errors).filter(|text| !text.is_empty())?;
    let address = text.parse().ok();
    if address.is_none() {
        errors.push(&fields.path.field(name), "must be an IP address");
    }
    address
}

pub(super) fn port(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<NonZeroU16> {
    let value = fields.get(name)?;
    let port = value.as_u64().and_then(|n| u16::try_from(n).ok()).and_then(NonZeroU16::new);
    if port.is_none() {
        errors.push(&fields.path.field(name), "must be a port number from 1 to 65535");
    }
    port
}

pub(super) fn required_port(
    fields: &Fields<'_, '_>,
    name: &str,
    errors: &mut Errors,
) -> Option<NonZeroU16> {
    if fields.get(name).is_none() {
        errors.push(&fields.path.field(name), "must be set");
    }
    port(fields, name, errors)
}

/// A duration in Go's form, such as `1m30s`.
pub(super) fn duration(
    fields: &Fields<'_, '_>,
    name: &str,
    errors: &mut Errors,
) -> Option<Duration> {
    let text = fields.text(name, errors)?;
    let duration = parse_duration(&text);
    if duration.is_none() {
        errors.push(&fields.path.field(name), "must be a duration such as 10s or 1m30s");
    }
    duration
}

/// Whole percent from a number or a decimal text; a fraction is cut off.
pub(super) fn percent(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<u8> {
    let thousandths = thousandths(fields, name, errors)?;
    let percent = u8::try_from(thousandths / 1000).ok().filter(|_| thousandths <= 100_000);
    if percent.is_none() {
        errors.push(&fields.path.field(name), "must be in inclusive range [0.0, 100.0]");
    }
    percent
}

/// Thousandths of a number or of a decimal text.
pub(super) fn thousandths(fields: &Fields<'_, '_>, name: &str, errors: &mut Errors) -> Option<u32> {
    let value = fields.get(name)?;
    let text = match value {
        Value::String(text) if text.len() <= 20 => text.clone(),
        Value::Number(number) if number.is_u64() => number.to_string(),
        _ => String::new(),
    };
    let parsed = parse_thousandths(&text);
    if parsed.is_none() {
        errors.push(&fields.path.field(name), "must be a whole number or a decimal text");
    }
    parsed
}

fn parse_thousandths(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction: u32 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(fraction)
}

/// Bytes written in base64 (RFC 4648, section 4).
pub(super) fn base64(text: &str) -> Option<Arc<[u8]>> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push(u8::try_from(bits >> n_bits & 0xff).ok()?);
        }
    }
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        let table = [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8=", Some("fo")),
            ("Zm9v", Some("foo")),
            ("UElORw==", Some("PING")),
            ("Zm9", None),
            ("====", None),
            ("Z*9v", None),
        ];
        for (text, bytes) in table {
            assert_eq!(base64(text).as_deref(), bytes.map(str::as_bytes), "{text}");
        }
    }

    #[test]
    fn decimals_are_read_to_the_third_digit() {
        let table = [
            ("1.9", Some(1900)),
            ("0", Some(0)),
            ("99.99999", Some(99_999)),
            ("", None),
            ("1.", None),
            (".5", None),
            ("-1", None),
            ("4294967295", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse_thousandths(text), expected, "{text}");
        }
    }
}
