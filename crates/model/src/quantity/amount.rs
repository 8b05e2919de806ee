//! The number of a quantity, for comparisons and sums.

use super::{Digits, Format, NANO, binary, decimal};
use std::cmp::Ordering;

/// An amount in billionths, Kubernetes' finest resolution, and the family of suffixes in which it
/// is printed. At most 1.7e29, far above Kubernetes' own limit of 2^63.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    nanos: i128,
    format: Format,
}

const MILLI: i128 = 1_000_000;
const UNIT: i128 = 1_000_000_000;

/// The largest whole number.
const MOST: u128 = i128::MAX as u128 / NANO * NANO;

// === impl Amount ===

impl Amount {
    pub const ZERO: Amount = Amount { nanos: 0, format: Format::Decimal };

    pub(super) fn new(negative: bool, nanos: u128, format: Format) -> Amount {
        let nanos = i128::try_from(nanos.min(MOST)).unwrap_or(i128::MAX);
        Amount { nanos: if negative { -nanos } else { nanos }, format }
    }

    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub fn is_whole(self) -> bool {
        self.nanos % UNIT == 0
    }

    /// In whole units, rounded away from zero.
    pub fn units(self) -> i128 {
        ceiling(self.nanos, UNIT)
    }

    /// In thousandths, rounded away from zero.
    pub fn milli_units(self) -> i128 {
        ceiling(self.nanos, MILLI)
    }

    /// In whole thousandths, the finest resolution of resource lists; `None` if it already is.
    pub fn rounded_to_milli(self) -> Option<Amount> {
        let nanos = self.milli_units().saturating_mul(MILLI);
        (nanos != self.nanos).then_some(Amount { nanos, ..self })
    }

    /// The printed form, in the same family of suffixes.
    pub fn canonical(self) -> String {
        let nanos = self.nanos.unsigned_abs();
        let printed = match self.format {
            Format::Binary => binary(nanos),
            format => decimal(&Digits { digits: nanos.to_string(), scale: -9 }, format),
        };
        format!("{}{printed}", if self.is_negative() { "-" } else { "" })
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Amount) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Amount) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Amount) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// Division that rounds away from zero.
fn ceiling(amount: i128, step: i128) -> i128 {
    let quotient = amount / step;
    if amount % step == 0 { quotient } else { quotient + amount.signum() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quantity::Quantity;

    fn amount(text: &str) -> Amount {
        Quantity::parse(text).expect("a quantity").amount()
    }

    #[test]
    fn amounts_take_their_shortest_form() {
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
            ("1.0001Ki", "1024102400u"),
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
            assert_eq!(amount(text).canonical(), canonical, "{text}");
        }
    }

    #[test]
    fn amounts_become_thousandths_rounded_away_from_zero() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("2", 2_000),
            ("+2", 2_000),
            ("-1", -1_000),
            ("250m", 250),
            ("1.5", 1_500),
            ("1.", 1_000),
            (".5", 500),
            ("0.0001", 1),
            ("-0.0001", -1),
            ("0.1m", 1),
            ("100u", 1),
            ("1000u", 1),
            ("1001u", 2),
            ("999999u", 1000),
            ("1n", 1),
            ("1k", 1_000_000),
            ("1Ki", 1_024_000),
            ("1.5Ki", 1_536_000),
            ("0.5Mi", 524_288_000),
            ("2e3", 2_000_000),
            ("2E3", 2_000_000),
            ("2e-3", 2),
            ("2e-4", 1),
            ("2e+3", 2_000_000),
            ("1e-2147483648", 1),
            ("0e2147483647", 0),
            ("1E", 1_000_000_000_000_000_000_000),
            ("18446744073709551615.5m", 18_446_744_073_709_551_616),
            ("0018446744073709551615m", 18_446_744_073_709_551_615),
            ("1.00000000000000000000000000000000", 1_000),
            ("1.00000000000000000000000000000001", 1_001),
            ("0.00000000000000000000000000000000000000000000001", 1),
        ] {
            assert_eq!(amount(text).milli_units(), expected, "{text}");
        }
        for text in ["1e2147483647", "99999999999999999999999999999999999999999E"] {
            assert!(amount(text) > amount("1e28") && amount(text).is_whole(), "{text}");
        }
    }

    #[test]
    fn amounts_compare_by_number() {
        for (less, more) in [("1", "1001m"), ("1G", "1Gi"), ("-1", "0"), ("999Mi", "1Gi")] {
            assert!(amount(less) < amount(more), "{less} {more}");
        }
        assert_eq!(amount("1000m"), amount("1"));
        assert_eq!(amount("0.0001").rounded_to_milli(), Some(amount("1m")));
        assert_eq!(amount("0.001").rounded_to_milli(), None);
        assert_eq!(
            amount("1.0001Ki").rounded_to_milli().map(Amount::canonical).as_deref(),
            Some("1024103m")
        );
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_the_same_amount(number in 0_u64..1 << 50, suffix in "(n|u|m|k|M|G|Ki|)") {
            let text = format!("{number}{suffix}");
            let amount = amount(&text);
            prop_assert_eq!(self::amount(&amount.canonical()), amount);
            prop_assert_eq!(self::amount(&Quantity::parse(&text).unwrap().canonical()), amount);
            prop_assert_eq!(self::amount(&amount.canonical()).canonical(), amount.canonical());
        }
    }
}
