//! Quantities as Go's `resource.Quantity` reads and prints them.
//!
//! A quantity is a decimal with a suffix: powers of ten (`m`, `k`, `M`, or `e3`), or powers of 1024
//! (`Ki`, `Mi`). Go keeps the text unchanged if it considers it canonical, by a rule of its own
//! that the vectors record; otherwise it prints the number with the largest suffix that leaves no
//! fraction. Fractions below a billionth are rounded away from zero. Source:
//! `k8s.io/apimachinery/pkg/api/resource` (`quantity.go`, `suffix.go`, `amount.go`).

/// Why a text is not a quantity, in Go's wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// The parts of a quantity. `whole` has no leading zeros.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// Digits without a point, and the power of ten to multiply them by.
struct Amount {
    digits: String,
    scale: i64,
}

/// Digits that always fit into a 64-bit number.
const MOST_DIGITS: i64 = 18;

/// The printed form of a quantity.
pub fn canonical_quantity(text: &str) -> Result<String, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let parts = parts(text)?;
    let (exponent, format) = suffix(parts.suffix)?;
    let kept = match format {
        Format::Binary => binary_is_kept(&parts, exponent),
        _ => decimal_is_kept(&parts, exponent),
    };
    if kept {
        return Ok(text.to_owned());
    }
    let printed = match format {
        Format::Binary => binary(&parts, exponent),
        format => decimal(&rounded(amount(&parts, exponent)), format),
    };
    let sign = if parts.negative && printed != "0" { "-" } else { "" };
    Ok(format!("{sign}{printed}"))
}

fn parts(text: &str) -> Result<Parts<'_>, QuantityError> {
    let negative = text.starts_with('-');
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = rest.trim_start_matches('0');
    let (whole, rest) = split(rest, |c| c.is_ascii_digit());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => split(rest, |c| c.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, digits) = split(suffix, |c| "eEinumkKMGTP".contains(c));
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if !digits.chars().all(|c| c.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    Ok(Parts { negative, whole, fraction, suffix })
}

fn split(text: &str, taken: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !taken(c)).unwrap_or(text.len()))
}

fn suffix(text: &str) -> Result<(i64, Format), QuantityError> {
    const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(at) = DECIMAL.iter().position(|suffix| *suffix == text) {
        return Ok((at as i64 * 3 - 9, Format::Decimal));
    }
    if let Some(at) = BINARY.iter().position(|suffix| *suffix == text) {
        return Ok((at as i64 * 10 + 10, Format::Binary));
    }
    let exponent = text.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
    // Go truncates the exponent to 32 bits.
    exponent.map(|e| (i64::from(e as i32), Format::Exponent)).ok_or(QuantityError::Suffix)
}

/// Go's quick test for canonical decimals.
fn decimal_is_kept(parts: &Parts<'_>, exponent: i64) -> bool {
    let whole = if parts.whole.is_empty() { "0" } else { parts.whole };
    let scale = exponent - parts.fraction.len() as i64;
    let length = (whole.len() + parts.fraction.len()) as i64;
    length <= MOST_DIGITS
        && scale >= -9
        && scale % 3 == 0
        && !whole.starts_with('0')
        && !format!("{whole}{}", parts.fraction).ends_with("000")
}

/// Go's quick test for canonical binaries: whole, and not a multiple of eight.
fn binary_is_kept(parts: &Parts<'_>, exponent: i64) -> bool {
    let whole = if parts.whole.is_empty() { "0" } else { parts.whole };
    let precision = 15 - whole.len() as i64 - exponent * 3 / 10 - 1;
    let Ok(value) = whole.parse::<i64>() else { return false };
    parts.fraction.is_empty()
        && precision >= 0
        && value & 7 != 0
        && value.checked_mul(1_i64 << exponent).is_some()
}

fn amount(parts: &Parts<'_>, exponent: i64) -> Amount {
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let digits = digits.trim_start_matches('0').to_owned();
    Amount { digits, scale: exponent - parts.fraction.len() as i64 }
}

/// Rounds to a billionth.
fn rounded(amount: Amount) -> Amount {
    let too_fine = usize::try_from(-9 - amount.scale).unwrap_or(0);
    if too_fine == 0 || amount.digits.is_empty() {
        return amount;
    }
    let kept = amount.digits.len().saturating_sub(too_fine);
    let (digits, rest) = amount.digits.split_at(kept);
    let up = rest.bytes().any(|digit| digit != b'0');
    Amount { digits: if up { plus_one(digits) } else { digits.to_owned() }, scale: -9 }
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

fn decimal(amount: &Amount, format: Format) -> String {
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

/// A binary quantity, exact: at most 2^63 times 10^18, which fits into a 128-bit number. Further
/// fractional digits only show that the fraction is not zero.
fn binary(parts: &Parts<'_>, exponent: i64) -> String {
    const PLACES: usize = 18;
    const LIMIT: u128 = i64::MAX as u128;
    let scale = 10_u128.pow(PLACES as u32);
    let (near, far) = parts.fraction.split_at(parts.fraction.len().min(PLACES));
    let fraction = format!("{near:0<PLACES$}").parse::<u128>().unwrap_or(0);
    let more = u128::from(far.bytes().any(|digit| digit != b'0'));
    let whole = match parts.whole {
        "" => 0,
        whole => whole.parse::<u128>().unwrap_or(u128::MAX),
    };
    let capped = if whole > LIMIT >> exponent { None } else { Some(whole * scale + fraction) };
    let value = capped.map_or(LIMIT * scale, |value| (value << exponent).min(LIMIT * scale));
    let nanos = value.div_ceil(10_u128.pow(PLACES as u32 - 9)) + if value == 0 { more } else { 0 };
    if nanos % 1_000_000_000 != 0 || nanos < 1024 * 1_000_000_000 {
        return decimal(&Amount { digits: nanos.to_string(), scale: -9 }, Format::Decimal);
    }
    let (mut number, mut times) = (nanos / 1_000_000_000, 0);
    while number >= 1024 && number % 1024 == 0 {
        number /= 1024;
        times += 1;
    }
    let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(times).copied().unwrap_or_default();
    format!("{number}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(canonical_quantity(text), Err(expected), "{text}");
        }
    }
}
