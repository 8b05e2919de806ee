//! Dates, times and durations.
//!
//! A duration is what Go's `time.ParseDuration` accepts, or any text with a number and a unit in
//! it, such as `2 weeks`: kube-openapi's `strfmt/duration.go`.

/// `2006-01-02`.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = &bytes[range];
        let value = digits.iter().fold(0_u32, |n, c| n * 10 + u32::from(c.wrapping_sub(b'0')));
        digits.iter().all(u8::is_ascii_digit).then_some(value)
    };
    let (Some(year), Some(month), Some(day)) = (number(0..4), number(5..7), number(8..10)) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// A date, `T`, and a time with its zone.
pub(crate) fn is_date_time(text: &str) -> bool {
    let mut parts = text.split(['t', 'T']);
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time).is_some()
}

pub(crate) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || has_amount(text)
}

/// `15:04:05`, optionally a fraction after any character, and a zone.
fn is_time(text: &str) -> Option<()> {
    let bytes = text.as_bytes();
    let clock = bytes.get(..8)?;
    let two = |at: usize| clock[at..at + 2].iter().all(u8::is_ascii_digit);
    let shape = two(0) && clock[2] == b':' && two(3) && clock[5] == b':' && two(6);
    let in_range = clock[..2] <= b"23"[..] && clock[3..5] <= b"59"[..] && clock[6..8] <= b"59"[..];
    if !(shape && in_range) {
        return None;
    }
    let rest = text.get(8..)?;
    if is_zone(rest) {
        return Some(());
    }
    let mut fraction = rest.chars();
    fraction.next().filter(|separator| *separator != '\n')?;
    let rest = fraction.as_str();
    let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    (zone.len() < rest.len() && is_zone(zone)).then_some(())
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        [b'z' | b'Z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].into_iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    while !rest.is_empty() {
        let whole = digits(rest);
        rest = &rest[whole..];
        let mut fraction = 0;
        if let Some(after) = rest.strip_prefix('.') {
            fraction = digits(after);
            rest = &after[fraction..];
        }
        if whole + fraction == 0 {
            return false;
        }
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        if !units.contains(&&rest[..end]) {
            return false;
        }
        rest = &rest[end..];
    }
    !text.is_empty() && !matches!(text, "+" | "-")
}

/// Whether there is an integer with a unit of time somewhere in a text. An integer that does not
/// fit in 64 bits is an error.
fn has_amount(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == 'µ';
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let unit = after.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let end = unit.find(|c| !is_letter(c)).unwrap_or(unit.len());
        if end == 0 {
            rest = after;
            continue;
        }
        if digits.parse::<i64>().is_err() {
            return false;
        }
        found |= is_unit(&unit[..end].to_lowercase());
        rest = &unit[end..];
    }
    found
}

fn is_unit(unit: &str) -> bool {
    let long = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    matches!(unit, "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "hr" | "d" | "w" | "wk")
        || long.iter().any(|name| unit.starts_with(name))
}
