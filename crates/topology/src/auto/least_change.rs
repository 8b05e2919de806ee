//! Hints with the fewest changes: every hint that is right stays, and as few as possible are moved
//! to bring each zone to its minimum.
//!
//! Let `kept[z]` be the hints in place for zone `z`, and the other ready endpoints be *free*: they
//! have no hint that could stay, so each changes whatever we do. Zones below their minimum lack
//! `D = Σ max(0, minimum[z] − kept[z])` in all. Free endpoints can make up for it without a further
//! change; beyond them exactly `max(0, D − free)` hints in place must move, since each move lowers
//! the lack by one at most. That many are released, from the zones furthest above their fair part,
//! and the bound is met: no assignment within the minimums changes fewer (the property test
//! compares with brute force).
//!
//! Free endpoints then go to their own zone, and from zones with more than their part to zones with
//! less, as [`super::whole_slices`] does it: where nothing was hinted before, both give the same
//! hints. Last, whatever zone is still below its minimum is served from free endpoints.
//!
//! O(endpoints + moves · zones), no allocation per endpoint beyond the result.

use evenkeel_model::{Few, Hints, ZoneId};

use super::{Bounds, ZoneCounts, whole_slices::balance, zone_of};
use crate::{
    Capacity, Draft, NoHints,
    capacity::{NO_ZONE, ZoneIdx},
};

/// A ready endpoint: where it is, and for which zone it is hinted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// [`NO_ZONE`]: a zone without capacity. Such endpoints are free to serve any zone.
    pub home: ZoneIdx,
    /// [`NO_ZONE`]: no hint that could stay.
    pub hinted: ZoneIdx,
}

/// The zone each place is to be hinted for, in the same order. `bounds` must be those for
/// `places.len()` endpoints.
pub fn assign(places: &[Place], bounds: &[Bounds]) -> Vec<ZoneIdx> {
    let mut kept = vec![0u32; bounds.len()];
    for place in places {
        if let Some(count) = kept.get_mut(usize::from(place.hinted)) {
            *count += 1;
        }
    }
    let n_kept: u32 = kept.iter().sum();
    let n_free = u32::try_from(places.len()).expect("bounds were made for it") - n_kept;
    if n_free == 0 && (0..kept.len()).all(|z| kept[z] >= bounds[z].minimum) {
        return places.iter().map(|place| place.hinted).collect();
    }
    let mut targets: Vec<ZoneIdx> = places.iter().map(|place| place.hinted).collect();
    release(places, bounds, &mut kept, n_free, &mut targets);
    place_free(places, bounds, &kept, &mut targets);
    targets
}

/// Releases the hints that must move: their targets become [`NO_ZONE`], `kept` shrinks.
fn release(
    places: &[Place],
    bounds: &[Bounds],
    kept: &mut [u32],
    n_free: u32,
    targets: &mut [ZoneIdx],
) {
    let lack = |z: usize, kept: &[u32]| bounds[z].minimum.saturating_sub(kept[z]);
    let lacks: Vec<u32> = (0..kept.len()).map(|z| lack(z, kept)).collect();
    let moves = lacks.iter().sum::<u32>().saturating_sub(n_free);
    if moves == 0 {
        return;
    }
    let mut releases = vec![0u32; kept.len()];
    for _ in 0..moves {
        let excess = |z: usize| f64::from(kept[z]) - bounds[z].desired;
        let from = (0..kept.len())
            .filter(|&z| kept[z] > bounds[z].minimum)
            .reduce(|best, z| if excess(z) > excess(best) { z } else { best })
            .expect("minimums sum to no more than there are endpoints");
        kept[from] -= 1;
        releases[from] += 1;
    }
    // First those that go home to a zone in need, then those that are not at home, then the rest.
    let goes_home = |p: &Place| lacks.get(usize::from(p.home)).is_some_and(|&lack| lack > 0);
    let not_at_home = |p: &Place| p.home != p.hinted;
    let any = |_: &Place| true;
    let wishes: [&dyn Fn(&Place) -> bool; 3] = [&goes_home, &not_at_home, &any];
    for wish in wishes {
        for (place, target) in places.iter().zip(&mut *targets) {
            let Some(left) = releases.get_mut(usize::from(*target)) else {
                continue;
            };
            if *left > 0 && wish(place) {
                *left -= 1;
                *target = NO_ZONE;
            }
        }
    }
}

/// Gives every free place its zone.
fn place_free(places: &[Place], bounds: &[Bounds], kept: &[u32], targets: &mut [ZoneIdx]) {
    let n_zones = kept.len();
    let mut at_home = vec![0u32; n_zones];
    let mut homeless = 0;
    for (place, _) in places.iter().zip(&*targets).filter(|(_, t)| **t == NO_ZONE) {
        match at_home.get_mut(usize::from(place.home)) {
            Some(count) => *count += 1,
            None => homeless += 1,
        }
    }
    let quota = quotas(bounds, kept, &at_home, homeless);
    let mut leave: Vec<u32> = (0..n_zones).map(|z| at_home[z].saturating_sub(quota[z])).collect();
    let mut enter: Vec<u32> = (0..n_zones).map(|z| quota[z].saturating_sub(at_home[z])).collect();
    for (place, target) in places.iter().zip(targets).filter(|(_, t)| **t == NO_ZONE) {
        let stays = match leave.get_mut(usize::from(place.home)) {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        *target = if stays {
            place.home
        } else {
            let to = enter.iter().position(|&count| count > 0).expect("quotas sum to all free");
            enter[to] -= 1;
            ZoneIdx::try_from(to).expect("an index of a zone")
        };
    }
}

/// How many free endpoints each zone gets: first its own, then what balances the zones, then what
/// the minimums demand.
fn quotas(bounds: &[Bounds], kept: &[u32], at_home: &[u32], homeless: u32) -> Vec<u32> {
    let n_zones = kept.len();
    let mut quota = at_home.to_vec();
    let held = |quota: &[u32]| -> Vec<u32> { (0..n_zones).map(|z| kept[z] + quota[z]).collect() };
    for _ in 0..homeless {
        let held = held(&quota);
        let need = |z: usize| bounds[z].desired - f64::from(held[z]);
        let to = (0..n_zones).reduce(|best, z| if need(z) > need(best) { z } else { best });
        quota[to.expect("two zones or more")] += 1;
    }
    let (giving, receiving) = balance(bounds, &held(&quota), &quota);
    for z in 0..n_zones {
        quota[z] = quota[z] - giving[z] + receiving[z];
    }
    loop {
        let held = held(&quota);
        let Some(to) = (0..n_zones).find(|&z| held[z] < bounds[z].minimum) else {
            return quota;
        };
        let excess = |z: usize| f64::from(held[z]) - bounds[z].desired;
        let from = (0..n_zones)
            .filter(|&z| quota[z] > 0 && held[z] > bounds[z].minimum)
            .reduce(|best, z| if excess(z) > excess(best) { z } else { best })
            .expect("the lack is no more than what is free");
        quota[from] -= 1;
        quota[to] += 1;
    }
}

/// [`assign`] over the ready endpoints of all slices. Only slices with a changed hint are written.
pub(super) fn assign_slices(
    drafts: &mut [Draft<'_>],
    capacity: &Capacity,
    bounds: &[Bounds],
) -> Result<ZoneCounts, NoHints> {
    let mut places = Vec::new();
    for endpoint in drafts.iter().flat_map(|d| &d.slice.endpoints).filter(|e| e.is_ready()) {
        places.push(Place {
            home: capacity.index_of(zone_of(endpoint)?),
            hinted: hinted(endpoint.hints.as_ref(), capacity),
        });
    }
    let targets = assign(&places, bounds);
    let mut counts = vec![0u32; bounds.len()];
    let mut next = places.iter().zip(&targets);
    for draft in drafts {
        for e in 0..draft.slice.endpoints.len() {
            if !draft.slice.endpoints[e].is_ready() {
                continue;
            }
            let (place, &target) = next.next().expect("one place for each ready endpoint");
            counts[usize::from(target)] += 1;
            if place.hinted != target {
                draft.set_hints(e, Some(Hints::zone(zone_at(capacity, target))));
            }
        }
    }
    let zones = capacity.zones().iter().zip(counts);
    Ok(zones.map(|(zone, count)| (zone.zone, count)).collect())
}

/// The zone that a hint names, if the hint could stay: one zone with capacity, and no nodes.
fn hinted(hints: Option<&Hints>, capacity: &Capacity) -> ZoneIdx {
    match hints {
        Some(Hints { zones: Few::One(zone), nodes: Few::None }) => capacity.index_of(*zone),
        _ => NO_ZONE,
    }
}

fn zone_at(capacity: &Capacity, idx: ZoneIdx) -> ZoneId {
    capacity.zones()[usize::from(idx)].zone
}
