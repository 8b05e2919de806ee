//! Seats that are lent come back at once.
//!
//! In Kubernetes a level that lent its seats gets them back at the next adjustment, up to ten
//! seconds later (kubernetes/kubernetes#121982). Here a level that is below its nominal limit and
//! has requests waiting *claims* what it lacks: it takes borrowed seats that lie idle, and whenever
//! a borrower frees one, that seat changes hands before the borrower's own requests are looked at.
//! The sum of all limits stays the same; no running request is withdrawn; nobody falls below its
//! nominal limit.
//!
//! Levels tell each other of claims by atomic numbers only. One lock is held at a time: the borrower
//! lowers its limit under its own, then the claimant raises its limit under its own. In between the
//! seat is nobody's. A claim that is gone by then gives the seat back.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::{Dispatcher, Level};
use crate::{Time, queues::SeatLimit};

/// The sum of all claims, so that who frees a seat sees with one look that nobody wants it.
#[derive(Debug, Default)]
pub(super) struct Claims {
    total: AtomicU32,
}

impl Claims {
    /// A level claims so many seats from now on. Its lock is held.
    pub(super) fn change(&self, claim: &AtomicU32, to: u32) {
        let from = claim.load(Ordering::Relaxed);
        if from != to {
            claim.store(to, Ordering::Relaxed);
            // Sums modulo 2³² come out right in any order.
            self.total.fetch_add(to.wrapping_sub(from), Ordering::Relaxed);
        }
    }
}

impl<W> Dispatcher<W> {
    /// How many seats a level that frees some may be asked for.
    pub(super) fn claimed(&self) -> u32 {
        match self.settings.reclaim_at_once {
            true => self.claims.total.load(Ordering::Relaxed),
            false => 0,
        }
    }

    /// Seats that `from` gave up go to those who claim them, the neediest first.
    pub(super) fn hand_over(&self, now: Time, from: &Level<W>, mut seats: u32, woken: &mut Vec<W>) {
        if seats == 0 {
            return;
        }
        let in_force = self.in_force.load();
        for _ in 0..in_force.levels.len() {
            let Some(neediest) = neediest(&in_force.levels) else { break };
            seats = self.grant(now, neediest, seats, woken);
            if seats == 0 {
                return;
            }
        }
        self.give_back(now, from, seats, woken);
    }

    /// A level claims seats: those that others have borrowed and don't use are its own again.
    pub(super) fn reclaim(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) {
        if !self.settings.reclaim_at_once || level.claim.load(Ordering::Relaxed) == 0 {
            return;
        }
        let in_force = self.in_force.load();
        for other in &in_force.levels {
            let wanted = level.claim.load(Ordering::Relaxed);
            if wanted == 0 {
                return;
            }
            if other.spare.load(Ordering::Relaxed) == 0 || std::ptr::eq(&raw const **other, level) {
                continue;
            }
            let ceded = {
                let state = &mut *other.state.lock();
                let ceded = state.set.cede(now, wanted);
                other.publish(&state.set, &self.claims);
                ceded
            };
            if ceded > 0 {
                let left = self.grant(now, level, ceded, woken);
                self.give_back(now, other, left, woken);
            }
        }
    }

    /// Returns the seats it had no use for.
    fn grant(&self, now: Time, level: &Level<W>, seats: u32, woken: &mut Vec<W>) -> u32 {
        let state = &mut *level.state.lock();
        let left = state.set.grant(now, seats, woken);
        level.publish(&state.set, &self.claims);
        left
    }

    fn give_back(&self, now: Time, level: &Level<W>, seats: u32, woken: &mut Vec<W>) {
        if seats > 0 {
            let state = &mut *level.state.lock();
            let SeatLimit { limit, nominal } = state.set.seats();
            let limit = limit.saturating_add(seats);
            state.set.set_seats(now, SeatLimit { limit, nominal }, woken);
            level.publish(&state.set, &self.claims);
        }
    }
}

/// Which level lacks the largest part of its nominal seats; ties by name.
fn neediest<W>(levels: &[Arc<Level<W>>]) -> Option<&Level<W>> {
    let lack = |level: &Level<W>| {
        let claim = level.claim.load(Ordering::Relaxed);
        f64::from(claim) / f64::from(level.nominal.load(Ordering::Relaxed).max(1))
    };
    let claimants = levels.iter().map(|level| (lack(level), &**level));
    let claimants = claimants.filter(|(lack, _)| *lack > 0.0);
    claimants.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, l)| l)
}
