//! Durations and rates of scenarios.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, de};

use crate::duration::duration;

const FASTEST: f64 = 1e9;

/// A duration of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Span(pub Duration);

/// Events per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate(pub f64);

/// A number with `/s`, `/m` or `/h`; without a unit, per second.
fn rate(text: &str) -> Result<f64, String> {
    let (number, seconds) = match text.trim().split_once('/') {
        None => (text, 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "m")) => (number, 60.0),
        Some((number, "h")) => (number, 3600.0),
        Some(_) => return Err(format!("{text:?} has no known unit; use /s, /m or /h")),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{text:?} is not a rate"))?;
    positive_rate(number / seconds)
}

fn positive_rate(per_second: f64) -> Result<f64, String> {
    match per_second > 0.0 && per_second <= FASTEST {
        true => Ok(per_second),
        false => Err(format!(
            "a rate must be greater than 0 and at most {FASTEST} per second, not {per_second}"
        )),
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpanVisitor)
    }
}

struct SpanVisitor;

impl de::Visitor<'_> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration with a unit, such as 10ms")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
        duration(text).map(Span).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RateVisitor)
    }
}

struct RateVisitor;

impl de::Visitor<'_> for RateVisitor {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a rate, such as 5 or 300/m")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Rate, E> {
        rate(text).map(Rate).map_err(E::custom)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Rate, E> {
        positive_rate(number).map(Rate).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Rate, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Rate, E> {
        self.visit_f64(number as f64)
    }
}

/// Seconds, short: `12.3 ms`.
pub(super) fn short(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s > 0.0 => (s * 1e6, "µs"),
        _ => return "0".to_owned(),
    };
    let decimals = if value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_positive() {
        assert_eq!(rate("5"), Ok(5.0));
        assert_eq!(rate("300/m"), Ok(5.0));
        for text in ["0", "-1/s", "nan", "inf/h", "5/y", "x/s", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_short() {
        let cases = [(0.0, "0"), (0.01234, "12.3 ms"), (2.0, "2.0 s"), (0.000_5, "500 µs")];
        for (seconds, text) in cases {
            assert_eq!(short(seconds), text);
        }
    }
}
