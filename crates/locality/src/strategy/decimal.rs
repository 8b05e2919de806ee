//! Decimal numbers, exactly.
//!
//! A number is read in one pass, whatever its length, into a whole part and 16 decimals; what does
//! not fit is remembered as such, so that every comparison that is offered is right. Exponents,
//! spaces and separators are not read.

use std::fmt;

use super::IntOrText;

/// A decimal number, cut after 16 decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// `WHOLE_MAX` if it is larger.
    whole: u64,
    /// In units of 1 / `UNIT`.
    fraction: u64,
    /// Something other than zero was cut off.
    cut: bool,
}

/// It is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotANumber;

const DECIMALS: usize = 16;
/// Parts of one.
const UNIT: u64 = 10_u64.pow(16);
const WHOLE_MAX: u64 = 10_u64.pow(15);

// === impl Decimal ===

impl Decimal {
    pub(crate) fn read(number: &IntOrText) -> Result<Self, NotANumber> {
        match number {
            IntOrText::Int(number) => Ok(Decimal {
                negative: *number < 0,
                whole: u64::from(number.unsigned_abs()),
                fraction: 0,
                cut: false,
            }),
            IntOrText::Text(text) => Self::parse(text),
        }
    }

    fn parse(text: &str) -> Result<Self, NotANumber> {
        let (negative, unsigned) = match text.as_bytes() {
            [b'-', ..] => (true, text.get(1..)),
            [b'+', ..] => (false, text.get(1..)),
            _ => (false, Some(text)),
        };
        let unsigned = unsigned.ok_or(NotANumber)?;
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let mut digits = whole.bytes().chain(fraction.bytes());
        if whole.is_empty() && fraction.is_empty() || !digits.all(|d| d.is_ascii_digit()) {
            return Err(NotANumber);
        }
        let digit = |d: u8| u64::from(d - b'0');
        let grow = |n: u64, d: u8| (n * 10 + digit(d)).min(WHOLE_MAX);
        let kept = fraction.bytes().chain(std::iter::repeat(b'0')).take(DECIMALS);
        Ok(Decimal {
            negative,
            whole: whole.bytes().fold(0, grow),
            fraction: kept.fold(0, |n, d| n * 10 + digit(d)),
            cut: fraction.bytes().skip(DECIMALS).any(|d| d != b'0'),
        })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.whole == 0 && self.fraction == 0 && !self.cut
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    pub(crate) fn is_above(&self, limit: u64) -> bool {
        let more = self.fraction > 0 || self.cut;
        !self.negative && (self.whole > limit || self.whole == limit && more)
    }

    /// At least 10^15.
    pub(crate) fn is_huge(&self) -> bool {
        self.whole == WHOLE_MAX
    }

    /// As a multiple of 10^-16, if it is one and neither negative nor huge.
    fn units(&self) -> Option<u128> {
        let exact = !self.cut && !self.is_negative() && !self.is_huge();
        exact.then(|| u128::from(self.whole) * u128::from(UNIT) + u128::from(self.fraction))
    }

    /// `dividend` / self, rounded up; `None` if self is zero or has more decimals than are kept.
    pub(crate) fn divide_up(&self, dividend: u64) -> Option<u128> {
        let units = self.units().filter(|&units| units > 0)?;
        Some((u128::from(dividend) * u128::from(UNIT)).div_ceil(units))
    }

    /// `dividend` / self, rounded down; `None` if self is zero or has more decimals than are kept.
    pub(crate) fn divide_down(&self, dividend: u64) -> Option<u128> {
        let units = self.units().filter(|&units| units > 0)?;
        Some(u128::from(dividend) * u128::from(UNIT) / units)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative() { "-" } else { "" };
        let fraction = format!("{:016}", self.fraction);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{sign}{}", self.whole),
            fraction => write!(f, "{sign}{}.{fraction}", self.whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, NotANumber> {
        Decimal::parse(text).map(|number| number.to_string())
    }

    #[test]
    fn numbers_are_read_exactly() {
        let table = [
            ("70.5", "70.5"),
            ("0070.500", "70.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+5", "5"),
            ("-0.0", "0"),
            ("-1", "-1"),
            ("0.0000000000000001", "0.0000000000000001"),
        ];
        for (text, shown) in table {
            assert_eq!(parse(text).as_deref(), Ok(shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let long = "x".repeat(1_000_000);
        let texts = [
            "", ".", "-", "+-1", "1e3", "1E3", "NaN", "inf", "0x10", "1,5", "70%", " 5", "5 ",
            "1_000", "1.2.3", "٣", "banana", &long,
        ];
        for text in texts {
            assert_eq!(Decimal::parse(text), Err(NotANumber), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_still_counts_in_comparisons() {
        let above = Decimal::parse(&format!("100.{}1", "0".repeat(1_000_000))).unwrap();
        assert!(above.is_above(100));
        assert!(!Decimal::parse("100.000").unwrap().is_above(100));
        let below = Decimal::parse(&format!("-0.{}1", "0".repeat(1_000_000))).unwrap();
        assert!(below.is_negative() && !below.is_zero());
        let huge = Decimal::parse(&"9".repeat(1_000_000)).unwrap();
        assert!(huge.is_huge() && huge.is_above(100));
        assert_eq!(huge.divide_up(1), None);
    }
}
