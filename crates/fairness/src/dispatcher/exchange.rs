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
//!
//! Who claims looks for spare seats after it has published its claim; who has spare seats looks for
//! claims after it has published them. Both are sequentially consistent, so one sees the other.
//!
//! In a level that rejects nobody waits. A newcomer that finds too few seats claims for it; the
//! claim stands until it is met or limits are set anew.

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
            self.total.fetch_add(to.wrapping_sub(from), Ordering::SeqCst);
        }
    }
}

impl<W> Dispatcher<W> {
    /// How many seats a level that frees some may be asked for.
    pub(super) fn claimed(&self) -> u32 {
        match self.settings.reclaim_at_once {
            true => self.claims.total.load(Ordering::SeqCst),
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

    /// Seats that became spare while someone claimed some, too late for either to have seen it.
    pub(super) fn offer(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) {
        if level.spare.load(Ordering::SeqCst) == 0 {
            return;
        }
        let claimed = self.claimed();
        if claimed > 0 {
            let ceded = self.cede(now, level, claimed);
            self.hand_over(now, level, ceded, woken);
        }
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
            if other.spare.load(Ordering::SeqCst) == 0 || std::ptr::eq(&raw const **other, level) {
                continue;
            }
            let ceded = self.cede(now, other, wanted);
            if ceded > 0 {
                let left = self.grant(now, level, ceded, woken);
                self.give_back(now, other, left, woken);
            }
        }
    }

    fn cede(&self, now: Time, level: &Level<W>, wanted: u32) -> u32 {
        let state = &mut *level.state.lock();
        let ceded = state.set.cede(now, wanted);
        level.publish(state, &self.claims);
        ceded
    }

    /// Returns the seats it had no use for.
    fn grant(&self, now: Time, level: &Level<W>, seats: u32, woken: &mut Vec<W>) -> u32 {
        let state = &mut *level.state.lock();
        let left = state.set.grant(now, seats, woken);
        level.publish(state, &self.claims);
        left
    }

    fn give_back(&self, now: Time, level: &Level<W>, seats: u32, woken: &mut Vec<W>) {
        if seats > 0 {
            let state = &mut *level.state.lock();
            let SeatLimit { limit, nominal } = state.set.seats();
            let limit = limit.saturating_add(seats);
            state.set.set_seats(now, SeatLimit { limit, nominal }, woken);
            level.publish(state, &self.claims);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Request, Settings, Width,
        config::{self, Config, Handling, Predicate, Queuing, Schema},
        dispatcher::{Admission, Cost, Place},
    };

    fn level(name: &str, handling: Handling) -> config::Level {
        config::Level {
            name: name.into(),
            uid: "".into(),
            shares: 1,
            lendable_percent: 100,
            borrowing_limit_percent: None,
            handling,
            implied: false,
        }
    }

    /// All requests go to the last level.
    fn config(levels: Vec<config::Level>) -> Config {
        let schema = Schema {
            name: "all".into(),
            uid: "".into(),
            precedence: 1,
            level: levels.len() - 1,
            distinguisher: None,
            predicate: Predicate::Match(Vec::new()),
            implied: false,
        };
        Config { levels, schemas: vec![schema], fallback: 0 }
    }

    #[test]
    fn a_level_that_is_gone_claims_nothing() {
        let queuing = Queuing { queues: 1, hand_size: 1, queue_length_limit: 9 };
        let queue = level("queue", Handling::Queue(queuing));
        let both = config(vec![queue.clone(), level("reject", Handling::Reject)]);
        let dispatcher = Dispatcher::<()>::new(Time(0), both, 2, Settings::default()).unwrap();
        let wide =
            |_: &Place<()>| Cost { width: Width::seats(2), wait_until: Time::MAX, watch: false };
        let seats = SeatLimit { limit: 0, nominal: 1 };
        let in_force = dispatcher.in_force();
        in_force.levels[1].state.lock().set.set_seats(Time(0), seats, &mut Vec::new());
        let mut woken = Vec::new();
        dispatcher.admit(Time(1), &Request::default(), wide, || (), &mut woken);
        assert_eq!(dispatcher.claimed(), 1, "nobody has a seat to give");
        dispatcher.configure(Time(2), config(vec![queue]), 2, &mut woken).unwrap();
        assert_eq!(dispatcher.claimed(), 0);
    }

    #[test]
    fn a_slow_reader_of_a_level_that_is_gone_claims_nothing_when_it_ends() {
        let queuing = Queuing { queues: 1, hand_size: 1, queue_length_limit: 9 };
        let queue = level("queue", Handling::Queue(queuing));
        let both = config(vec![queue.clone(), level("reject", Handling::Reject)]);
        let dispatcher = Dispatcher::<()>::new(Time(0), both, 2, Settings::default()).unwrap();
        let one = |_: &Place<()>| Cost { width: Width::ONE, wait_until: Time::MAX, watch: false };
        let mut woken = Vec::new();
        let admitted = dispatcher.admit(Time(1), &Request::default(), one, || (), &mut woken);
        let Admission::Dispatched(turn) = admitted.admission else { panic!("a seat is free") };
        dispatcher.respond(Time(1), &turn);
        let reject = dispatcher.in_force().levels[1].clone();
        let late = Time(60_000_000_000);
        dispatcher.tick(late, &reject, &mut woken);
        let seats = SeatLimit { limit: 0, nominal: 1 };
        reject.state.lock().set.set_seats(late, seats, &mut Vec::new());
        dispatcher.admit(late, &Request::default(), one, || (), &mut woken);
        assert_eq!(dispatcher.claimed(), 1, "nobody has a seat to give");
        dispatcher.configure(late, config(vec![queue]), 2, &mut woken).unwrap();
        dispatcher.leave(late, turn, &mut woken);
        assert_eq!(dispatcher.claimed(), 0);
    }
}
