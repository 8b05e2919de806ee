//! Kubernetes resource quantities, as far as CPU needs them: thousandths, rounded up.
//!
//! The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: a sign, digits with at most one
//! point, and one suffix out of `n u m k M G T P E`, `Ki Mi Gi Ti Pi Ei`, or an exponent such as
//! `e3`. Kubernetes caps what doesn't fit; here it is an error, because no node has that much CPU.

/// As many significant digits as 2⁶⁴ has. Times 2⁶⁰ (`Ei`) that still fits into 128 bits.
const MAX_DIGITS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    #[error("is not a quantity")]
    Malformed,
    #[error("is negative")]
    Negative,
    #[error("is too large")]
    TooLarge,
}

/// The value of `text` in thousandths, rounded up as `Quantity.MilliValue` does.
pub fn milli(text: &str) -> Result<u64, QuantityError> {
    let (negative, number) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    let digits = Digits::parse(&number[..end])?;
    let scale = Scale::parse(&number[end..])?;
    let value = digits.milli(scale)?;
    if negative && value > 0 {
        return Err(QuantityError::Negative);
    }
    Ok(value)
}

/// `mantissa` × 10^`exponent`, and a little more when `inexact`.
struct Digits {
    mantissa: u128,
    exponent: i64,
    inexact: bool,
}

#[derive(Clone, Copy)]
struct Scale {
    decimal: i64,
    binary: u32,
}

// === impl Digits ===

impl Digits {
    fn parse(text: &str) -> Result<Self, QuantityError> {
        let mut digits = Digits { mantissa: 0, exponent: 0, inexact: false };
        let mut seen = false;
        let mut point = false;
        for byte in text.bytes() {
            match byte {
                b'.' if point => return Err(QuantityError::Malformed),
                b'.' => point = true,
                digit => {
                    digits.push(u128::from(digit - b'0'), point);
                    seen = true;
                }
            }
        }
        if seen { Ok(digits) } else { Err(QuantityError::Malformed) }
    }

    /// Digits beyond the precision only tell whether to round up.
    fn push(&mut self, digit: u128, after_point: bool) {
        if self.mantissa < 10u128.pow(MAX_DIGITS - 1) {
            self.mantissa = self.mantissa * 10 + digit;
            self.exponent -= i64::from(after_point);
        } else {
            self.inexact |= digit != 0;
            self.exponent += i64::from(!after_point);
        }
    }

    fn milli(self, scale: Scale) -> Result<u64, QuantityError> {
        if self.mantissa == 0 {
            return Ok(0);
        }
        let shift = self.exponent + scale.decimal + 3;
        let mantissa = self.mantissa << scale.binary;
        let power =
            u32::try_from(shift.unsigned_abs()).ok().and_then(|shift| 10u128.checked_pow(shift));
        let value = if shift >= 0 {
            let value = power.and_then(|power| mantissa.checked_mul(power));
            let value = value.ok_or(QuantityError::TooLarge)?;
            value.saturating_add(u128::from(self.inexact))
        } else {
            // A power beyond 128 bits divides every mantissa to less than one.
            let power = power.unwrap_or(u128::MAX);
            let rounds_up = self.inexact || !mantissa.is_multiple_of(power);
            mantissa / power + u128::from(rounds_up)
        };
        u64::try_from(value).map_err(|_| QuantityError::TooLarge)
    }
}

// === impl Scale ===

impl Scale {
    fn parse(suffix: &str) -> Result<Self, QuantityError> {
        let (decimal, binary) = match suffix {
            "n" => (-9, 0),
            "u" => (-6, 0),
            "m" => (-3, 0),
            "" => (0, 0),
            "k" => (3, 0),
            "M" => (6, 0),
            "G" => (9, 0),
            "T" => (12, 0),
            "P" => (15, 0),
            "E" => (18, 0),
            "Ki" => (0, 10),
            "Mi" => (0, 20),
            "Gi" => (0, 30),
            "Ti" => (0, 40),
            "Pi" => (0, 50),
            "Ei" => (0, 60),
            exponent => (Scale::exponent(exponent)?, 0),
        };
        Ok(Scale { decimal, binary })
    }

    fn exponent(suffix: &str) -> Result<i64, QuantityError> {
        let digits = suffix.strip_prefix(['e', 'E']);
        let exponent = digits.and_then(|digits| digits.parse::<i32>().ok());
        exponent.map(i64::from).ok_or(QuantityError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::{QuantityError::*, *};

    #[test]
    fn quantities_become_thousandths_rounded_up() {
        let cases: &[(&str, u64)] = &[
            ("0", 0),
            ("-0", 0),
            ("2", 2_000),
            ("+2", 2_000),
            ("250m", 250),
            ("3920m", 3_920),
            ("1.5", 1_500),
            ("1.", 1_000),
            (".5", 500),
            ("0.0001", 1),
            ("0.1m", 1),
            ("100u", 1),
            ("1000u", 1),
            ("1001u", 2),
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
            ("1P", 1_000_000_000_000_000_000),
            ("18446744073709551.615", u64::MAX),
            ("18446744073709551615m", u64::MAX),
            ("0018446744073709551615m", u64::MAX),
            ("1.00000000000000000000000000000000", 1_000),
            ("1.00000000000000000000000000000001", 1_001),
            ("0.00000000000000000000000000000000000000000000001", 1),
        ];
        for (text, expected) in cases {
            assert_eq!(milli(text), Ok(*expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        let cases = [
            ("", Malformed),
            ("banana", Malformed),
            ("1.2.3", Malformed),
            (".", Malformed),
            ("+", Malformed),
            ("-", Malformed),
            ("m", Malformed),
            ("--1", Malformed),
            ("1 ", Malformed),
            (" 1", Malformed),
            ("1K", Malformed),
            ("1ki", Malformed),
            ("1mi", Malformed),
            ("1e", Malformed),
            ("1e1.5", Malformed),
            ("1e99999999999", Malformed),
            ("0x10", Malformed),
            ("１", Malformed),
            ("-1", Negative),
            ("-1n", Negative),
            ("1E", TooLarge),
            ("1Ei", TooLarge),
            ("18446744073709551616m", TooLarge),
            ("18446744073709551615.5m", TooLarge),
            ("1e2147483647", TooLarge),
            ("99999999999999999999999999999999999999999", TooLarge),
        ];
        for (text, expected) in cases {
            assert_eq!(milli(text), Err(expected), "{text}");
        }
    }
}
