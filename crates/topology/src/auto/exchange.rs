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
//! are in to the zones they are hinted for (`auto/flow.rs`), so the greatest flow is the least
//! change. The others leave from the zones that the quotas take them from, then from those furthest
//! above their part.
//!
//! O(endpoints + moves · zones), and the flow: through 2 · zones nodes.

use super::{
    Bounds, flow::Network, least_change::Position, pool::Pool, quota::furthest_above, tally::Tally,
};
use crate::capacity::{NO_ZONE, ZoneIdx};

/// What is still to be given out while endpoints are visited one by one.
#[derive(Debug)]
pub(super) struct Exchange {
    n_zones: usize,
    /// By home and hint: endpoints that are away and stay so.
    stay: Vec<u32>,
    /// Endpoints of each zone that leave it, among those not hinted for it; those of no zone last.
    leave: Vec<u32>,
    /// Among those hinted for it. Empty: none.
    leave_hinted: Vec<u32>,
    /// Endpoints that each zone is to get from others.
    enter: Vec<u32>,
    /// The first zone that may still get some.
    to: usize,
}

impl Exchange {
    pub(super) fn new(bounds: &[Bounds], tally: &Tally, pool: Pool) -> Self {
        let n_zones = bounds.len();
        let keeps = tally.writable.n_hinted() > 0 && !pool.is_empty();
        let Pool { kept, home: mut leave, released, quota: mut enter } = pool;
        let home = if keeps { leave.clone() } else { Vec::new() };
        for (leave, enter) in leave.iter_mut().zip(&mut enter) {
            (*leave, *enter) = (leave.saturating_sub(*enter), enter.saturating_sub(*leave));
        }
        let stay = Vec::new();
        let mut exchange = Exchange { n_zones, stay, leave, leave_hinted: released, enter, to: 0 };
        if keeps {
            exchange.keep_hints(bounds, tally, &kept, &home);
        }
        exchange
    }

    fn keep_hints(&mut self, bounds: &[Bounds], tally: &Tally, kept: &[u32], home: &[u32]) {
        let can_spare = |z: usize| match self.enter[z] {
            0 => home[z] - bounds[z].minimum.saturating_sub(kept[z]),
            _ => 0,
        };
        let spare: Vec<u32> = (0..self.n_zones).map(can_spare).collect();
        self.stay = self.most_that_stay(tally, &spare);
        let staying: Vec<u32> =
            self.stay.chunks(self.n_zones).map(|row| row.iter().sum()).collect();
        let held: Vec<u32> = kept.iter().zip(home).map(|(kept, home)| kept + home).collect();
        let gone = self.outflow(bounds, held, &spare, &staying);
        for z in 0..self.n_zones {
            self.leave[z] = gone[z] - staying[z] - self.released(z);
            let here = (0..=self.n_zones).map(|row| self.stay[row * self.n_zones + z]);
            self.enter[z] -= here.sum::<u32>();
        }
        self.leave[self.n_zones] -= staying[self.n_zones];
    }

    /// The greatest flow: source, all endpoints with a zone, their zones (and no zone), the zones
    /// they are hinted for, sink.
    fn most_that_stay(&self, tally: &Tally, spare: &[u32]) -> Vec<u32> {
        let n_zones = self.n_zones;
        let (source, zoned, sink) = (0, 1, 2);
        let (from, to) = (|row: usize| 3 + row, |z: usize| 4 + n_zones + z);
        let mut network = Network::new(4 + 2 * n_zones);
        // Endpoints that are released leave, so that they stand in nobody's place.
        let released: u32 = self.leave_hinted.iter().sum();
        network.set(source, zoned, self.leave[..n_zones].iter().sum::<u32>() - released);
        network.set(source, from(n_zones), self.leave[n_zones]);
        for (z, &spare) in spare.iter().enumerate() {
            network.set(zoned, from(z), spare.saturating_sub(self.released(z)));
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
    /// `held`: what zones have before.
    fn outflow(
        &self,
        bounds: &[Bounds],
        mut held: Vec<u32>,
        spare: &[u32],
        staying: &[u32],
    ) -> Vec<u32> {
        let zones = 0..self.n_zones;
        let all: u32 = self.leave[..self.n_zones].iter().sum();
        let least = |z: usize| staying[z] + self.released(z);
        let mut gone: Vec<u32> = zones.clone().map(|z| self.leave[z].max(least(z))).collect();
        held.iter_mut().zip(&gone).for_each(|(held, gone)| *held -= gone);
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
        if place.hinted != NO_ZONE {
            return self.of_hinted(place, home);
        }
        match self.leave[home].checked_sub(1) {
            None => place.home,
            Some(left) => {
                self.leave[home] = left;
                self.next()
            }
        }
    }

    fn of_hinted(&mut self, place: &Position, home: usize) -> ZoneIdx {
        let stays = home * self.n_zones + usize::from(place.hinted);
        if let Some(stay) = self.stay.get_mut(stays).filter(|stay| **stay > 0) {
            *stay -= 1;
            return place.hinted;
        }
        let leave =
            if place.home == place.hinted { &mut self.leave_hinted } else { &mut self.leave };
        match leave.get_mut(home).filter(|leave| **leave > 0) {
            None => place.home,
            Some(leave) => {
                *leave -= 1;
                self.next()
            }
        }
    }

    fn released(&self, zone: usize) -> u32 {
        self.leave_hinted.get(zone).copied().unwrap_or(0)
    }

    /// The first zone that is to get more.
    #[inline]
    fn next(&mut self) -> ZoneIdx {
        while self.enter[self.to] == 0 {
            self.to += 1;
        }
        self.enter[self.to] -= 1;
        ZoneIdx::try_from(self.to).expect("an index of a zone")
    }
}
