//! Durations of flags.

use std::time::Duration;

/// The longest duration accepted.
const LONGEST: f64 = 30.0 * 86_400.0;

const UNITS: [(&str, f64); 7] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// A number and a unit, as in `1.5s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let Some((_, seconds)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("{text:?} has no known unit; use ns, us, ms, s, m or h, as in 1.5s"));
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{text:?} is not a duration"))?;
    let seconds = number * seconds;
    if !(0.0..=LONGEST).contains(&seconds) {
        return Err(format!("{text:?} is out of range: 0s to 720h"));
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_a_sensible_number() {
        let cases = [("10ms", 10_000_000), ("1.5s", 1_500_000_000), ("2 m", 120_000_000_000)];
        for (text, nanos) in cases {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in ["", "10", "s", "-1s", "nans", "infs", "1e99h", "5 parsecs", "1s2s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
