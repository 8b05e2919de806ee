//! From exact flows to parts per 1,000.
//!
//! Each row is rounded on its own. All parts are rounded down; the odd ones that are missing to 1,000
//! are given out one by one, each to the zone where it causes the least excess for each endpoint:
//! `(given + 1 − remainder) / endpoints`. Among zones with as many endpoints that is the largest
//! remainder; otherwise zones with more endpoints come first. Ties: more endpoints, then the name.
//!
//! **The worst excess.** Of all ways to give out the odd parts of a row, that greedy one has the least
//! maximum of excess per endpoint. With `k` zones in the row that have `E` endpoints in all, the
//! maximum is at most `(k − 1)/E`: at `t = (k − 1)/E`, the whole numbers of parts up to `t·e + remainder`
//! of all zones sum to enough. A row's traffic is at most what its zones can take, `(1 + allowance)·E/n`,
//! so that rounding the row adds at most `(k − 1)(1 + allowance)/1,000` of its fair part `1/n` to an
//! endpoint, whatever `n`. Only rows of two zones or more are rounded: with `s` client zones that don't
//! keep all traffic and `t` other zones that take it, an endpoint gets at most `1 + s·t/1,000` times
//! what it may. That is 0.2 % for three zones and 2.5 % for ten.
//!
//! O(zones log zones) for each row.

use std::{cmp::Ordering, collections::BinaryHeap};

use evenkeel_model::{PARTS, ZoneId, ZoneShares};

use super::solve::Flows;

/// Remainders are compared in millionths of a part: less is an error of floating point.
const MILLION: u64 = 1_000_000;

/// One part of a row that is being rounded. The greatest is the next to get an odd part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rounded {
    zone: ZoneId,
    rank: u32,
    endpoints: u32,
    part: u16,
    /// The excess that one more part would cause, in millionths of a part.
    excess: u64,
}

/// The flows in parts per 1,000.
pub fn round(flows: &Flows) -> ZoneShares {
    let mut row: Vec<Rounded> = Vec::with_capacity(flows.n_sinks());
    ZoneShares::new(flows.rows().map(|flow| {
        if flow.stays() {
            return (flow.client(), vec![(flow.client(), PARTS)]);
        }
        row.clear();
        row.extend(flow.by_sink().filter_map(|(sink, part)| {
            let millionths = (part * f64::from(PARTS) * MILLION as f64 + 0.5) as u64;
            (millionths > 0).then(|| Rounded {
                zone: sink.zone,
                rank: sink.rank,
                endpoints: sink.endpoints,
                part: u16::try_from(millionths / MILLION).unwrap_or(PARTS).min(PARTS),
                excess: MILLION - millionths % MILLION,
            })
        }));
        give_odd_parts(&mut row);
        (flow.client(), row.iter().map(|part| (part.zone, part.part)).collect())
    }))
}

fn give_odd_parts(row: &mut Vec<Rounded>) {
    let given: u16 = row.iter().map(|part| part.part).sum();
    let odd = PARTS.saturating_sub(given);
    if odd == 0 {
        return;
    }
    let mut heap = BinaryHeap::from(std::mem::take(row));
    for _ in 0..odd {
        let Some(mut next) = heap.peek_mut() else { break };
        next.part += 1;
        next.excess += MILLION;
    }
    *row = heap.into_vec();
}

// === impl Rounded ===

impl Ord for Rounded {
    fn cmp(&self, other: &Self) -> Ordering {
        // Below 2^30 times 2^32: at most 1,000 odd parts of a million each.
        let [mine, theirs] =
            [(self, other), (other, self)].map(|(a, b)| a.excess * u64::from(b.endpoints));
        let by_excess = theirs.cmp(&mine);
        by_excess
            .then(self.endpoints.cmp(&other.endpoints))
            .then_with(|| (other.rank, other.zone).cmp(&(self.rank, self.zone)))
    }
}

impl PartialOrd for Rounded {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
