//! Quantities of resources: `100m`, `1.5Gi`, `2e3`.
//!
//! The schema parses and prints quantities; here they are compared. A quantity is stored in
//! billionths, Kubernetes' finest resolution; finer amounts are rounded away from zero. Source:
//! `k8s.io/apimachinery/pkg/api/resource/quantity.go`. Beyond 1.7e29 the amount saturates, far
//! above the field's own limit of 2^63.

use std::cmp::Ordering;

use serde_json::Value;

const NANO: i128 = 1_000_000_000;

/// An amount, and the suffix family in which it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity {
    nanos: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `m`, `k`, `M`, …
    DecimalSi,
    /// `Ki`, `Mi`, …
    BinarySi,
    /// `e3`, `E-3`.
    DecimalExponent,
}

// === impl Quantity ===

impl Quantity {
    pub(crate) const ZERO: Quantity = Quantity { nanos: 0, format: Format::DecimalSi };

    pub(crate) fn parse(text: &str) -> Option<Quantity> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let (base, exponent, format) = scale(suffix)?;
        let nanos = in_nanos(whole, fraction, base, exponent)?;
        Some(Quantity { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// As in an object: a string, or a bare number.
    pub(crate) fn of(value: &Value) -> Option<Quantity> {
        match value {
            Value::String(text) => Quantity::parse(text),
            Value::Number(number) => Quantity::parse(&number.to_string()),
            _ => None,
        }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nanos == 0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub(crate) fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// The amount in whole units, rounded away from zero.
    pub(crate) fn units(self) -> i128 {
        ceiling(self.nanos, NANO)
    }

    /// The amount in thousandths, rounded away from zero.
    pub(crate) fn milli_units(self) -> i128 {
        ceiling(self.nanos, NANO / 1000)
    }

    /// In whole thousandths, the finest resolution of resource lists; `None` if it already is.
    pub(crate) fn rounded_to_milli(self) -> Option<Quantity> {
        let nanos = ceiling(self.nanos, NANO / 1000).saturating_mul(NANO / 1000);
        (nanos != self.nanos).then_some(Quantity { nanos, ..self })
    }

    /// As an object shows it: its text, already normalised by the schema.
    pub(crate) fn shown(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// The shortest form in the same suffix family, without a fraction.
    pub(crate) fn canonical(self) -> String {
        let small = self.nanos.abs() < 1024 * NANO;
        match self.format {
            Format::BinarySi if !small => binary(self.units()),
            Format::DecimalExponent => decimal(self.nanos, |exponent| match exponent {
                0 => String::new(),
                exponent => format!("e{exponent}"),
            }),
            _ => decimal(self.nanos, |exponent| si_suffix(exponent).to_owned()),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// Base and exponent of a suffix.
fn scale(suffix: &str) -> Option<(i128, i32, Format)> {
    let decimal = |exponent| Some((10, exponent, Format::DecimalSi));
    let binary = |exponent| Some((1024, exponent, Format::BinarySi));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
            Some((10, exponent.clamp(-1000, 1000), Format::DecimalExponent))
        }
    }
}

/// `whole.fraction × base^exponent` in billionths, saturating.
fn in_nanos(whole: &str, fraction: &str, base: i128, exponent: i32) -> Option<i128> {
    if fraction.len() > 30 {
        return in_nanos(whole, fraction.get(..30)?, base, exponent);
    }
    let digits = format!("{whole}{fraction}");
    let mantissa = digits.parse::<i128>().unwrap_or(i128::MAX);
    let places = u32::try_from(fraction.len()).ok()?;
    let (up, down) = match base {
        10 => {
            let shift = exponent + 9 - i32::try_from(places).ok()?;
            (power(10, shift.max(0).unsigned_abs()), power(10, shift.min(0).unsigned_abs()))
        }
        _ => (power(base, exponent.unsigned_abs()).saturating_mul(NANO), power(10, places)),
    };
    Some(ceiling(mantissa.saturating_mul(up), down))
}

fn power(base: i128, exponent: u32) -> i128 {
    base.saturating_pow(exponent)
}

/// Division that rounds away from zero.
fn ceiling(amount: i128, step: i128) -> i128 {
    let quotient = amount / step;
    if amount % step == 0 { quotient } else { quotient + amount.signum() }
}

fn decimal(nanos: i128, suffix: impl Fn(i32) -> String) -> String {
    if nanos == 0 {
        return "0".to_owned();
    }
    let (mut mantissa, mut exponent) = (nanos, -9);
    while mantissa % 10 == 0 {
        mantissa /= 10;
        exponent += 1;
    }
    while exponent % 3 != 0 || exponent > 18 {
        mantissa *= 10;
        exponent -= 1;
    }
    format!("{mantissa}{}", suffix(exponent))
}

fn binary(units: i128) -> String {
    let (mut mantissa, mut steps) = (units, 0);
    while mantissa % 1024 == 0 && mantissa != 0 && steps < 6 {
        mantissa /= 1024;
        steps += 1;
    }
    format!("{mantissa}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][steps])
}

fn si_suffix(exponent: i32) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantities_take_their_shortest_form() {
        for (text, canonical) in [
            ("0", "0"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("100", "100"),
            ("512Ki", "512Ki"),
            ("1023", "1023"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("2E3", "2e3"),
            ("12e-1", "1200e-3"),
            ("-1", "-1"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            (".5", "500m"),
            ("1.", "1"),
            ("1Ei", "1Ei"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().canonical(), canonical, "{text}");
        }
        for text in ["", "m", "1x", "1.2.3", "1 Gi", "Ki", "--1"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn quantities_compare_by_amount() {
        for (less, more) in [("1", "1001m"), ("1G", "1Gi"), ("-1", "0"), ("999Mi", "1Gi")] {
            assert!(Quantity::parse(less) < Quantity::parse(more), "{less} {more}");
        }
        assert_eq!(Quantity::parse("1000m"), Quantity::parse("1"));
        assert_eq!(Quantity::parse("0.0001").unwrap().rounded_to_milli(), Quantity::parse("1m"));
        assert_eq!(Quantity::parse("0.001").unwrap().rounded_to_milli(), None);
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_the_same_amount(number in 0_u64..1 << 50, suffix in "(n|u|m|k|M|G|Ki|Mi|Gi|)") {
            let quantity = Quantity::parse(&format!("{number}{suffix}")).unwrap();
            let again = Quantity::parse(&quantity.canonical()).unwrap();
            prop_assert_eq!(quantity, again);
            prop_assert_eq!(again.canonical(), quantity.canonical());
        }

        #[test]
        fn no_text_panics(text in "[-+0-9.a-zA-Z]{0,60}") {
            if let Some(quantity) = Quantity::parse(&text) {
                quantity.canonical();
                quantity.rounded_to_milli();
            }
        }
    }
}
