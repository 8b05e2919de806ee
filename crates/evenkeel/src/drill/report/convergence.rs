//! When traffic had moved away from the lost zone.

use std::time::Duration;

use crate::drill::recording::{Outcome, Recording, Sample};

/// `samples` are those of the outage, in order. When the first request was sent after the last one
/// that failed or reached the lost zone: `Some(None)` if there was none of those, `None` if there was
/// no request after it.
pub(super) fn converged(
    samples: &[&Sample],
    recording: &Recording,
    lost: &str,
) -> Option<Option<Duration>> {
    let is_bad = |sample: &&Sample| match sample.outcome {
        Outcome::Failed(_) => true,
        Outcome::Answered(place) => recording.places.get(place).is_none_or(|at| *at.zone == *lost),
    };
    match samples.iter().rposition(is_bad) {
        None if samples.is_empty() => None,
        None => Some(None),
        Some(last) => samples.get(last + 1).map(|sample| Some(sample.sent)),
    }
}
