//! The tasks that keep the time of a layer.
//!
//! A layer has no runtime of its own: requests may come from several, each of which may end or stall
//! at any time. So a request that arrives starts a driver on its runtime if none is on time, and one
//! that waits starts one if its own runtime has none: as long as that runtime runs, the wait ends.
//! Usually there is one runtime, and one driver.
//!
//! A driver sleeps until the earliest deadline of all levels, and at most until the limits are
//! adjusted next. When it wakes up is announced in [`Shared::next_wakeup`]; whoever brings a deadline
//! forward to before that notifies all drivers. As they wake up every [`ADJUSTMENT_PERIOD`] anyway,
//! that is rare: waits and holds last longer. A deadline that no longer exists costs one needless
//! wake-up. Drivers have no state: it makes no difference which of them does what is due.

use std::{
    sync::{
        Arc, Weak,
        atomic::{Ordering, fence},
    },
    task::Waker,
    time::Duration,
};

use evenkeel_fairness::{
    Time,
    dispatcher::{ADJUSTMENT_PERIOD, LevelView},
};
use tokio::{
    runtime::{self, Handle},
    time::timeout_at,
};

use crate::shared::{Shared, wake};

/// No driver runs.
pub(crate) const NOBODY: Time = Time(0);

/// A driver that is so late does not run: its runtime is stalled.
const LATE: Duration = Duration::from_secs(1);

/// Makes sure that a driver runs when a request arrives.
pub(crate) fn ensure(shared: &Arc<Shared>, now: Time) {
    let next_wakeup = Time(shared.next_wakeup.load(Ordering::Relaxed));
    if next_wakeup == NOBODY || now > next_wakeup + LATE {
        ensure_here(shared);
    }
}

/// Starts a driver on this runtime if we are in one that has none.
#[cold]
pub(crate) fn ensure_here(shared: &Arc<Shared>) {
    let Ok(handle) = Handle::try_current() else { return };
    let runtime = handle.id();
    {
        let mut driver_runtimes = shared.driver_runtimes.lock();
        if driver_runtimes.contains(&runtime) {
            return;
        }
        driver_runtimes.push(runtime);
    }
    handle.spawn(drive(Running { shared: Arc::downgrade(shared), runtime }));
}

/// Deregisters a driver when its task ends, also with its runtime: the next request starts another.
/// Requests of other runtimes that wait are woken, and start one too.
struct Running {
    shared: Weak<Shared>,
    runtime: runtime::Id,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.driver_runtimes.lock().retain(|runtime| *runtime != self.runtime);
            shared.next_wakeup.store(NOBODY.0, Ordering::SeqCst);
            shared.drivers.notify_waiters();
            wake(shared.wakers());
        }
    }
}

async fn drive(running: Running) {
    let Some(drivers) = running.shared.upgrade().map(|shared| shared.drivers.clone()) else {
        return;
    };
    loop {
        // Created before it reads the deadlines, so that no later notification is missed.
        let notified = drivers.notified();
        let Some(shared) = running.shared.upgrade() else { return };
        let until = shared.clock.instant(shared.run_due(shared.clock.now()));
        drop(shared);
        // It wakes up in time, or because a deadline was brought forward.
        let _ = timeout_at(until, notified).await;
    }
}

impl Shared {
    /// Does what is due, and returns when to do so again.
    fn run_due(&self, now: Time) -> Time {
        let mut woken = Vec::new();
        if self.take_adjustment(now) {
            self.dispatcher.adjust(now, &mut woken);
        }
        loop {
            self.tick_due(now, &mut woken);
            wake(std::mem::take(&mut woken));
            let next = self.next_deadline();
            self.next_wakeup.store(next.0, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.next_deadline() >= next {
                return next;
            }
        }
    }

    /// Whether the caller has to adjust the limits now. The times are the layer's, so that a driver
    /// that starts continues where another ended.
    fn take_adjustment(&self, now: Time) -> bool {
        let mut adjust_at = self.adjust_at.lock();
        let due = adjust_at.is_some_and(|at| at <= now);
        if due || adjust_at.is_none() {
            *adjust_at = Some(now + ADJUSTMENT_PERIOD);
        }
        due
    }

    fn tick_due(&self, now: Time, woken: &mut Vec<Waker>) {
        for level in self.dispatcher.levels() {
            if level.deadline().is_some_and(|deadline| deadline <= now) {
                self.dispatcher.tick(now, &level, woken);
            }
        }
    }

    fn wakers(&self) -> Vec<Waker> {
        let levels = self.dispatcher.levels();
        let of = |view: LevelView<'_, Waker>| view.set.wakers().cloned().collect::<Vec<_>>();
        levels.iter().flat_map(|level| level.view(of)).collect()
    }

    fn next_deadline(&self) -> Time {
        let at_most = self.adjust_at.lock().unwrap_or(Time::MAX);
        let levels = self.dispatcher.levels();
        levels.iter().filter_map(|level| level.deadline()).fold(at_most, Time::min)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_fairness::{
        Request, Settings, Width,
        config::{
            Config, Conjunction, Distinguisher, Field, Handling, Level, Op, Predicate, Queuing,
            Schema, Source, Test,
        },
        dialect::kubernetes,
        dispatcher::{Admission, Cost},
        flow::{FlowHash, FlowKey},
        queues::SeatLimit,
    };

    use super::*;
    use crate::{policy::Policy, shared::RequestHandle};

    #[test]
    fn limits_are_adjusted_in_time_by_drivers_that_come_and_go() {
        let config = kubernetes::defaults().compile().config;
        let shared = Shared::new(config, 600, Settings::default(), Policy::default()).unwrap();
        let seconds = |n| Time(0) + Duration::from_secs(n);
        // Each time by a driver that has just started.
        let wakeups = [(0, 10), (4, 10), (8, 10), (11, 21), (20, 21), (21, 31)];
        for (now, next) in wakeups {
            assert_eq!(shared.run_due(seconds(now)), seconds(next), "at {now} s");
        }
        let adjusted = shared.dispatcher.limits().1;
        assert!(adjusted > 0.0, "{adjusted}");
    }

    /// Two levels of four seats: requests of the user `other` go to the first, all else to the second.
    fn two_levels() -> Shared {
        let level = |name: &str| Level {
            name: name.into(),
            uid: Arc::default(),
            shares: 1,
            lendable_percent: 0,
            borrowing_limit_percent: None,
            handling: Handling::Queue(Queuing { queues: 8, hand_size: 2, queue_length_limit: 9 }),
            implied: false,
        };
        let schema = |name: &str, level, tests| Schema {
            name: name.into(),
            uid: Arc::default(),
            precedence: 1,
            level,
            distinguisher: Some(Distinguisher { source: Source::User, transform: None }),
            predicate: Predicate::Match(vec![Conjunction { tests }]),
            implied: false,
        };
        let test = Test { field: Field::User, op: Op::Equals("other".into()), negated: false };
        let schemas = vec![schema("other", 0, vec![test]), schema("main", 1, vec![])];
        let config = Config { levels: vec![level("other"), level("main")], schemas, fallback: 1 };
        let flow_hash = FlowHash::Keyed(Some(FlowKey::new([1; 32])));
        let settings = Settings { flow_hash, ..Settings::default() };
        Shared::new(config, 8, settings, Policy::default()).unwrap()
    }

    fn at(tenths: u64) -> Time {
        Time(0) + Duration::from_millis(100 * tenths)
    }

    fn admit(shared: &Shared, now: Time, user: &str, seats: u32) -> Admission<Waker> {
        let request = Request { user, ..Request::default() };
        let cost = |_: &_| Cost { width: Width::seats(seats), wait_until: Time::MAX, watch: false };
        let waker = || Waker::noop().clone();
        shared.dispatcher.admit(now, &request, cost, waker, &mut Vec::new()).admission
    }

    fn run(shared: &Shared, now: Time, user: &str, seats: u32) -> RequestHandle {
        match admit(shared, now, user, seats) {
            Admission::Dispatched(handle) => handle,
            other => panic!("{user}: {other:?}"),
        }
    }

    /// `main` lent two seats and holds back a slow flow. A seat of `other` that becomes free lets a
    /// request of `main` run, which may turn out to be slow within a second: `main` then has a
    /// deadline although nothing else happened to it.
    #[test]
    fn a_seat_that_changes_hands_wakes_the_driver_for_the_deadline_of_the_level_that_gets_it() {
        let shared = two_levels();
        let slow = run(&shared, at(0), "slow", 2);
        shared.leave(at(50), slow);
        for (level, limit) in shared.dispatcher.levels().iter().zip([6, 2]) {
            let seats = SeatLimit { limit, nominal: 4 };
            level.view(|view| view.set.set_seats(at(50), seats, &mut Vec::new()));
        }
        let others: Vec<RequestHandle> = (0..6).map(|_| run(&shared, at(50), "other", 1)).collect();
        let quick = run(&shared, at(50), "quick", 1);
        shared.leave(at(51), quick);
        let _slow = run(&shared, at(51), "slow", 2);
        let held_back = admit(&shared, at(51), "slow", 1);
        assert!(matches!(held_back, Admission::Waiting(_)), "{held_back:?}");
        assert_eq!(
            shared.run_due(at(52)),
            at(151),
            "quick flows were active for the last time at 5.1 s"
        );
        let claims = admit(&shared, at(52), "quick", 1);
        assert!(matches!(claims, Admission::Waiting(_)), "{claims:?}");

        let mut notified = std::pin::pin!(shared.drivers.notified());
        notified.as_mut().enable();
        shared.leave(at(53), others.into_iter().next().unwrap());
        assert!(notified.as_mut().enable(), "the driver sleeps until 15.1 s");
        assert_eq!(shared.run_due(at(53)), at(63), "it has run for a second then");
    }
}
