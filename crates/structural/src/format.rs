//! Formats of strings: those that Kubernetes supports in the schemas of custom resources.
//!
//! Source: `pkg/apiserver/validation/formats.go` of `k8s.io/apiextensions-apiserver` for the names,
//! `k8s.io/kube-openapi/pkg/validation/strfmt` for what they accept. Names are compared without
//! dashes; an unknown format accepts every value.

mod address;
mod mail;
mod number;
mod time;
mod uri;

use std::sync::LazyLock;

use regex::Regex;

use crate::schema::Type;

/// A format of strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format(Accepts);

type Accepts = fn(&str) -> bool;

const FORMATS: [(&str, Accepts); 26] = [
    ("datetime", time::is_date_time),
    ("bsonobjectid", |text| text.len() == 24 && is_hex(text)),
    ("byte", is_base64),
    ("cidr", address::is_cidr),
    ("creditcard", number::is_credit_card),
    ("date", time::is_date),
    ("duration", time::is_duration),
    ("email", mail::is_email),
    ("hexcolor", is_hex_color),
    ("hostname", is_hostname),
    ("ipv4", address::is_ipv4),
    ("ipv6", address::is_ipv6),
    ("isbn", |text| number::is_isbn10(text) || number::is_isbn13(text)),
    ("isbn10", number::is_isbn10),
    ("isbn13", number::is_isbn13),
    ("k8slongname", |text| text.len() <= 253 && text.split('.').all(is_label)),
    ("k8sshortname", |text| text.len() <= 63 && is_label(text)),
    ("mac", address::is_mac),
    ("password", |_| true),
    ("rgbcolor", |text| RGB_COLOR.is_match(text)),
    ("ssn", number::is_ssn),
    ("uri", uri::is_request_uri),
    ("uuid", |text| is_uuid(text, None, false)),
    ("uuid3", |text| is_uuid(text, Some(b'3'), false)),
    ("uuid4", |text| is_uuid(text, Some(b'4'), true)),
    ("uuid5", |text| is_uuid(text, Some(b'5'), true)),
];

/// Whether a format is checked for values of a type.
pub(crate) fn is_known(type_: &Type, format: &str) -> bool {
    match type_ {
        Type::None | Type::String => Format::of(format).is_some(),
        Type::Integer => matches!(format, "int32" | "int64"),
        Type::Number => matches!(format, "float" | "double"),
        _ => false,
    }
}

static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
});
static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    let number = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    let space = "[ \t\n\r\x0c]*";
    regex(&format!(
        r"^rgb\({space}{number}{space},{space}{number}{space},{space}{number}{space}\)$"
    ))
});

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

impl Format {
    /// The format of a name, if it is one that strings are checked for.
    pub(crate) fn of(name: &str) -> Option<Format> {
        let same = |known: &str| known.bytes().eq(name.bytes().filter(|c| *c != b'-'));
        let (_, accepts) = FORMATS.iter().find(|(known, _)| same(known))?;
        Some(Format(*accepts))
    }

    /// Whether a text is of this format.
    pub(crate) fn accepts(self, text: &str) -> bool {
        self.0(text)
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_hexdigit())
}

fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && is_hex(digits)
}

fn is_base64(text: &str) -> bool {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let digit = |c: u8| c.is_ascii_alphanumeric() || c == b'+' || c == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && digits.bytes().all(digit)
}

fn is_hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && HOSTNAME.is_match(text)
}

fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(inner)
}

/// Groups of 8, 4, 4, 4 and 12 hexadecimal digits, each dash optional.
fn is_uuid(text: &str, version: Option<u8>, variant: bool) -> bool {
    let mut digits = [0; 32];
    let mut n = 0;
    let bytes = text.as_bytes();
    let mut at = 0;
    for group in [8, 4, 4, 4, 12] {
        if n > 0 && bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        let Some(part) = bytes.get(at..at + group) else { return false };
        digits[n..n + group].copy_from_slice(part);
        (n, at) = (n + group, at + group);
    }
    at == bytes.len()
        && digits.iter().all(u8::is_ascii_hexdigit)
        && version.is_none_or(|version| digits[12] == version)
        && (!variant || matches!(digits[16].to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b'))
}

#[cfg(test)]
mod tests;
