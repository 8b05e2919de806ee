//! Ages in at most two units, as in `kubectl get`. Source of the steps:
//! `k8s.io/apimachinery/pkg/util/duration` (`HumanDuration`).

use jiff::Timestamp;
use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The time since a timestamp of an object; `<unknown>` if absent.
pub(crate) fn since(timestamp: &Value, now: Timestamp) -> String {
    age(timestamp.as_str().unwrap_or_default(), now)
}

/// Like [`since`], for a timestamp in RFC 3339 form.
pub(crate) fn age(timestamp: &str, now: Timestamp) -> String {
    match timestamp.parse::<Timestamp>() {
        Ok(then) => duration(now.duration_since(then).as_secs()),
        Err(_) => "<unknown>".to_owned(),
    }
}

/// A duration in seconds as text: `119s`, `2m5s`, `5d2h`. Clocks may differ by a second.
pub(crate) fn duration(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds / HOUR, 'h', seconds % HOUR / MINUTE, 'm'),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds / DAY, 'd', seconds % DAY / HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, 'y', seconds % YEAR / DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// The smaller unit is omitted if it is zero.
fn two(large: i64, large_unit: char, small: i64, small_unit: char) -> String {
    if small == 0 {
        return format!("{large}{large_unit}");
    }
    format!("{large}{large_unit}{small}{small_unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_age_has_two_or_three_digits_that_count() {
        for (seconds, words) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 59, "3h"),
            (7 * HOUR + 61, "7h1m"),
            (8 * HOUR + 61, "8h"),
            (47 * HOUR, "47h"),
            (48 * HOUR, "2d"),
            (5 * DAY + 2 * HOUR, "5d2h"),
            (8 * DAY + HOUR, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + DAY, "2y1d"),
            (8 * YEAR + DAY, "8y"),
        ] {
            assert_eq!(duration(seconds), words, "{seconds} seconds");
        }
    }

    #[test]
    fn a_missing_time_is_unknown() {
        let now: Timestamp = "2020-01-01T00:01:30Z".parse().unwrap();
        assert_eq!(since(&json!(null), now), "<unknown>");
        assert_eq!(since(&json!("2020-01-01T00:00:00Z"), now), "90s");
        assert_eq!(since(&json!("2020-01-01T00:00:00.500000Z"), now), "89s");
    }
}
