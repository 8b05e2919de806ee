//! The endpoints that are given to zones anew: writable ones without a hint that could stay, and
//! those hinted away from their zone.
//!
//! A hint for an endpoint's own zone stays wherever it can. Only when the pool is too small to bring
//! every zone to its minimum, exactly as many of them are released as are missing, from the zones
//! furthest above their part.
//!
//! No more leave a zone than would if hints were given from nothing, those in slices that are not
//! written included, unless a minimum demands it. So both halves of a swap whose endpoints are in
//! different slices are dissolved, each when its slice is written: until then a zone may have less
//! than its part. O(zones² + moves · zones).

use super::{
    Bounds,
    quota::{from_nothing, furthest_above, quotas},
    tally::Tally,
};

#[derive(Debug)]
pub(super) struct Pool {
    /// Hints that stay, by zone: in slices that are not written, and for an endpoint's own zone.
    pub(super) kept: Vec<u32>,
    /// The pool by the zone endpoints are in, with a last slot for no zone.
    pub(super) home: Vec<u32>,
    /// How many of them were hinted for their own zone. Empty: none.
    pub(super) released: Vec<u32>,
    /// How many of the pool each zone gets.
    pub(super) quota: Vec<u32>,
}

impl Pool {
    /// There must be enough writable endpoints to bring each zone to its minimum.
    pub(super) fn new(bounds: &[Bounds], tally: &Tally) -> Self {
        let n_zones = bounds.len();
        let own = |z: usize| tally.writable.at(z, z);
        let mut kept = tally.fixed.hinted();
        let mut home = tally.writable.homes();
        for z in 0..n_zones {
            kept[z] += own(z);
            home[z] -= own(z);
        }
        let lack = bounds.iter().zip(&kept).map(|(b, &kept)| b.minimum.saturating_sub(kept));
        let missing = lack.sum::<u32>().saturating_sub(home.iter().sum());
        let mut released = vec![0; if missing > 0 { n_zones } else { 0 }];
        for _ in 0..missing {
            let may = |z: usize| kept[z] > bounds[z].minimum && released[z] < own(z);
            let from = furthest_above(bounds, &kept, may).expect("enough endpoints are writable");
            kept[from] -= 1;
            home[from] += 1;
            released[from] += 1;
        }
        let quota = match tally.fixed.is_empty() {
            true => quotas(bounds, &kept, &home, None),
            false if home.iter().all(|&n| n == 0) => vec![0; n_zones],
            false => quotas(bounds, &kept, &home, Some(&still_to_leave(bounds, tally))),
        };
        Pool { kept, home, released, quota }
    }

    /// Whether there is nothing to be given.
    pub(super) fn is_empty(&self) -> bool {
        self.home.iter().all(|&n| n == 0)
    }

    /// How many of the pool leave their zone.
    pub(super) fn away(&self) -> u32 {
        self.home.iter().zip(&self.quota).map(|(home, quota)| home.saturating_sub(*quota)).sum()
    }
}

/// How many endpoints of each zone may leave it beside those that are fixed and away.
fn still_to_leave(bounds: &[Bounds], tally: &Tally) -> Vec<u32> {
    let home = tally.writable.homes().into_iter().zip(tally.fixed.homes());
    let home: Vec<u32> = home.map(|(writable, fixed)| writable + fixed).collect();
    let leave = from_nothing(bounds, &home);
    (0..bounds.len()).map(|z| leave[z].saturating_sub(tally.fixed.away_from(z))).collect()
}
