//! A number of Pods, absolute or in percent. Source: `k8s.io/apimachinery/pkg/util/intstr`,
//! `GetScaledValueFromIntOrPercent`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// How to round a percentage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
}

/// The number for a total. Absent or invalid values are zero; the server rejects invalid ones.
pub(super) fn of(value: Option<&IntOrString>, total: i32, rounding: Rounding) -> i32 {
    let percent = match value {
        None => return 0,
        Some(IntOrString::Int(number)) => return (*number).max(0),
        Some(IntOrString::String(text)) => text.strip_suffix('%'),
    };
    let Some(percent) = percent.and_then(|digits| digits.parse::<u32>().ok()) else { return 0 };
    let hundredths = i64::from(percent) * i64::from(total.max(0));
    let whole = match rounding {
        Rounding::Up => hundredths.saturating_add(99) / 100,
        Rounding::Down => hundredths / 100,
    };
    i32::try_from(whole).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_and_numbers_are_kept() {
        let percent = |text: &str| Some(IntOrString::String(text.to_owned()));
        for (value, total, up, down) in [
            (None, 10, 0, 0),
            (Some(IntOrString::Int(3)), 10, 3, 3),
            (Some(IntOrString::Int(-3)), 10, 0, 0),
            (percent("25%"), 10, 3, 2),
            (percent("25%"), 4, 1, 1),
            (percent("1%"), 1, 1, 0),
            (percent("100%"), 7, 7, 7),
            (percent("0%"), 7, 0, 0),
            (percent("25"), 7, 0, 0),
            (percent("x%"), 7, 0, 0),
            (percent("4294967295%"), i32::MAX, i32::MAX, i32::MAX),
        ] {
            assert_eq!(of(value.as_ref(), total, Rounding::Up), up, "{value:?} of {total}");
            assert_eq!(of(value.as_ref(), total, Rounding::Down), down, "{value:?} of {total}");
        }
    }
}
