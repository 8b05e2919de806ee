//! Quantiles of a list, and the clock that both processes read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::load::table::Figure;

/// Sorts, and returns the value that this percentage of all does not exceed.
pub(crate) fn quantile<T: PartialOrd + Copy + Default>(values: &mut [T], percent: usize) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or_default()
}

/// Since the epoch.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Something measured for which there is no target.
pub(crate) fn plain(what: impl Into<String>, here: impl Into<String>) -> Figure {
    Figure { what: what.into(), here: here.into(), target: "", kubernetes: "", met: true }
}

/// Something measured, which should not be more than `most`.
pub(crate) fn bounded(
    what: impl Into<String>,
    here: impl Into<String>,
    value: f64,
    (target, most): (&'static str, f64),
) -> Figure {
    let met = value <= most;
    Figure { what: what.into(), here: here.into(), target, kubernetes: "", met }
}
