//! Numbers that were read of the server.

use crate::view::words::{Basis, Number, percent};

/// Requests, seats.
pub(super) fn counted(n: Option<f64>) -> Number {
    n.map_or_else(Number::unknown, |n| measured(n, number(n)))
}

pub(super) fn seconds(wait: Option<f64>) -> Number {
    wait.map_or_else(Number::unknown, |wait| measured(wait, duration(wait)))
}

pub(super) fn share(ratio: Option<f64>) -> Number {
    ratio.map_or_else(Number::unknown, |ratio| measured(ratio, percent(ratio)))
}

/// A number per second.
pub(super) fn rate(n: Option<f64>) -> Number {
    n.map_or_else(Number::unknown, |n| measured(n, format!("{}/s", number(n))))
}

fn measured(value: f64, text: String) -> Number {
    Number { value: Some(value), text, basis: Basis::Measured }
}

/// At most one digit behind the point.
pub(super) fn number(n: f64) -> String {
    ((n * 10.0).round() / 10.0).to_string()
}

pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{} ms", (s * 1000.0).round()),
        s => format!("{} s", number(s)),
    }
}

/// `1 request waits`, `3 requests wait`.
pub(super) fn wait(n: f64) -> String {
    match n {
        1.0 => "1 request waits".to_owned(),
        n => format!("{} requests wait", number(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_unknown_is_a_word() {
        for (seconds, shown) in
            [(0.0004, "0 ms"), (0.012, "12 ms"), (0.0999, "0.1 s"), (1.44, "1.4 s")]
        {
            assert_eq!(duration(seconds), shown);
        }
        assert_eq!((rate(Some(12.34)).text, rate(None).text), ("12.3/s".into(), "unknown".into()));
        assert_eq!(counted(None).value, None);
    }
}
