//! Which endpoints of the pool go to which zone, so that each zone gets its quota, as few endpoints
//! as possible are hinted away from their zone, and among such ways the fewest hints change.
//!
//! Let `home[z]` be the endpoints of the pool in zone `z` and `quota[z]` what it gets. A zone with
//! `quota > home` *receives* the difference; no way that gives it its quota brings in fewer, and
//! bringing in exactly that is possible. So the number of endpoints away is least exactly when the
//! receiving zones keep all their own, get their quota and no more, and every endpoint that is not
//! at home is in one of them. What is left to choose is which endpoints those are: from the other
//! zones, as many as each can spare above its minimum, and those without a zone of their own.
//!
//! Of them, an endpoint already hinted for a receiving zone costs no change, and all others of the
//! pool change wherever they go. The most that can stay are the greatest flow from the zones they
//! are in to the zones they are hinted for ([`super::flow`]), so the greatest flow is the least
//! change. The others leave from the zones that the quotas take them from, then from those furthest
//! above their part.
//!
//! O(endpoints + moves · zones), and the flow: through 2 · zones nodes.

use super::{
    Bounds, flow::Network, least_change::Position, pool::Pool, quota::furthest_above, tally::Tally,
};
use crate::capacity::ZoneIdx;

/// What is still to be given out while endpoints are visited one by one.
#[derive(Debug)]
pub(super) struct Exchange {
    n_zones: usize,
    /// By home and hint: endpoints that are away and stay so.
    stay: Vec<u32>,
    /// Endpoints of each zone that leave it, among those not hinted for it.
    leave: Vec<u32>,
    /// Among those hinted for it.
    leave_hinted: Vec<u32>,
    /// Endpoints that each zone is to get from others.
    enter: Vec<u32>,
    /// The first zone that may still get some.
    to: usize,
}

impl Exchange {
    pub(super) fn new(bounds: &[Bounds], tally: &Tally, pool: &Pool) -> Self {
        let n_zones = bounds.len();
        let Pool { home, quota, released, .. } = pool;
        let enter = quota.iter().zip(home).map(|(quota, home)| quota.saturating_sub(*home));
        let leave = home.iter().zip(quota).map(|(home, quota)| home.saturating_sub(*quota));
        let mut exchange = Exchange {
            n_zones,
            stay: vec![0; (n_zones + 1) * n_zones],
            leave: leave.collect(),
            leave_hinted: released.clone(),
            enter: enter.collect(),
            to: 0,
        };
        if tally.writable.n_hinted() > 0 && !pool.is_empty() {
            exchange.keep_hints(bounds, tally, pool);
        }
        exchange
    }

    fn keep_hints(&mut self, bounds: &[Bounds], tally: &Tally, pool: &Pool) {
        let can_spare = |z: usize| match self.enter[z] {
            0 => pool.home[z] - bounds[z].minimum.saturating_sub(pool.kept[z]),
            _ => 0,
        };
        let spare: Vec<u32> = (0..self.n_zones).map(can_spare).collect();
        self.stay = self.most_that_stay(tally, pool, &spare);
        let staying: Vec<u32> =
            self.stay.chunks(self.n_zones).map(|row| row.iter().sum()).collect();
        let gone = self.outflow(bounds, pool, &spare, &staying);
        for z in 0..self.n_zones {
            self.leave[z] = gone[z] - staying[z] - self.leave_hinted[z];
            let here = (0..=self.n_zones).map(|row| self.stay[row * self.n_zones + z]);
            self.enter[z] -= here.sum::<u32>();
        }
    }

    /// The greatest flow: source, all endpoints with a zone, their zones (and no zone), the zones
    /// they are hinted for, sink.
    fn most_that_stay(&self, tally: &Tally, pool: &Pool, spare: &[u32]) -> Vec<u32> {
        let n_zones = self.n_zones;
        let (source, zoned, sink) = (0, 1, 2);
        let (from, to) = (|row: usize| 3 + row, |z: usize| 4 + n_zones + z);
        let mut network = Network::new(4 + 2 * n_zones);
        // Endpoints that are released leave, so that they stand in nobody's place.
        let released: u32 = self.leave_hinted.iter().sum();
        network.set(source, zoned, self.leave.iter().sum::<u32>() - released);
        network.set(source, from(n_zones), pool.home[n_zones]);
        for (z, &spare) in spare.iter().enumerate() {
            network.set(zoned, from(z), spare.saturating_sub(self.leave_hinted[z]));
            network.set(to(z), sink, self.enter[z]);
            for row in (0..=n_zones).filter(|&row| row != z) {
                network.set(from(row), to(z), tally.writable.at(row, z));
            }
        }
        network.saturate(source, sink);
        let rows = (0..=n_zones).flat_map(|row| (0..n_zones).map(move |z| (row, z)));
        rows.map(|(row, z)| network.left(to(z), from(row))).collect()
    }

    /// How many endpoints of the pool are away from each zone in the end: as the quotas have it,
    /// except that those that stay away count first.
    fn outflow(&self, bounds: &[Bounds], pool: &Pool, spare: &[u32], staying: &[u32]) -> Vec<u32> {
        let zones = 0..self.n_zones;
        let all: u32 = self.leave.iter().sum();
        let least = |z: usize| staying[z] + self.leave_hinted[z];
        let mut gone: Vec<u32> = zones.clone().map(|z| self.leave[z].max(least(z))).collect();
        let mut held: Vec<u32> =
            zones.clone().map(|z| pool.kept[z] + pool.home[z] - gone[z]).collect();
        let mut sum: u32 = gone.iter().sum();
        while sum > all {
            let below = |z: usize| bounds[z].desired - f64::from(held[z]);
            let to = zones.clone().filter(|&z| gone[z] > least(z));
            let to = to.reduce(|best, z| if below(z) > below(best) { z } else { best });
            let to = to.expect("no more stay than are to leave");
            (gone[to], held[to], sum) = (gone[to] - 1, held[to] + 1, sum - 1);
        }
        while sum < all {
            let from = furthest_above(bounds, &held, |z| gone[z] < spare[z])
                .expect("the quotas leave each zone its minimum");
            (gone[from], held[from], sum) = (gone[from] + 1, held[from] - 1, sum + 1);
        }
        gone
    }

    /// The zone of the next writable endpoint. All must be visited, in one order.
    #[inline]
    pub(super) fn target(&mut self, place: &Position) -> ZoneIdx {
        let home = usize::from(place.home).min(self.n_zones);
        let hinted = usize::from(place.hinted);
        if hinted < self.n_zones
            && let Some(stays) = self.stay[home * self.n_zones + hinted].checked_sub(1)
        {
            self.stay[home * self.n_zones + hinted] = stays;
            return place.hinted;
        }
        if home < self.n_zones {
            let leaving = if home == hinted { &mut self.leave_hinted } else { &mut self.leave };
            match leaving[home].checked_sub(1) {
                None => return place.home,
                Some(left) => leaving[home] = left,
            }
        }
        while self.enter[self.to] == 0 {
            self.to += 1;
        }
        self.enter[self.to] -= 1;
        ZoneIdx::try_from(self.to).expect("an index of a zone")
    }
}
