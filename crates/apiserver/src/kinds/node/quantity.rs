//! Quantities (`1500m`, `4Gi`), as far as needed for a node's resources: their sign, and whether
//! they are whole. Source: `k8s.io/apimachinery/pkg/api/resource`.

/// Thousandths, rounded away from zero as in Kubernetes; `None` if this is not a quantity or too
/// large to matter (it is then whole).
pub(super) fn thousandths(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
    let (mantissa, suffix) = digits.split_at(end);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, exponent) = scale(suffix)?;
    let exponent = exponent.checked_add(3)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let scaled = all.checked_mul(factor)?;
    let size = match exponent < 0 {
        true => scaled / power + i128::from(scaled % power != 0),
        false => scaled.checked_mul(power)?,
    };
    Some(if negative { -size } else { size })
}

/// A suffix as a factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "" => (1, 0),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        other => (1, other.strip_prefix(['e', 'E'])?.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "-?[0-9.]{0,45}(|m|n|Ei|e-?[0-9]{0,10})") {
            let read = thousandths(&text);
            prop_assert!(read.is_none_or(|amount| text.starts_with('-') || amount >= 0));
        }
    }

    #[test]
    fn quantities_are_read_in_thousandths() {
        for (text, expected) in [
            ("1", Some(1000)),
            ("-1", Some(-1000)),
            ("1500m", Some(1500)),
            ("1.5", Some(1500)),
            ("1u", Some(1)),
            ("999999u", Some(1000)),
            ("2Ki", Some(2_048_000)),
            ("1e3", Some(1_000_000)),
            ("1E", Some(1_000_000_000_000_000_000_000)),
            ("0", Some(0)),
            ("x", None),
            ("", None),
            ("1e99999999999", None),
        ] {
            assert_eq!(thousandths(text), expected, "{text}");
        }
    }
}
