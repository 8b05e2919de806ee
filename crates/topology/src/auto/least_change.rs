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
//! O(endpoints + moves · zones); memory for each endpoint only where hints must be released.

use evenkeel_model::{Few, Hints};

use super::{Bounds, ZoneCounts, whole_slices::balance, without_zone, zone_of};
use crate::{
    Capacity, Draft, NoHints,
    capacity::{NO_ZONE, ZoneIdx},
};

/// A ready endpoint: where it is, and for which zone it is hinted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// [`NO_ZONE`]: a zone without capacity. Such endpoints are free to serve any zone.
    pub home: ZoneIdx,
    /// [`NO_ZONE`]: no hint that could stay.
    pub hinted: ZoneIdx,
}

/// The zone each place is to be hinted for, in the same order. `bounds` must be those for
/// `places.len()` endpoints.
pub fn assign(places: &[Position], bounds: &[Bounds]) -> Vec<ZoneIdx> {
    let tally = Tally::new(places, bounds.len());
    let lacks: Vec<u32> =
        bounds.iter().zip(&tally.kept).map(|(b, &kept)| b.minimum.saturating_sub(kept)).collect();
    let lack: u32 = lacks.iter().sum();
    let free: u32 = tally.free.iter().sum();
    if free == 0 && lack == 0 {
        return places.iter().map(|place| place.hinted).collect();
    }
    if lack <= free {
        return place_free(places, bounds, &tally);
    }
    let places = release(places, bounds, &tally.kept, &lacks, lack - free);
    place_free(&places, bounds, &Tally::new(&places, bounds.len()))
}

/// Positions counted by zone, with one slot more for those of no zone.
struct Tally {
    /// By the zone they are hinted for: hints that can stay.
    kept: Vec<u32>,
    /// The others, by the zone they are in.
    free: Vec<u32>,
}

impl Tally {
    fn new(places: &[Position], n_zones: usize) -> Self {
        // Neighbours count in two rows by turns, so that one need not wait for the other.
        let width = 2 * (n_zones + 1);
        let (mut even, mut odd) = (vec![0u32; width], vec![0u32; width]);
        let slot = |place: &Position| {
            let is_free = place.hinted == NO_ZONE;
            let zone = if is_free { place.home } else { place.hinted };
            usize::from(zone).min(n_zones) + if is_free { n_zones + 1 } else { 0 }
        };
        for pair in places.chunks(2) {
            even[slot(&pair[0])] += 1;
            if let Some(second) = pair.get(1) {
                odd[slot(second)] += 1;
            }
        }
        let mut kept: Vec<u32> = even.iter().zip(odd).map(|(even, odd)| even + odd).collect();
        let free = kept.split_off(n_zones + 1);
        Tally { kept, free }
    }
}

/// The places with `moves` hints taken off, so that their endpoints can serve zones in need.
fn release(
    places: &[Position],
    bounds: &[Bounds],
    kept: &[u32],
    lacks: &[u32],
    moves: u32,
) -> Vec<Position> {
    let mut kept = kept.to_vec();
    let mut releases = vec![0u32; bounds.len()];
    for _ in 0..moves {
        let from = furthest_above(bounds, &kept, |z| kept[z] > bounds[z].minimum)
            .expect("minimums sum to no more than there are endpoints");
        kept[from] -= 1;
        releases[from] += 1;
    }
    // First those that go home to a zone in need, then those that are not at home, then the rest.
    let goes_home = |p: &Position| lacks.get(usize::from(p.home)).is_some_and(|&lack| lack > 0);
    let not_at_home = |p: &Position| p.home != p.hinted;
    let any = |_: &Position| true;
    let rounds: [&dyn Fn(&Position) -> bool; 3] = [&goes_home, &not_at_home, &any];
    let mut places = places.to_vec();
    for round in rounds {
        for place in &mut places {
            let Some(left) = releases.get_mut(usize::from(place.hinted)) else {
                continue;
            };
            if *left > 0 && round(place) {
                *left -= 1;
                place.hinted = NO_ZONE;
            }
        }
    }
    places
}

/// Gives every free place its zone: its own, as long as that zone keeps its own, else the first
/// zone that is to get more.
fn place_free(places: &[Position], bounds: &[Bounds], tally: &Tally) -> Vec<ZoneIdx> {
    let n_zones = bounds.len();
    let quota = quotas(bounds, tally);
    let mut leave: Vec<u32> =
        tally.free.iter().zip(&quota).map(|(&free, &quota)| free.saturating_sub(quota)).collect();
    let mut enter: Vec<u32> =
        tally.free.iter().zip(&quota).map(|(&free, &quota)| quota.saturating_sub(free)).collect();
    let mut to = 0;
    let target = |place: &Position| {
        if place.hinted != NO_ZONE {
            return place.hinted;
        }
        let leaving = &mut leave[usize::from(place.home).min(n_zones)];
        if *leaving == 0 {
            return place.home;
        }
        *leaving -= 1;
        while enter[to] == 0 {
            to += 1;
        }
        enter[to] -= 1;
        ZoneIdx::try_from(to).expect("an index of a zone")
    };
    places.iter().map(target).collect()
}

/// How many free endpoints each zone gets: first its own, then what balances the zones, then what
/// the minimums demand. The slot for no zone gets none.
fn quotas(bounds: &[Bounds], tally: &Tally) -> Vec<u32> {
    let n_zones = bounds.len();
    let mut quota = tally.free.clone();
    let homeless = std::mem::take(&mut quota[n_zones]);
    let mut held: Vec<u32> =
        tally.kept[..n_zones].iter().zip(&quota).map(|(kept, quota)| kept + quota).collect();
    for _ in 0..homeless {
        let need = |z: usize| bounds[z].desired - f64::from(held[z]);
        let to = (0..n_zones).reduce(|best, z| if need(z) > need(best) { z } else { best });
        let to = to.expect("two zones or more");
        quota[to] += 1;
        held[to] += 1;
    }
    let (giving, receiving) = balance(bounds, &held, &quota);
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

/// The zone furthest above its fair part among those that `may` give, the first of equals.
fn furthest_above(bounds: &[Bounds], held: &[u32], may: impl Fn(usize) -> bool) -> Option<usize> {
    let excess = |z: usize| f64::from(held[z]) - bounds[z].desired;
    let zones = (0..bounds.len()).filter(|&z| may(z));
    zones.reduce(|best, z| if excess(z) > excess(best) { z } else { best })
}

/// The ready endpoints of all slices, in order.
pub(super) struct Positions {
    pub places: Vec<Position>,
    /// How many of them each slice has.
    pub of_slice: Vec<usize>,
    /// The first ready endpoint without a zone, if there is one: then there can be no hints.
    pub unzoned: Result<(), NoHints>,
}

pub(super) fn places(drafts: &[Draft<'_>], capacity: &Capacity) -> Positions {
    let upper = drafts.iter().map(|d| d.slice.endpoints.len()).sum();
    let mut places = Vec::with_capacity(upper);
    let mut of_slice = Vec::with_capacity(drafts.len());
    let mut unzoned = Ok(());
    for draft in drafts {
        let before = places.len();
        for endpoint in draft.slice.endpoints.iter().filter(|e| e.is_ready()) {
            let home = match zone_of(endpoint) {
                Some(zone) => capacity.index_of(zone),
                None => {
                    unzoned = unzoned.and_then(|()| Err(without_zone(endpoint)));
                    NO_ZONE
                }
            };
            places.push(Position { home, hinted: hinted(endpoint.hints.as_ref(), capacity) });
        }
        of_slice.push(places.len() - before);
    }
    Positions { places, of_slice, unzoned }
}

/// Writes the targets of [`assign`] into the slices. Only slices with a changed hint are written.
pub(super) fn write(
    drafts: &mut [Draft<'_>],
    capacity: &Capacity,
    places: &Positions,
    targets: &[ZoneIdx],
) -> ZoneCounts {
    let mut counts = vec![0u32; capacity.zones().len()];
    for &target in targets {
        counts[usize::from(target)] += 1;
    }
    let (mut places_left, mut targets_left) = (places.places.as_slice(), targets);
    for (draft, &n_ready) in drafts.iter_mut().zip(&places.of_slice) {
        let (here, rest) = places_left.split_at(n_ready);
        let (ours, others) = targets_left.split_at(n_ready);
        (places_left, targets_left) = (rest, others);
        let changed = |(place, target): (&Position, &ZoneIdx)| place.hinted != *target;
        if !here.iter().zip(ours).any(changed) {
            continue;
        }
        let ready = draft.change().iter_mut().filter(|e| e.is_ready());
        for ((endpoint, place), &target) in ready.zip(here).zip(ours) {
            if place.hinted != target {
                let zone = capacity.zones()[usize::from(target)].zone;
                endpoint.hints = Some(Hints::zone(zone));
            }
        }
    }
    let zones = capacity.zones().iter().zip(counts);
    zones.map(|(zone, count)| (zone.zone, count)).collect()
}

/// The zone that a hint names, if the hint could stay: one zone with capacity, and no nodes.
fn hinted(hints: Option<&Hints>, capacity: &Capacity) -> ZoneIdx {
    match hints {
        Some(Hints { zones: Few::One(zone), nodes: Few::None }) => capacity.index_of(*zone),
        _ => NO_ZONE,
    }
}
