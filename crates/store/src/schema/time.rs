//! Times as Go reads and prints them.
//!
//! Go's `time.Parse` walks its layout (`2006-01-02T15:04:05Z07:00`, with `.000000` before the zone
//! for a time with microseconds) element by element; an error names the element and the actual
//! text, so this does the same walk. A single-digit hour is valid, and a fraction of a second is
//! skipped even if the layout has none.

/// Which of the two layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Seconds,
    Micros,
}

/// The canonical form of a time, in UTC; `None` is Go's zero time, printed as null. The error is
/// Go's.
pub fn canonical_time(text: &str, precision: Precision) -> Result<Option<String>, String> {
    if is_canonical(text.as_bytes(), precision) {
        return Ok(Some(text.to_owned()));
    }
    let mut walk = Walk { text, rest: text, precision };
    let time = walk.time()?;
    let (days, second) = time.utc();
    if days == days_from(1, 1, 1) && second == 0 && time.micros == 0 {
        return Ok(None);
    }
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = match precision {
        Precision::Seconds => String::new(),
        Precision::Micros => format!(".{:06}", time.micros),
    };
    Ok(Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")))
}

/// Seconds since 1970, and microseconds; `None` if it is not a time, or Go's zero time.
pub fn unix_time(text: &str, precision: Precision) -> Option<(i64, u32)> {
    let time = Walk { text, rest: text, precision }.time().ok()?;
    let (days, second) = time.utc();
    let is_zero = days == days_from(1, 1, 1) && second == 0 && time.micros == 0;
    (!is_zero).then_some((days * 86_400 + second, time.micros))
}

/// The common case: all digits in position, every day valid in any month, UTC.
fn is_canonical(text: &[u8], precision: Precision) -> bool {
    let form: &[u8] = match precision {
        Precision::Seconds => b"0000-00-00T00:00:00Z",
        Precision::Micros => b"0000-00-00T00:00:00.000000Z",
    };
    let alike = |(byte, form): (&u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    };
    if text.len() != form.len() || !text.iter().zip(form).all(alike) {
        return false;
    }
    let two = |at: usize| (text[at] - b'0') * 10 + text[at + 1] - b'0';
    (1..=12).contains(&two(5))
        && (1..=28).contains(&two(8))
        && two(11) < 24
        && two(14) < 60
        && two(17) < 60
        && &text[..4] > b"0001".as_slice()
}

struct Walk<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

struct Time {
    days: i64,
    second: i64,
    micros: u32,
    offset: i64,
}

impl Time {
    fn utc(&self) -> (i64, i64) {
        let second = self.days * 86_400 + self.second - self.offset;
        (second.div_euclid(86_400), second.rem_euclid(86_400))
    }
}

impl<'a> Walk<'a> {
    fn time(&mut self) -> Result<Time, String> {
        let year = self.year()?;
        self.skip("-")?;
        let month = self.number("01", true, 1..=12, "month")?;
        self.skip("-")?;
        let day = self.number("02", true, 0..=99, "day")?;
        self.skip("T")?;
        let hour = self.number("15", false, 0..=23, "hour")?;
        self.skip(":")?;
        let minute = self.number("04", true, 0..=59, "minute")?;
        self.skip(":")?;
        let second = self.number("05", true, 0..=59, "second")?;
        let micros = self.fraction()?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(self.message(&format!(": extra text: {}", quoted(self.rest))));
        }
        if day < 1 || day > days_in(year, month) {
            return Err(self.message(": day out of range"));
        }
        let second = hour * 3600 + minute * 60 + second;
        Ok(Time { days: days_from(year, month, day), second, micros, offset })
    }

    fn layout(&self) -> &'static str {
        match self.precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }

    fn message(&self, message: &str) -> String {
        format!("parsing time {}{message}", quoted(self.text))
    }

    fn bad(&self, element: &str) -> String {
        let (layout, rest) = (quoted(self.layout()), quoted(self.rest));
        self.message(&format!(" as {layout}: cannot parse {rest} as {}", quoted(element)))
    }

    fn digit(&self, at: usize) -> bool {
        self.rest.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
    }

    fn skip(&mut self, separator: &str) -> Result<(), String> {
        self.rest = self.rest.strip_prefix(separator).ok_or_else(|| self.bad(separator))?;
        Ok(())
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn year(&mut self) -> Result<i64, String> {
        if !(0..4).all(|at| self.digit(at)) {
            return Err(self.bad("2006"));
        }
        Ok(self.take(4).parse().expect("four digits"))
    }

    fn number(
        &mut self,
        element: &str,
        fixed: bool,
        range: std::ops::RangeInclusive<i64>,
        name: &str,
    ) -> Result<i64, String> {
        if !self.digit(0) || (fixed && !self.digit(1)) {
            return Err(self.bad(element));
        }
        let length = if self.digit(1) { 2 } else { 1 };
        let number = self.take(length).parse().expect("one or two digits");
        if !range.contains(&number) {
            return Err(self.message(&format!(": {name} out of range")));
        }
        Ok(number)
    }

    fn fraction(&mut self) -> Result<u32, String> {
        let begins = self.rest.starts_with(['.', ',']);
        if self.precision == Precision::Seconds {
            if begins && self.digit(1) {
                let digits = self.rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                self.take(1 + digits);
            }
            return Ok(0);
        }
        if !begins || !(1..7).all(|at| self.digit(at)) {
            return Err(self.bad(".000000"));
        }
        Ok(self.take(7)[1..].parse().expect("six digits"))
    }

    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let sign = match bytes.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.bad("Z07:00")),
        };
        let digits = [1, 2, 4, 5].into_iter().all(|at| self.digit(at));
        if bytes.get(3) != Some(&b':') || !digits {
            return Err(self.bad("Z07:00"));
        }
        let taken = self.take(6);
        let number = |range: &str| range.parse::<i64>().expect("two digits");
        let (hour, minute) = (number(&taken[1..3]), number(&taken[4..6]));
        match (hour, minute) {
            (25.., _) => Err(self.message(": time zone offset hour out of range")),
            (_, 61..) => Err(self.message(": time zone offset minute out of range")),
            _ => Ok(sign * (hour * 3600 + minute * 60)),
        }
    }
}

/// Go's package `time` has its own quoting: non-ASCII characters are escaped byte by byte.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. The year begins in March here, so
/// that the leap day is its last; an era has 400 years.
fn days_from(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The inverse of `days_from`.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_out_in_utc() {
        for (text, precision, expected) in [
            ("2020-01-01T00:00:00Z", Precision::Seconds, Some("2020-01-01T00:00:00Z")),
            ("2020-01-01T00:00:00.9Z", Precision::Seconds, Some("2020-01-01T00:00:00Z")),
            ("2020-02-29T23:30:00-01:00", Precision::Seconds, Some("2020-03-01T00:30:00Z")),
            ("2020-01-01T5:00:00+05:30", Precision::Seconds, Some("2019-12-31T23:30:00Z")),
            ("0001-01-01T00:00:00Z", Precision::Seconds, None),
            ("2020-01-01T00:00:00.5+00:00", Precision::Seconds, Some("2020-01-01T00:00:00Z")),
            ("2020-01-01T00:00:00.123456Z", Precision::Micros, Some("2020-01-01T00:00:00.123456Z")),
            (
                "2020-01-01T01:00:00,000001+01:00",
                Precision::Micros,
                Some("2020-01-01T00:00:00.000001Z"),
            ),
        ] {
            assert_eq!(canonical_time(text, precision), Ok(expected.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn times_are_counted_from_1970() {
        for (text, precision, expected) in [
            ("1970-01-01T00:00:01Z", Precision::Seconds, Some((1, 0))),
            ("2020-02-29T23:30:00-01:00", Precision::Seconds, Some((1_583_022_600, 0))),
            ("1969-12-31T23:59:59.999999Z", Precision::Micros, Some((-1, 999_999))),
            ("0001-01-01T00:00:00Z", Precision::Seconds, None),
            ("yesterday", Precision::Seconds, None),
        ] {
            assert_eq!(unix_time(text, precision), expected, "{text}");
        }
    }

    #[test]
    fn errors_are_gos() {
        const SECONDS: &str = "as \"2006-01-02T15:04:05Z07:00\"";
        const MICROS: &str = "as \"2006-01-02T15:04:05.000000Z07:00\"";
        for (text, precision, rest) in [
            (
                "yesterday",
                Precision::Micros,
                format!(" {MICROS}: cannot parse \"yesterday\" as \"2006\""),
            ),
            (
                "2020-01-01T00:00:00Z",
                Precision::Micros,
                format!(" {MICROS}: cannot parse \"Z\" as \".000000\""),
            ),
            ("", Precision::Seconds, format!(" {SECONDS}: cannot parse \"\" as \"2006\"")),
            (
                "2020-1-01",
                Precision::Seconds,
                format!(" {SECONDS}: cannot parse \"1-01\" as \"01\""),
            ),
            ("2020-01-01", Precision::Seconds, format!(" {SECONDS}: cannot parse \"\" as \"T\"")),
            (
                "2020-01-01T00:00:00",
                Precision::Seconds,
                format!(" {SECONDS}: cannot parse \"\" as \"Z07:00\""),
            ),
            ("2020-13-01T00:00:00Z", Precision::Seconds, ": month out of range".to_owned()),
            ("2021-02-29T00:00:00Z", Precision::Seconds, ": day out of range".to_owned()),
            ("2020-01-01T25:00:00Z", Precision::Seconds, ": hour out of range".to_owned()),
            (
                "2020-01-01T00:00:00Zé",
                Precision::Seconds,
                ": extra text: \"\\xc3\\xa9\"".to_owned(),
            ),
        ] {
            let expected = format!("parsing time {}{rest}", quoted(text));
            assert_eq!(canonical_time(text, precision), Err(expected), "{text}");
        }
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..3_000_000).step_by(37) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_from(year, month, day), days);
        }
    }
}
