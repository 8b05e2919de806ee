//! Which slices are written although nothing in them changed but hints.
//!
//! For the minimums: with `fixed[z]` hints in slices that are not written, zones lack
//! `Σ max(0, minimum[z] − fixed[z])`, and every writable endpoint can serve any zone. While the
//! lack is greater than their number, another slice is written: the one that lowers the difference
//! most (its hints for zones above their minimum), of equals the one with most endpoints away.
//!
//! For locality: the *excess* is the number of endpoints away beyond that of hints given from
//! nothing. While it is within the allowance, nothing is written for it. Beyond, slices are written
//! in the order of how many of their endpoints are away, as few as bring it to half the allowance,
//! so that the next change does not write again. With all slices written there is no excess.
//!
//! O(slices · zones + endpoints); for locality O(log slices · (endpoints + moves · zones)).

use std::cmp::Reverse;

use super::{
    Bounds,
    least_change::{Position, Span},
    pool::Pool,
    tally::Tally,
};

/// How many endpoints may be away beyond the least number.
pub(super) struct Allowance<'a> {
    /// A part of all endpoints.
    pub(super) threshold: f64,
    /// The least number of endpoints away, by how many are in each zone (and in none).
    pub(super) least: &'a dyn Fn(&[u32]) -> u32,
}

/// A slice that is not written, and where its endpoints are.
struct Closed<'a> {
    span: usize,
    places: &'a [Position],
    gain: u32,
    away: u32,
}

pub(super) fn for_minimums(
    places: &[Position],
    spans: &mut [Span],
    tally: &mut Tally,
    bounds: &[Bounds],
) {
    if tally.fixed.is_empty() {
        return;
    }
    let mut short = shortage(tally, bounds);
    if short == 0 {
        return;
    }
    let gain = |places: &[Position], tally: &Tally| {
        let mut above: Vec<u32> = tally.fixed.hinted();
        above.iter_mut().zip(bounds).for_each(|(n, b)| *n = n.saturating_sub(b.minimum));
        let gains = |p: &&Position| match &mut above[usize::from(p.hinted)] {
            0 => false,
            left => {
                *left -= 1;
                true
            }
        };
        u32::try_from(places.iter().filter(gains).count()).unwrap_or(u32::MAX)
    };
    let mut closed = closed(places, spans);
    closed.iter_mut().for_each(|c| c.gain = gain(c.places, tally).min(short));
    closed.sort_by_key(|slice| Reverse((slice.gain, slice.away)));
    for slice in closed {
        if short > 0 && gain(slice.places, tally) > 0 {
            spans[slice.span].written = true;
            tally.open(slice.places);
            short = shortage(tally, bounds);
        }
    }
}

/// How many writable endpoints are missing to bring every zone to its minimum.
fn shortage(tally: &Tally, bounds: &[Bounds]) -> u32 {
    let fixed = tally.fixed.hinted();
    let lack = bounds.iter().zip(fixed).map(|(b, fixed)| b.minimum.saturating_sub(fixed));
    lack.sum::<u32>().saturating_sub(tally.writable.total())
}

/// Returns whether slices were added. `pool`: of the slices written so far.
pub(super) fn for_locality(
    places: &[Position],
    spans: &mut [Span],
    tally: &mut Tally,
    bounds: &[Bounds],
    pool: &Pool,
    allowance: &Allowance<'_>,
) -> bool {
    if tally.fixed.is_empty() {
        return false;
    }
    let all = tally.fixed.away() + pool.away();
    let allowed = allowance.threshold * f64::from(tally.fixed.total() + tally.writable.total());
    if f64::from(all) <= allowed || tally.fixed.total() == 0 {
        return false;
    }
    let homes = tally.writable.homes().into_iter().zip(tally.fixed.homes());
    let homes: Vec<u32> = homes.map(|(writable, fixed)| writable + fixed).collect();
    let least = (allowance.least)(&homes);
    if f64::from(all) <= f64::from(least) + allowed {
        return false;
    }
    let mut closed = closed(places, spans);
    closed.sort_by_key(|slice| Reverse(slice.away));
    let with = |n: usize| {
        let mut tally = tally.clone();
        closed[..n].iter().for_each(|slice| tally.open(slice.places));
        tally
    };
    let enough = |n: &usize| {
        let tally = with(*n);
        let away = tally.fixed.away() + Pool::new(bounds, &tally).away();
        f64::from(away) <= f64::from(least) + allowed / 2.0
    };
    // The last is enough, and is not asked.
    let (mut low, mut high) = (1, closed.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if enough(&middle) { high = middle } else { low = middle + 1 }
    }
    let tally_then = with(high);
    closed[..high].iter().for_each(|slice| spans[slice.span].written = true);
    *tally = tally_then;
    true
}

fn closed<'a>(places: &'a [Position], spans: &[Span]) -> Vec<Closed<'a>> {
    let mut rest = places;
    let mut closed = Vec::new();
    for (span, &Span { len, written }) in spans.iter().enumerate() {
        let (places, others) = rest.split_at(len);
        rest = others;
        if !written && len > 0 {
            let away = places.iter().filter(|p| p.is_away()).count();
            let away = u32::try_from(away).unwrap_or(u32::MAX);
            closed.push(Closed { span, places, gain: 0, away });
        }
    }
    closed
}
