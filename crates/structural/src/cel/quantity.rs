//! The quantities that can be calculated with.
//!
//! `kube-cel` holds a quantity as 128 bits and a power of ten, and overflows beyond them. Kubernetes
//! caps quantities at 2^63 and rounds them up to a billionth: what is within these bounds, with room
//! for sums, is allowed here.

/// Digits before the decimal point, and after it.
const MOST_DIGITS: i64 = 24;
const MOST_DECIMALS: i64 = 9;

/// Whether a text is a number that can be calculated with, if it is a quantity.
pub(super) fn is_in_range(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let Some(exponent) = exponent(suffix) else { return false };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    if number.len() > 64 {
        return false;
    }
    let digits = whole.trim_start_matches('0').len() as i64 + exponent.max(0);
    let decimals = decimals.len() as i64 - exponent.min(0);
    digits <= MOST_DIGITS && decimals <= MOST_DECIMALS
}

/// The power of ten of a suffix; that of a binary one, rounded up.
fn exponent(suffix: &str) -> Option<i64> {
    Some(match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "Ki" => 4,
        "M" => 6,
        "Mi" => 7,
        "G" => 9,
        "Gi" => 10,
        "T" => 12,
        "Ti" => 13,
        "P" => 15,
        "Pi" => 16,
        "E" => 18,
        "Ei" => 19,
        _ => {
            return suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|e| (-9..=24).contains(e));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::is_in_range;

    #[test]
    fn usual_quantities_are_in_range() {
        for text in
            ["0", "1", "-1.5", "100m", "1n", "1.5Gi", "8Ei", "9E", "1e3", "12E+2", "0.000000001"]
        {
            assert!(is_in_range(text), "{text}");
        }
        for text in
            ["1e999999999", "1e-2147483648", "1.5n", "1x", "1e", "99999999999999999999999999"]
        {
            assert!(!is_in_range(text), "{text}");
        }
    }
}
