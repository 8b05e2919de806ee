//! Quantities of resources, such as `100m`, `1.5Gi` and `2e3`, as Go's `resource.Quantity` reads,
//! prints and compares them.
//!
//! A quantity is a decimal with a suffix: powers of ten (`m`, `k`, `M`, or `e3`), or powers of 1024
//! (`Ki`, `Mi`). Go keeps the text unchanged if it considers it canonical, by a rule of its own
//! that the vectors record; otherwise it prints the number with the largest suffix that leaves no
//! fraction. Fractions below a billionth are rounded away from zero; powers of 1024 are at most
//! 2^63 - 1. Source: `k8s.io/apimachinery/pkg/api/resource` (`quantity.go`, `suffix.go`,
//! `amount.go`).

mod amount;

use std::fmt;

pub use self::amount::Amount;

/// A quantity as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Quantity<'a> {
    text: &'a str,
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    /// Of ten, or of two if the suffix is binary.
    exponent: i64,
    format: Format,
    has_digits: bool,
}

/// Why a text is not a quantity, in Go's wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityError {
    Format,
    Suffix,
}

/// The family of suffixes in which a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// Digits without a point, and the power of ten to multiply them by.
struct Digits {
    digits: String,
    scale: i64,
}

/// Digits that always fit into a 64-bit number.
const MOST_DIGITS: i64 = 18;

const NANO: u128 = 1_000_000_000;

// === impl Quantity ===

impl<'a> Quantity<'a> {
    pub fn parse(text: &'a str) -> Result<Quantity<'a>, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let signless = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split(signless.trim_start_matches('0'), |c| c.is_ascii_digit());
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, digits) = split(suffix, |c| "eEinumkKMGTP".contains(c));
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        if !digits.chars().all(|c| c.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        let (exponent, format) = scale(suffix)?;
        let has_digits = signless.starts_with(|c: char| c.is_ascii_digit()) || !fraction.is_empty();
        let negative = text.starts_with('-');
        Ok(Quantity { text, negative, whole, fraction, exponent, format, has_digits })
    }

    /// Whether it has a number, as the documented grammar requires. Go reads `m` as zero.
    pub fn has_digits(self) -> bool {
        self.has_digits
    }

    /// The printed form.
    pub fn canonical(self) -> String {
        let kept = match self.format {
            Format::Binary => self.is_kept_binary(),
            _ => self.is_kept_decimal(),
        };
        if kept {
            return self.text.to_owned();
        }
        let printed = match self.format {
            Format::Binary => binary(self.binary_nanos()),
            format => decimal(&self.rounded(), format),
        };
        let sign = if self.negative && printed != "0" { "-" } else { "" };
        format!("{sign}{printed}")
    }

    /// The number it stands for.
    pub fn amount(self) -> Amount {
        let nanos = match self.format {
            Format::Binary => self.binary_nanos(),
            _ => self.rounded().nanos(),
        };
        Amount::new(self.negative, nanos, self.format)
    }

    /// Go's quick test for canonical decimals.
    fn is_kept_decimal(self) -> bool {
        let whole = if self.whole.is_empty() { "0" } else { self.whole };
        let scale = self.exponent - self.fraction.len() as i64;
        let length = (whole.len() + self.fraction.len()) as i64;
        length <= MOST_DIGITS
            && scale >= -9
            && scale % 3 == 0
            && !whole.starts_with('0')
            && !format!("{whole}{}", self.fraction).ends_with("000")
    }

    /// Go's quick test for canonical binaries: whole, and not a multiple of eight.
    fn is_kept_binary(self) -> bool {
        let whole = if self.whole.is_empty() { "0" } else { self.whole };
        let precision = 15 - whole.len() as i64 - self.exponent * 3 / 10 - 1;
        let Ok(value) = whole.parse::<i64>() else { return false };
        self.fraction.is_empty()
            && precision >= 0
            && value & 7 != 0
            && value.checked_mul(1_i64 << self.exponent).is_some()
    }

    /// A decimal, rounded to a billionth.
    fn rounded(self) -> Digits {
        let digits = format!("{}{}", self.whole, self.fraction);
        let digits = digits.trim_start_matches('0');
        let scale = self.exponent - self.fraction.len() as i64;
        let too_fine = usize::try_from(-9 - scale).unwrap_or(0);
        if too_fine == 0 || digits.is_empty() {
            return Digits { digits: digits.to_owned(), scale };
        }
        let (digits, rest) = digits.split_at(digits.len().saturating_sub(too_fine));
        let up = rest.bytes().any(|digit| digit != b'0');
        Digits { digits: if up { plus_one(digits) } else { digits.to_owned() }, scale: -9 }
    }

    /// A binary in billionths. Exact: at most 2^63 times 10^18, which fits into a 128-bit number.
    /// Further fractional digits only show that the fraction is not zero.
    fn binary_nanos(self) -> u128 {
        const PLACES: usize = 18;
        const LIMIT: u128 = i64::MAX as u128;
        let scale = 10_u128.pow(PLACES as u32);
        let (near, far) = self.fraction.split_at(self.fraction.len().min(PLACES));
        let fraction = format!("{near:0<PLACES$}").parse::<u128>().unwrap_or(0);
        let more = u128::from(far.bytes().any(|digit| digit != b'0'));
        let whole = match self.whole {
            "" => 0,
            whole => whole.parse::<u128>().unwrap_or(u128::MAX),
        };
        let fits = whole <= LIMIT >> self.exponent;
        let value = if fits { (whole * scale + fraction) << self.exponent } else { u128::MAX };
        let value = value.min(LIMIT * scale);
        value.div_ceil(scale / NANO) + if value == 0 { more } else { 0 }
    }
}

// === impl Digits ===

impl Digits {
    /// In billionths, at most [`u128::MAX`].
    fn nanos(&self) -> u128 {
        if self.digits.is_empty() {
            return 0;
        }
        let digits = self.digits.parse::<u128>().unwrap_or(u128::MAX);
        let power = u32::try_from(self.scale + 9).unwrap_or(u32::MAX);
        digits.saturating_mul(10_u128.saturating_pow(power))
    }
}

// === impl QuantityError ===

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuantityError::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            QuantityError::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl std::error::Error for QuantityError {}

fn split(text: &str, taken: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !taken(c)).unwrap_or(text.len()))
}

fn scale(suffix: &str) -> Result<(i64, Format), QuantityError> {
    const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(at) = DECIMAL.iter().position(|known| *known == suffix) {
        return Ok((at as i64 * 3 - 9, Format::Decimal));
    }
    if let Some(at) = BINARY.iter().position(|known| *known == suffix) {
        return Ok((at as i64 * 10 + 10, Format::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
    // Go truncates the exponent to 32 bits.
    exponent.map(|e| (i64::from(e as i32), Format::Exponent)).ok_or(QuantityError::Suffix)
}

fn plus_one(digits: &str) -> String {
    let kept = digits.trim_end_matches('9');
    let zeros = digits.len() - kept.len();
    let mut out = kept.as_bytes().to_vec();
    match out.last_mut() {
        Some(last) => *last += 1,
        None => out.push(b'1'),
    }
    out.extend(std::iter::repeat_n(b'0', zeros));
    String::from_utf8(out).expect("digits are ASCII")
}

fn decimal(amount: &Digits, format: Format) -> String {
    let stripped = amount.digits.trim_end_matches('0');
    if stripped.is_empty() {
        return "0".to_owned();
    }
    let mut scale = amount.scale + (amount.digits.len() - stripped.len()) as i64;
    let mut digits = stripped.to_owned();
    while scale % 3 != 0 {
        digits.push('0');
        scale -= 1;
    }
    let suffix = match (format, scale) {
        (_, 0) => String::new(),
        (Format::Exponent, scale) => format!("e{scale}"),
        (_, -9) => "n".to_owned(),
        (_, -6) => "u".to_owned(),
        (_, -3) => "m".to_owned(),
        (_, scale) => {
            let at = usize::try_from(scale / 3 - 1).unwrap_or(usize::MAX);
            ["k", "M", "G", "T", "P", "E"].get(at).copied().unwrap_or_default().to_owned()
        }
    };
    digits + &suffix
}

/// A binary quantity of this many billionths. Less than 1024, or with a fraction, it is printed as a
/// decimal.
fn binary(nanos: u128) -> String {
    if !nanos.is_multiple_of(NANO) || nanos < 1024 * NANO {
        return decimal(&Digits { digits: nanos.to_string(), scale: -9 }, Format::Decimal);
    }
    let (mut number, mut times) = (nanos / NANO, 0);
    while number >= 1024 && number.is_multiple_of(1024) {
        number /= 1024;
        times += 1;
    }
    let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(times).copied().unwrap_or_default();
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical_quantity(text: &str) -> Result<String, QuantityError> {
        Quantity::parse(text).map(Quantity::canonical)
    }

    #[test]
    fn quantities_are_printed_as_go_prints_them() {
        for (text, expected) in [
            ("0", "0"),
            ("00", "0"),
            ("-0", "0"),
            ("0Ki", "0"),
            ("1", "1"),
            ("100m", "100m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            (".5", "500m"),
            ("1.5", "1500m"),
            ("0.1", "100m"),
            ("10", "10"),
            ("1000", "1k"),
            ("100000", "100k"),
            ("1.500", "1.500"),
            ("5.000", "5"),
            ("1k", "1k"),
            ("1e3", "1e3"),
            ("1E3", "1E3"),
            ("1000e3", "1e6"),
            ("12e6", "12e6"),
            ("1e2", "100"),
            ("1.1n", "2n"),
            ("0.0000000001", "1n"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1Mi", "1Mi"),
            ("8Mi", "8Mi"),
            ("1000Mi", "1000Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1025Ki", "1025Ki"),
            ("0.5Mi", "512Ki"),
            ("-1.5", "-1500m"),
            ("+5", "+5"),
            ("100Ei", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775808"),
            ("100000000000000000000", "100E"),
            ("64Gi", "64Gi"),
            ("0.1Ki", "102400m"),
            ("1.1Ki", "1126400m"),
            ("1.", "1."),
            ("m", "0"),
            ("-.Ki", "0"),
            ("+.5m", "500u"),
            ("-1.5Ki", "-1536"),
            ("1.0001Ki", "1024102400u"),
            ("12345678901234567890123m", "12345678901234567890123m"),
            ("99999999999999999999E", "99999999999999999999E"),
            // Go has no suffix for it.
            ("1000000000000000000000", "1"),
        ] {
            assert_eq!(canonical_quantity(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_printed_alike_again() {
        for text in ["1.5Gi", "0.1Ki", "1e2", "100Ei", "-1.5", "1000e3", "5.000", "1.1n"] {
            let once = canonical_quantity(text).expect("a quantity");
            assert_eq!(canonical_quantity(&once), Ok(once.clone()), "{text}");
        }
    }

    #[test]
    fn errors_are_gos() {
        for (text, expected) in [
            ("", QuantityError::Format),
            ("1.2.3", QuantityError::Format),
            ("1 Gi", QuantityError::Format),
            ("1Kx", QuantityError::Format),
            ("abc", QuantityError::Format),
            ("1Gb", QuantityError::Format),
            ("1K", QuantityError::Suffix),
            ("1mm", QuantityError::Suffix),
            ("1i", QuantityError::Suffix),
            ("--1", QuantityError::Suffix),
            ("1e99999999999999999999", QuantityError::Suffix),
        ] {
            assert_eq!(canonical_quantity(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn a_quantity_without_a_number_is_known() {
        for (text, has_digits) in [
            ("0", true),
            ("1m", true),
            (".5", true),
            ("-0.", true),
            ("m", false),
            (".", false),
            ("e3", false),
        ] {
            assert_eq!(Quantity::parse(text).map(Quantity::has_digits), Ok(has_digits), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+0-9.a-zA-Z]{0,60}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                quantity.canonical();
                quantity.amount();
            }
        }
    }
}
