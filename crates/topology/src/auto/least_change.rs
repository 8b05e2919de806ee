//! Hints with the fewest writes, then the fewest endpoints away from their zone, then the fewest
//! changes.
//!
//! A write costs as much with one changed hint as with a hundred. So the slices come first: those
//! that are written anyway, those with an endpoint that has no hint that could stay, and as few
//! more as the zones' minimums and the allowance for locality demand (`auto/open.rs`). Endpoints
//! in all other slices keep their hints.
//!
//! In written slices, hints for an endpoint's own zone stay unless a minimum demands otherwise
//! (`auto/pool.rs`). The other endpoints are given to zones as if they had no hints
//! (`auto/quota.rs`): that says how many each zone gets and how many of them come from other
//! zones. A swap (an endpoint of zone x hinted for y beside one of y hinted for x, or a longer
//! cycle) is in no such solution. Among all ways to meet it the one that changes the fewest hints
//! is taken (`auto/exchange.rs`). The property tests compare with brute force.
//!
//! Planning again finds the same endpoints, all fixed: minimums are met, and the excess is what it
//! was. O(endpoints + moves · zones), a flow through 2 · zones nodes, and what `open` costs where it
//! writes slices; memory for each endpoint only for the result.

use evenkeel_model::{Few, Hints};

use super::{
    Bounds, ZoneCounts,
    exchange::Exchange,
    open::{Allowance, for_locality, for_minimums},
    pool::Pool,
    tally::Tally,
    without_zone, zone_of,
};
use crate::{
    Capacity, Draft, NoHints, Role,
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

/// The ready endpoints of one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub len: usize,
    /// Whether the slice is written whatever its hints are.
    pub written: bool,
}

/// The zone each place is to be hinted for, in the same order, where all are in slices that are
/// written anyway. `bounds` must be those for `places.len()` endpoints.
pub fn assign(places: &[Position], bounds: &[Bounds]) -> Vec<ZoneIdx> {
    let mut tally = Tally::new(bounds.len());
    tally.writable.add(places);
    let pool = Pool::new(bounds, &tally);
    let mut exchange = Exchange::new(bounds, &tally, pool);
    places.iter().map(|place| exchange.target(place)).collect()
}

/// The same for places of which some are in slices that are not written yet.
pub(super) fn assign_slices(
    positions: &mut Positions,
    bounds: &[Bounds],
    allowance: &Allowance<'_>,
) -> Vec<ZoneIdx> {
    let Positions { places, spans, .. } = positions;
    let mut tally = Tally::new(bounds.len());
    let mut rest = places.as_slice();
    for alike in spans.chunk_by(|a, b| a.written == b.written) {
        let (places, others) = rest.split_at(alike.iter().map(|span| span.len).sum());
        rest = others;
        let matrix = if alike[0].written { &mut tally.writable } else { &mut tally.fixed };
        matrix.add(places);
    }
    for_minimums(places, spans, &mut tally, bounds);
    let mut pool = Pool::new(bounds, &tally);
    if for_locality(places, spans, &mut tally, bounds, &pool, allowance) {
        pool = Pool::new(bounds, &tally);
    }
    let mut exchange = Exchange::new(bounds, &tally, pool);
    let mut targets = Vec::with_capacity(places.len());
    let mut rest = places.as_slice();
    for span in spans {
        let (places, others) = rest.split_at(span.len);
        rest = others;
        if span.written {
            targets.extend(places.iter().map(|place| exchange.target(place)));
        } else {
            targets.extend(places.iter().map(|place| place.hinted));
        }
    }
    targets
}

/// The ready endpoints of all slices, in order.
pub(super) struct Positions {
    pub places: Vec<Position>,
    /// The slices, in the same order.
    pub spans: Vec<Span>,
    /// The first ready endpoint without a zone, if there is one: then there can be no hints.
    pub unzoned: Result<(), NoHints>,
}

pub(super) fn places(drafts: &[Draft<'_>], capacity: &Capacity) -> Positions {
    let upper = drafts.iter().map(|d| d.slice.endpoints.len()).sum();
    let mut places = Vec::with_capacity(upper);
    let mut spans = Vec::with_capacity(drafts.len());
    let mut unzoned = Ok(());
    for draft in drafts {
        let before = places.len();
        let mut written = draft.role != Role::Unchanged;
        for endpoint in draft.slice.endpoints.iter().filter(|e| e.is_ready()) {
            let home = match zone_of(endpoint) {
                Some(zone) => capacity.index_of(zone),
                None => {
                    unzoned = unzoned.and_then(|()| Err(without_zone(endpoint)));
                    NO_ZONE
                }
            };
            let hinted = hinted(endpoint.hints.as_ref(), capacity);
            written |= hinted == NO_ZONE;
            places.push(Position { home, hinted });
        }
        spans.push(Span { len: places.len() - before, written });
    }
    Positions { places, spans, unzoned }
}

/// Writes the targets of [`assign`] into the slices. Only slices with a changed hint are written.
pub(super) fn write(
    drafts: &mut [Draft<'_>],
    capacity: &Capacity,
    positions: &Positions,
    targets: &[ZoneIdx],
) -> ZoneCounts {
    let mut counts = vec![0u32; capacity.zones().len()];
    for &target in targets {
        counts[usize::from(target)] += 1;
    }
    let (mut places_left, mut targets_left) = (positions.places.as_slice(), targets);
    for (draft, span) in drafts.iter_mut().zip(&positions.spans) {
        let (here, rest) = places_left.split_at(span.len);
        let (ours, others) = targets_left.split_at(span.len);
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

impl Position {
    /// In one zone with capacity, and hinted for another.
    pub(super) fn is_away(self) -> bool {
        self.home != NO_ZONE && self.home != self.hinted
    }
}
