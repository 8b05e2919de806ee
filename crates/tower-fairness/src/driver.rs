//! The tasks that do what time brings about.
//!
//! A layer has no runtime of its own: requests may come from several, each of which may end, or
//! stand still, at any time. So a request that arrives starts a driver on its runtime if nobody
//! looks in time, and one that waits starts one if there is none on its own: as long as that runs,
//! its wait ends. Mostly there is one runtime, and one driver.
//!
//! A driver sleeps until the earliest deadline of all levels, and at most until the limits are to
//! follow the demand again. When it will look is announced in [`Shared::armed`]; whoever brings a
//! deadline forward past that notifies all drivers. As they look every [`ADJUSTMENT_PERIOD`] anyway,
//! that is rare: waits and holds last for longer. A deadline that went away costs one look for
//! nothing. Drivers have no state: which does what is due makes no difference.

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

/// No driver looks.
pub(crate) const NOBODY: Time = Time(0);

/// A driver that is so late does not run: its runtime stands still.
const LATE: Duration = Duration::from_secs(1);

/// A request arrives: someone must look.
pub(crate) fn ensure(shared: &Arc<Shared>, now: Time) {
    let armed = Time(shared.armed.load(Ordering::Relaxed));
    if armed == NOBODY || now > armed + LATE {
        ensure_here(shared);
    }
}

/// Starts a driver on this runtime if we are in one that has none.
#[cold]
pub(crate) fn ensure_here(shared: &Arc<Shared>) {
    let Ok(handle) = Handle::try_current() else { return };
    let runtime = handle.id();
    {
        let mut driven = shared.driven.lock();
        if driven.contains(&runtime) {
            return;
        }
        driven.push(runtime);
    }
    handle.spawn(drive(Running { shared: Arc::downgrade(shared), runtime }));
}

/// Says that a driver runs no more when its task ends, be it with its runtime: the next request
/// starts another. Requests of other runtimes may be waiting; woken, they do.
struct Running {
    shared: Weak<Shared>,
    runtime: runtime::Id,
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.driven.lock().retain(|runtime| *runtime != self.runtime);
            shared.armed.store(NOBODY.0, Ordering::SeqCst);
            shared.look.notify_waiters();
            wake(shared.wakers());
        }
    }
}

async fn drive(running: Running) {
    let Some(look) = running.shared.upgrade().map(|shared| shared.look.clone()) else { return };
    loop {
        // Made before it looks, so that it hears of all that comes later.
        let notified = look.notified();
        let Some(shared) = running.shared.upgrade() else { return };
        let until = shared.clock.instant(shared.tend(shared.clock.now()));
        drop(shared);
        // Either will do: that it is time, or that it must be sooner.
        let _ = timeout_at(until, notified).await;
    }
}

impl Shared {
    /// Does what is due, and returns when to do so again.
    fn tend(&self, now: Time) -> Time {
        let mut woken = Vec::new();
        if self.take_adjustment(now) {
            self.dispatcher.adjust(now, &mut woken);
        }
        loop {
            self.tick_due(now, &mut woken);
            wake(std::mem::take(&mut woken));
            let next = self.next_deadline();
            self.armed.store(next.0, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.next_deadline() >= next {
                return next;
            }
        }
    }

    /// Whether the limits are to be adjusted now, by who asks. The times are the layer's, so that a
    /// driver that begins goes on where another ended.
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
    use evenkeel_fairness::{Settings, dialect::kubernetes};

    use super::*;
    use crate::policy::Policy;

    #[test]
    fn limits_are_adjusted_in_time_by_drivers_that_come_and_go() {
        let config = kubernetes::defaults().compile().config;
        let shared = Shared::new(config, 600, Settings::default(), Policy::default()).unwrap();
        let seconds = |n| Time(0) + Duration::from_secs(n);
        // Each look is that of a driver that has just begun.
        let looks = [(0, 10), (4, 10), (8, 10), (11, 21), (20, 21), (21, 31)];
        for (now, next) in looks {
            assert_eq!(shared.tend(seconds(now)), seconds(next), "at {now} s");
        }
        let adjusted = shared.dispatcher.limits().1;
        assert!(adjusted > 0.0, "{adjusted}");
    }
}
