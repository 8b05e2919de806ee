//! How many endpoints each zone gets, as Kubernetes decides it, but never below a minimum.
//!
//! Endpoints go to their own zone, then from zones with more than their part to zones with less, as
//! [`super::whole_slices`] does it: where nothing was hinted before, both give the same hints.
//! Last, whatever zone is still below its minimum gets more. O(moves · zones).

use super::{Bounds, whole_slices::balance};

/// How many endpoints each zone gets beside the hints it keeps. `home`: where they are, with a last
/// slot for no zone. There must be enough of them to bring each zone to its minimum. Beyond that,
/// no zone gives more of its own than `most`.
pub(super) fn quotas(
    bounds: &[Bounds],
    kept: &[u32],
    home: &[u32],
    most: Option<&[u32]>,
) -> Vec<u32> {
    let n_zones = bounds.len();
    let mut quota = home[..n_zones].to_vec();
    let mut held: Vec<u32> = kept.iter().zip(&quota).map(|(kept, quota)| kept + quota).collect();
    for _ in 0..home[n_zones] {
        let need = |z: usize| bounds[z].desired - f64::from(held[z]);
        let to = (0..n_zones).reduce(|best, z| if need(z) > need(best) { z } else { best });
        let to = to.expect("two zones or more");
        quota[to] += 1;
        held[to] += 1;
    }
    let own = |most: &[u32], z: usize| quota[z] - home[z] + home[z].min(most[z]);
    let can_give = most.map(|most| (0..n_zones).map(|z| own(most, z)).collect::<Vec<u32>>());
    let (giving, receiving) = balance(bounds, &held, can_give.as_ref().unwrap_or(&quota));
    for z in 0..n_zones {
        quota[z] = quota[z] - giving[z] + receiving[z];
        held[z] = held[z] - giving[z] + receiving[z];
    }
    while let Some(to) = (0..n_zones).find(|&z| held[z] < bounds[z].minimum) {
        let spare = |z: usize| quota[z] > 0 && held[z] > bounds[z].minimum;
        let from =
            furthest_above(bounds, &held, spare).expect("the lack is no more than what is free");
        for (zone, by) in [(from, -1), (to, 1)] {
            quota[zone] = quota[zone].wrapping_add_signed(by);
            held[zone] = held[zone].wrapping_add_signed(by);
        }
    }
    quota
}

/// How many endpoints of each zone leave it when hints are given from nothing.
pub(super) fn from_nothing(bounds: &[Bounds], home: &[u32]) -> Vec<u32> {
    let quota = quotas(bounds, &vec![0; bounds.len()], home, None);
    home.iter().zip(quota).map(|(home, quota)| home.saturating_sub(quota)).collect()
}

/// The zone furthest above its fair part among those that `may` give, the first of equals.
pub(super) fn furthest_above(
    bounds: &[Bounds],
    held: &[u32],
    may: impl Fn(usize) -> bool,
) -> Option<usize> {
    let excess = |z: usize| f64::from(held[z]) - bounds[z].desired;
    let zones = (0..bounds.len()).filter(|&z| may(z));
    zones.reduce(|best, z| if excess(z) > excess(best) { z } else { best })
}
