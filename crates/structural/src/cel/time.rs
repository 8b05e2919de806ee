//! Durations and timestamps, read and written as Go does.

use chrono::{
    DateTime, Datelike, FixedOffset, NaiveDate, NaiveTime, SecondsFormat, TimeDelta, Timelike,
};

/// A timestamp with the offset that it was written with.
pub(super) type Timestamp = DateTime<FixedOffset>;

use super::functions::Part;

/// A duration as Go's `time.ParseDuration` reads it: `1h30m`, `-1.5s`.
pub(super) fn duration(text: &str) -> Option<TimeDelta> {
    parse(text, |unit| {
        Some(match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return None,
        })
    })
}

/// A value with `format: duration`: also days and weeks, and units in words.
pub(super) fn long_duration(text: &str) -> Option<TimeDelta> {
    let long = |unit: &str| {
        Some(match unit.trim_end_matches('s') {
            "n" | "nano" | "nanosecond" | "nanosec" => 1,
            "u" | "µ" | "μ" | "micro" | "microsecond" => 1_000,
            "m" if unit == "ms" => 1_000_000,
            "milli" | "millisecond" => 1_000_000,
            "" | "sec" | "second" => SECOND,
            "m" | "min" | "minute" => 60 * SECOND,
            "h" | "hr" | "hour" => 3600 * SECOND,
            "d" | "day" => 86_400 * SECOND,
            "w" | "wk" | "week" => 7 * 86_400 * SECOND,
            _ => return None,
        })
    };
    duration(text).or_else(|| parse(&text.to_lowercase().replace([' ', ','], ""), long))
}

const SECOND: i128 = 1_000_000_000;

fn parse(text: &str, nanoseconds: impl Fn(&str) -> Option<i128>) -> Option<TimeDelta> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Some(TimeDelta::zero());
    }
    let (mut rest, mut total) = (unsigned, 0_i128);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        total = total.checked_add(scaled(number, nanoseconds(unit)?)?)?;
        rest = after;
    }
    let total = if text.starts_with('-') { -total } else { total };
    i64::try_from(total).ok().map(TimeDelta::nanoseconds)
}

/// `1.5` of a unit.
fn scaled(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || number.len() > 40 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.pow(u32::try_from(digits.len()).ok()?);
    let fraction: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    whole.checked_mul(unit)?.checked_add(fraction * unit / scale)
}

/// A duration as cel-go's `string()` writes it: seconds, `90s`, `0.5s`.
pub(super) fn duration_text(duration: TimeDelta) -> String {
    let nanoseconds = duration.num_nanoseconds().unwrap_or(i64::MAX);
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let nanoseconds = nanoseconds.unsigned_abs();
    let (seconds, fraction) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    if fraction == 0 {
        return format!("{sign}{seconds}s");
    }
    format!("{sign}{seconds}.{}s", format!("{fraction:09}").trim_end_matches('0'))
}

/// A timestamp in RFC 3339, within the years 1 to 9999.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    in_range(DateTime::parse_from_rfc3339(text).ok()?)
}

/// Midnight of a date: `2024-02-29`.
pub(super) fn date(text: &str) -> Option<Timestamp> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    (text.len() == 10).then(|| date.and_time(NaiveTime::MIN).and_utc().fixed_offset())
}

/// A timestamp of so many seconds since 1970.
pub(super) fn from_seconds(seconds: i64) -> Option<Timestamp> {
    in_range(DateTime::from_timestamp(seconds, 0)?.fixed_offset())
}

/// The timestamp, if CEL has it.
pub(super) fn in_range(time: Timestamp) -> Option<Timestamp> {
    (1..=9999).contains(&time.to_utc().year()).then_some(time)
}

/// A timestamp in RFC 3339.
pub(super) fn timestamp_text(time: Timestamp) -> String {
    if time.nanosecond() == 0 {
        return time.to_rfc3339_opts(SecondsFormat::Secs, true);
    }
    let text = time.to_rfc3339_opts(SecondsFormat::Nanos, true);
    let Some((seconds, rest)) = text.split_once('.') else { return text };
    let (digits, zone) = rest.split_at(rest.len().min(9));
    format!("{seconds}.{}{zone}", digits.trim_end_matches('0'))
}

/// A part of a timestamp, in UTC.
pub(super) fn part(time: Timestamp, part: Part) -> i64 {
    let time = time.to_utc();
    match part {
        Part::FullYear => i64::from(time.year()),
        Part::Month => i64::from(time.month0()),
        Part::DayOfMonth => i64::from(time.day0()),
        Part::Date => i64::from(time.day()),
        Part::DayOfYear => i64::from(time.ordinal0()),
        Part::DayOfWeek => i64::from(time.weekday().num_days_from_sunday()),
        Part::Hours => i64::from(time.hour()),
        Part::Minutes => i64::from(time.minute()),
        Part::Seconds => i64::from(time.second()),
        Part::Milliseconds => i64::from(time.nanosecond() / 1_000_000),
    }
}

/// A duration in a unit; of milliseconds the part within the second.
pub(super) fn duration_part(duration: TimeDelta, part: Part) -> i64 {
    match part {
        Part::Hours => duration.num_hours(),
        Part::Minutes => duration.num_minutes(),
        Part::Seconds => duration.num_seconds(),
        _ => duration.num_milliseconds(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("0", Some("0s")),
            ("1h30m", Some("5400s")),
            ("-1.5s", Some("-1.5s")),
            ("100ms", Some("0.1s")),
            (".5s", Some("0.5s")),
            ("1µs", Some("0.000001s")),
            ("", None),
            ("1", None),
            ("1d", None),
            ("s", None),
            ("1h ", None),
            ("99999999999h", None),
            (".s", None),
        ] {
            assert_eq!(duration(text).map(duration_text).as_deref(), seconds, "{text}");
        }
        assert_eq!(long_duration("2 weeks").map(duration_text).as_deref(), Some("1209600s"));
        assert_eq!(long_duration("1d").map(duration_text).as_deref(), Some("86400s"));
    }

    #[test]
    fn timestamps_are_read_and_written() {
        for (text, expected) in [
            ("2024-02-29T10:00:00Z", Some("2024-02-29T10:00:00Z")),
            ("2024-02-29T10:00:00.5+02:00", Some("2024-02-29T10:00:00.5+02:00")),
            ("2024-02-30T10:00:00Z", None),
            ("10000-01-01T00:00:00Z", None),
            ("2024-02-29", None),
        ] {
            assert_eq!(timestamp(text).map(timestamp_text).as_deref(), expected, "{text}");
        }
        assert_eq!(date("2024-02-29").map(timestamp_text).as_deref(), Some("2024-02-29T00:00:00Z"));
        assert_eq!(date("2024-2-9"), None);
    }
}
