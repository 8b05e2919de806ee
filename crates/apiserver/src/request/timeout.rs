//! The client's timeout for a request: `?timeout=30s`.
//!
//! Durations and error messages are Go's (`time.ParseDuration`). Source:
//! `k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go`.

use std::{fmt::Write as _, time::Duration};

use super::Query;
use crate::status::{Failure, Result};

/// Maximum duration of any request that is not long-running, whatever its client requests.
pub(crate) const MOST: Duration = Duration::from_secs(60);

/// Go counts durations in nanoseconds, up to 2^63.
const MOST_NANOS: u128 = 1 << 63;

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Zero or a negative duration means the server's own.
pub(crate) fn asked(query: &Query<'_>) -> Result<Duration> {
    let text = query.text("timeout");
    if text.is_empty() {
        return Ok(MOST);
    }
    let nanos = nanoseconds(text).map_err(|wrong| {
        let text = quoted(text);
        let why = match wrong {
            DurationError::Invalid => format!("invalid duration {text}"),
            DurationError::NoUnit => format!("missing unit in duration {text}"),
            DurationError::Unit(unit) => {
                format!("unknown unit {} in duration {text}", quoted(unit))
            }
        };
        Failure::bad_request(format!("invalid timeout specified in the request URL - time: {why}"))
    })?;
    let asked = u64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(Duration::from_nanos);
    Ok(asked.map_or(MOST, |asked| asked.min(MOST)))
}

#[derive(Debug, PartialEq)]
enum DurationError<'a> {
    Invalid,
    NoUnit,
    Unit(&'a str),
}

fn nanoseconds(text: &str) -> std::result::Result<i128, DurationError<'_>> {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    let mut total = 0;
    loop {
        let (nanos, after) = term(rest)?;
        total += nanos;
        if total > MOST_NANOS {
            return Err(DurationError::Invalid);
        }
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    let total = i128::try_from(total).map_err(|_| DurationError::Invalid)?;
    match text.starts_with('-') {
        true => Ok(-total),
        // The positive half has one less.
        false if total.unsigned_abs() == MOST_NANOS => Err(DurationError::Invalid),
        false => Ok(total),
    }
}

/// `1.5h` of `1.5h30m`, and the rest.
fn term(text: &str) -> std::result::Result<(u128, &str), DurationError<'_>> {
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::Invalid);
    }
    // More digits exceed the range of a duration.
    let count: u128 = match whole.trim_start_matches('0') {
        "" => 0,
        long if long.len() > 20 => return Err(DurationError::Invalid),
        short => short.parse().map_err(|_| DurationError::Invalid)?,
    };
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(end);
    if unit.is_empty() {
        return Err(DurationError::NoUnit);
    }
    let of_unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or(DurationError::Unit(unit))?.1;
    let nanos = count.saturating_mul(of_unit) + part(fraction, of_unit);
    if nanos > MOST_NANOS {
        return Err(DurationError::Invalid);
    }
    Ok((nanos, rest))
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// A fraction of a unit; more than 18 digits have no effect.
fn part(fraction: &str, of_unit: u128) -> u128 {
    let mut scale = 1;
    let mut sum = 0;
    for digit in fraction.bytes().take(18) {
        scale *= 10;
        sum = sum * 10 + u128::from(digit - b'0');
    }
    sum * of_unit / scale
}

/// As Go's package `time` quotes: byte by byte.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => write!(out, "\\x{byte:02x}").expect("a String takes all"),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_parsed_like_go_and_at_most_a_minute() {
        for (text, millis) in [
            ("", 60_000),
            ("0", 60_000),
            ("0s", 60_000),
            ("-5s", 60_000),
            ("3m", 60_000),
            ("2562047h", 60_000),
            ("30s", 30_000),
            ("%2B30s", 30_000),
            ("1.5s", 1_500),
            (".5s", 500),
            ("5.s", 5_000),
            ("1s500ms", 1_500),
            ("20000us", 20),
            ("20000%C2%B5s", 20),
            ("0.5m", 30_000),
        ] {
            let query = format!("timeout={text}");
            let asked = asked(&Query::parse(&query)).unwrap();
            assert_eq!(asked, Duration::from_millis(millis), "{text}");
        }
    }

    #[test]
    fn an_invalid_timeout_is_rejected_with_go_s_message() {
        for (text, why) in [
            ("invalid", r#"invalid duration "invalid""#),
            ("5", r#"missing unit in duration "5""#),
            ("5x", r#"unknown unit "x" in duration "5x""#),
            ("1h5", r#"missing unit in duration "1h5""#),
            ("-", r#"invalid duration "-""#),
            (".s", r#"invalid duration ".s""#),
            ("1s-2s", r#"unknown unit "s-" in duration "1s-2s""#),
            ("9999999999999999999999h", r#"invalid duration "9999999999999999999999h""#),
            ("2562048h", r#"invalid duration "2562048h""#),
            ("%22%C3%A9", r#"invalid duration "\"\xc3\xa9""#),
        ] {
            let query = format!("timeout={text}");
            let failure = asked(&Query::parse(&query)).unwrap_err();
            let words = format!("invalid timeout specified in the request URL - time: {why}");
            assert_eq!((failure.code, failure.message()), (400, &*words), "{text}");
        }
    }
}
