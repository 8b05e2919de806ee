//! Durations as Go writes them: `1h30m`, `1.5s`, `300ms`.

use std::time::Duration;

/// The longest that Go's type holds, in nanoseconds: about 292 years.
const LONGEST: u128 = i64::MAX as u128;
/// More says nothing below a nanosecond.
const MOST_DECIMALS: usize = 15;

/// `None` if it is no duration, is negative or too long. Time linear in the text.
pub fn parse_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| c != '.' && !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c == '.' || c.is_ascii_digit());
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        nanos += nanos_of(number, unit)?;
        if nanos > LONGEST {
            return None;
        }
        rest = after;
    }
    let nanos = u64::try_from(nanos).ok()?;
    (!text.is_empty()).then(|| Duration::from_nanos(nanos))
}

fn nanos_of(number: &str, unit: &str) -> Option<u128> {
    let unit: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let fraction = fraction.get(..MOST_DECIMALS).unwrap_or(fraction);
    let part =
        u128::from(digits(fraction)?) * unit / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    Some(u128::from(digits(whole)?) * unit + part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let table = [
            ("1s", Some(1_000_000_000)),
            ("1h2m3.5s", Some(3_723_500_000_000)),
            ("300ms", Some(300_000_000)),
            (".5s", Some(500_000_000)),
            ("1.s", Some(1_000_000_000)),
            ("1us1ns", Some(1_001)),
            ("0", Some(0)),
            ("0.1234567890123456789s", Some(123_456_789)),
            ("", None),
            ("1", None),
            ("-1s", None),
            (".s", None),
            ("1..5s", None),
            ("1 s", None),
            ("s", None),
            ("1d", None),
            ("9999999999h", None),
            ("99999999999999999999s", None),
        ];
        for (text, nanos) in table {
            assert_eq!(parse_duration(text), nanos.map(Duration::from_nanos), "{text}");
        }
        assert_eq!(parse_duration(&"9".repeat(1_000_000)), None);
        assert_eq!(parse_duration(&"1s".repeat(500_000)), Some(Duration::from_secs(500_000)));
    }
}
