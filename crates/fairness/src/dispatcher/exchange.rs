//! Lent seats are returned at once.
//!
//! In Kubernetes a level that lent its seats gets them back at the next adjustment, up to ten
//! seconds later (kubernetes/kubernetes#121982). Here a level that is below its nominal limit and
//! has requests waiting *claims* what it lacks: it takes borrowed seats that lie idle, and whenever
//! a borrower frees one, that seat changes hands before the borrower's own requests are looked at.
//! The sum of all limits stays the same; no running request is interrupted; no level falls below its
//! nominal limit.
//!
//! Levels tell each other of claims by atomic numbers. A seat changes hands in two steps, each under
//! the lock of one level: the borrower lowers its limit, then the claimant raises its own; a claim
//! that is gone by then gives the seat back. All of it is done under [`Claims::exchange`], and so is
//! setting and reading all limits. So a seat in transit is never visible: no adjustment
//! gives it out a second time, and a level that begins to claim waits for the exchange to end and
//! then finds what was given back. Requests take this lock only where a claim meets a level that
//! has borrowed; the order is control, exchange, level.
//!
//! Who claims looks for spare seats after it has published its claim; who has spare seats looks for
//! claims after it has published them. Both are sequentially consistent, so one sees the other.
//!
//! In a level that rejects no request waits. A request that finds too few seats makes a claim, which
//! lasts until it is met or limits are set again.
//!
//! Invariants, whenever no call is under way: no level claims while another has spare seats; the
//! limits sum to what the last adjustment set.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use parking_lot::{Mutex, MutexGuard};

use super::{Dispatcher, Level};
use crate::{
    Time,
    queues::{QueueSet, SeatLimit},
};

/// The sum of all claims, so that freeing a seat takes one read if there is no claim.
#[derive(Debug, Default)]
pub(super) struct Claims {
    total: AtomicU32,
    exchange: Mutex<()>,
}

impl Claims {
    /// Sets the claim of a level. Its lock is held.
    pub(super) fn change(&self, claim: &AtomicU32, to: u32) {
        let from = claim.load(Ordering::Relaxed);
        if from != to {
            claim.store(to, Ordering::Relaxed);
            // Sums modulo 2³² come out right in any order.
            self.total.fetch_add(to.wrapping_sub(from), Ordering::SeqCst);
        }
    }

    /// No seat is between two levels while this is held. No level's lock may be.
    pub(super) fn exchange(&self) -> MutexGuard<'_, ()> {
        self.exchange.lock()
    }
}

impl<W> Dispatcher<W> {
    /// Calls what may free seats of a level, with how many of those it has borrowed others claim:
    /// as many as it says that it ceded change hands. Returns the earliest deadline that this brought
    /// forward, of any level.
    pub(super) fn free(
        &self,
        now: Time,
        level: &Level<W>,
        woken: &mut Vec<W>,
        call: impl FnOnce(&mut QueueSet<W>, u32, &mut Vec<W>) -> u32,
    ) -> Option<Time> {
        let claimed = level.borrows() && self.claimed() > 0;
        let exchange = claimed.then(|| self.claims.exchange());
        let ceding = if exchange.is_some() { self.claimed() } else { 0 };
        let (ceded, mut earlier, claims_more) = {
            let state = &mut *level.lock();
            let claim = level.published.claim.load(Ordering::Relaxed);
            let ceded = call(&mut state.set, ceding, woken);
            let earlier = level.publish(state, &self.claims);
            (ceded, earlier, level.published.claim.load(Ordering::Relaxed) > claim)
        };
        if let Some(exchange) = exchange {
            earlier = earliest(earlier, self.hand_over(now, level, ceded, &exchange, woken).1);
        }
        earlier = earliest(earlier, self.offer(now, level, woken));
        if claims_more {
            // Requests of slow flows may no longer be held back.
            earlier = earliest(earlier, self.reclaim(now, level, woken));
        }
        earlier
    }

    /// A level's spare seats go to those who claim some: it got them, or they claimed, too late for
    /// the other to have seen it. Returns what [`Self::free`] does.
    pub(super) fn offer(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) -> Option<Time> {
        let mut earlier = None;
        while level.published.spare.load(Ordering::SeqCst) > 0 && self.claimed() > 0 {
            let exchange = self.claims.exchange();
            let (ceded, own) = self.cede(now, level, self.claimed());
            let (left, others) = self.hand_over(now, level, ceded, &exchange, woken);
            earlier = earliest(earlier, earliest(own, others));
            if left > 0 || ceded == 0 {
                break;
            }
        }
        earlier
    }

    /// After limits were set: levels that lack seats of their own get those that lie idle.
    pub(super) fn offer_all(&self, now: Time, levels: &[Arc<Level<W>>], woken: &mut Vec<W>) {
        for level in levels {
            self.offer(now, level, woken);
        }
    }

    /// A level claims seats, or more than before: those that others have borrowed and don't use are
    /// its own again. Returns what [`Self::free`] does.
    pub(super) fn reclaim(&self, now: Time, level: &Level<W>, woken: &mut Vec<W>) -> Option<Time> {
        if !self.settings.reclaim_at_once || level.published.claim.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let _exchange = self.claims.exchange();
        let in_force = self.in_force.load();
        let others =
            in_force.at_work.iter().filter(|other| !std::ptr::eq(&raw const ***other, level));
        others.map(|other| self.take_spare(now, other, level, woken)).fold(None, earliest)
    }

    /// What a level has borrowed and does not use goes to one that claims it, until it claims no
    /// more: with each seat it gets, more requests of slow flows may go.
    fn take_spare(
        &self,
        now: Time,
        from: &Level<W>,
        to: &Level<W>,
        woken: &mut Vec<W>,
    ) -> Option<Time> {
        let mut earlier = None;
        while from.published.spare.load(Ordering::SeqCst) > 0 {
            let wanted = to.published.claim.load(Ordering::Relaxed);
            if wanted == 0 {
                break;
            }
            let (ceded, by_ceding) = self.cede(now, from, wanted);
            let (left, by_grant) = self.grant(now, to, ceded, woken);
            let by_return = self.give_back(now, from, left, woken);
            earlier = [by_ceding, by_grant, by_return].into_iter().fold(earlier, earliest);
            if left > 0 || ceded == 0 {
                break;
            }
        }
        earlier
    }

    /// How many seats a level that frees some may be asked for.
    fn claimed(&self) -> u32 {
        match self.settings.reclaim_at_once {
            true => self.claims.total.load(Ordering::SeqCst),
            false => 0,
        }
    }

    /// Seats that `from` gave up go to those who claim them, the neediest first. Each round hands
    /// one on, or finds a claim gone. Returns how many were given back, and what [`Self::free`] does.
    fn hand_over(
        &self,
        now: Time,
        from: &Level<W>,
        mut seats: u32,
        _exchange: &MutexGuard<'_, ()>,
        woken: &mut Vec<W>,
    ) -> (u32, Option<Time>) {
        let in_force = self.in_force.load();
        let mut earlier = None;
        while seats > 0 {
            let Some(neediest) = neediest(&in_force.levels) else { break };
            let by_grant;
            (seats, by_grant) = self.grant(now, neediest, seats, woken);
            earlier = earliest(earlier, by_grant);
        }
        (seats, earliest(earlier, self.give_back(now, from, seats, woken)))
    }

    /// Returns how many seats it gave up; this and the next two with the level's deadline if that is
    /// earlier than before.
    fn cede(&self, now: Time, level: &Level<W>, wanted: u32) -> (u32, Option<Time>) {
        let state = &mut *level.lock();
        let ceded = state.set.cede(now, wanted);
        (ceded, level.publish(state, &self.claims))
    }

    /// Returns the seats it had no use for.
    fn grant(
        &self,
        now: Time,
        level: &Level<W>,
        seats: u32,
        woken: &mut Vec<W>,
    ) -> (u32, Option<Time>) {
        if seats == 0 {
            return (0, None);
        }
        let state = &mut *level.lock();
        let left = state.set.grant(now, seats, woken);
        (left, level.publish(state, &self.claims))
    }

    fn give_back(
        &self,
        now: Time,
        level: &Level<W>,
        seats: u32,
        woken: &mut Vec<W>,
    ) -> Option<Time> {
        if seats == 0 {
            return None;
        }
        let state = &mut *level.lock();
        let SeatLimit { limit, nominal } = state.set.seats();
        let limit = limit.saturating_add(seats);
        state.set.set_seats(now, SeatLimit { limit, nominal }, woken);
        level.publish(state, &self.claims)
    }
}

/// Of two deadlines that were brought forward, the earlier.
pub(super) fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    a.into_iter().chain(b).min()
}

/// Which level lacks the largest part of its nominal seats; ties by name.
fn neediest<W>(levels: &[Arc<Level<W>>]) -> Option<&Level<W>> {
    let lack = |level: &Level<W>| {
        let claim = level.published.claim.load(Ordering::Relaxed);
        f64::from(claim) / f64::from(level.published.nominal.load(Ordering::Relaxed).max(1))
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
        dispatcher::{Admission, Cost, Destination},
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
        let wide = |_: &Destination<()>| Cost {
            width: Width::seats(2),
            wait_until: Time::MAX,
            watch: false,
        };
        let seats = SeatLimit { limit: 0, nominal: 1 };
        let in_force = dispatcher.in_force();
        in_force.levels[1].lock().set.set_seats(Time(0), seats, &mut Vec::new());
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
        let one =
            |_: &Destination<()>| Cost { width: Width::ONE, wait_until: Time::MAX, watch: false };
        let mut woken = Vec::new();
        let admitted = dispatcher.admit(Time(1), &Request::default(), one, || (), &mut woken);
        let Admission::Dispatched(handle) = admitted.admission else { panic!("a seat is free") };
        dispatcher.respond(Time(1), &handle);
        let reject = dispatcher.in_force().levels[1].clone();
        let late = Time(60_000_000_000);
        dispatcher.tick(late, &reject, &mut woken);
        let seats = SeatLimit { limit: 0, nominal: 1 };
        reject.lock().set.set_seats(late, seats, &mut Vec::new());
        dispatcher.admit(late, &Request::default(), one, || (), &mut woken);
        assert_eq!(dispatcher.claimed(), 1, "nobody has a seat to give");
        dispatcher.configure(late, config(vec![queue]), 2, &mut woken).unwrap();
        dispatcher.leave(late, handle, &mut woken);
        assert_eq!(dispatcher.claimed(), 0);
    }

    /// `b` has borrowed the seat of `c`, which all requests go to.
    fn lent() -> Dispatcher<()> {
        let queuing = Queuing { queues: 1, hand_size: 1, queue_length_limit: 9 };
        let three = ["a", "b", "c"].map(|name| level(name, Handling::Queue(queuing)));
        let dispatcher =
            Dispatcher::<()>::new(Time(0), config(three.into()), 3, Settings::default()).unwrap();
        for (level, limit) in dispatcher.in_force().levels.iter().zip([1, 2, 0]) {
            let state = &mut *level.lock();
            state.set.set_seats(Time(0), SeatLimit { limit, nominal: 1 }, &mut Vec::new());
            level.publish(state, &dispatcher.claims);
        }
        dispatcher
    }

    /// A seat of `b` is on its way, for a claim that is gone when it comes, while `meanwhile` runs on
    /// another thread: `until` this holds and, if nothing keeps it, to its end. Returns how many
    /// requests it woke.
    fn while_a_seat_is_on_its_way(
        dispatcher: &Dispatcher<()>,
        meanwhile: impl FnOnce(&mut Vec<()>) + Send,
        until: impl Fn() -> bool,
    ) -> usize {
        let b = &dispatcher.in_force().levels[1];
        let exchange = dispatcher.claims.exchange();
        let (ceded, _) = dispatcher.cede(Time(1), b, 1);
        assert_eq!(ceded, 1);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut woken = Vec::new();
                meanwhile(&mut woken);
                woken.len()
            });
            while !until() {
                std::thread::yield_now();
            }
            for _ in 0..10_000 {
                std::thread::yield_now();
            }
            dispatcher.give_back(Time(1), b, ceded, &mut Vec::new());
            drop(exchange);
            other.join().unwrap()
        })
    }

    #[test]
    fn a_claim_between_cede_and_give_back_finds_the_seats_that_come_back() {
        let dispatcher = lent();
        let one =
            |_: &Destination<()>| Cost { width: Width::ONE, wait_until: Time::MAX, watch: false };
        let c = &dispatcher.in_force().levels[2];
        let claim = |woken: &mut Vec<()>| {
            dispatcher.admit(Time(1), &Request::default(), one, || (), woken);
        };
        let claims = || c.published.claim.load(Ordering::SeqCst) == 1;
        let woken = while_a_seat_is_on_its_way(&dispatcher, claim, claims);
        assert_eq!(woken, 1, "c waits beside b's idle seat");
    }

    #[test]
    fn limits_set_between_cede_and_give_back_do_not_give_the_seat_out_twice() {
        let dispatcher = lent();
        let begun = AtomicU32::new(0);
        let adjust = |woken: &mut Vec<()>| {
            begun.store(1, Ordering::SeqCst);
            dispatcher.adjust(Time(2), woken);
        };
        let has_begun = || begun.load(Ordering::SeqCst) == 1;
        while_a_seat_is_on_its_way(&dispatcher, adjust, has_begun);
        let (limits, _) = dispatcher.limits();
        let sum: u32 = limits.iter().map(|level| level.limits.current).sum();
        assert_eq!(sum, 3);
    }
}
