//! How many endpoints each zone must have, should have and may have.
//!
//! The float arithmetic is Kubernetes' own, operation by operation: where a minimum is a whole
//! number in exact arithmetic, rounding decides whether a Service gets hints, and both must agree.

use crate::{Capacity, NoHints};

/// The bounds of one zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// With fewer, the zone's endpoints are overloaded.
    pub minimum: u32,
    /// With more, another zone can't reach its minimum.
    pub maximum: u32,
    /// The zone's fair part, but never below the minimum.
    pub desired: f64,
}

/// The bounds of each zone of `capacity` for `n` ready endpoints, or why there can't be hints.
pub fn bounds(capacity: &Capacity, n: u32, threshold: f64) -> Result<Vec<Bounds>, NoHints> {
    let zones = u32::try_from(capacity.zones().len()).expect("zones are counted in 16 bits");
    if zones > n {
        return Err(NoHints::NotEnoughEndpoints { endpoints: n, zones });
    }
    let mut bounds: Vec<Bounds> = capacity
        .zones()
        .iter()
        .map(|zone| {
            let desired = zone.ratio * f64::from(n);
            let minimum = minimum(desired, threshold);
            Bounds { minimum, maximum: 0, desired: desired.max(f64::from(minimum)) }
        })
        .collect();
    let required: u32 = bounds.iter().map(|b| b.minimum).sum();
    if required > n {
        return Err(NoHints::Overload { endpoints: n, zones, required, threshold });
    }
    for zone in &mut bounds {
        zone.maximum = zone.minimum + (n - required);
    }
    Ok(bounds)
}

/// The fewest endpoints for a fair part of `desired` that stay within the threshold.
pub fn minimum(desired: f64, threshold: f64) -> u32 {
    // The cast saturates, and desired is at most the number of endpoints.
    (desired * (1.0 / (1.0 + threshold))).ceil() as u32
}

/// The next number of endpoints from `n` upwards at which hints are possible, if there is one
/// within `limit`.
pub fn next_possible(capacity: &Capacity, n: u32, threshold: f64, limit: u32) -> Option<u32> {
    (n..=limit).find(|&n| bounds(capacity, n, threshold).is_ok())
}
