//! The task that does what time brings about: one for each layer.
//!
//! It sleeps until the earliest deadline of all levels, and at most until the limits are to follow
//! the demand again. When it will look is announced in [`Shared::armed`]; whoever brings a deadline
//! forward past that notifies it. As it looks every [`ADJUSTMENT_PERIOD`] anyway, that is rare:
//! waits and holds last for longer. A deadline that went away costs one look for nothing.

use std::{
    sync::{
        Arc, Weak,
        atomic::{Ordering, fence},
    },
    task::Waker,
};

use evenkeel_fairness::{
    Time,
    dispatcher::{ADJUSTMENT_PERIOD, LevelView},
};
use tokio::{runtime::Handle, time::timeout_at};

use crate::shared::{Shared, wake};

/// Starts the driver if it does not run and we are in a runtime.
pub(crate) fn ensure(shared: &Arc<Shared>) {
    if shared.driven.load(Ordering::Relaxed) {
        return;
    }
    start(shared);
}

#[cold]
fn start(shared: &Arc<Shared>) {
    let Ok(runtime) = Handle::try_current() else { return };
    if !shared.driven.swap(true, Ordering::Relaxed) {
        runtime.spawn(drive(Running(Arc::downgrade(shared))));
    }
}

/// Says that the driver runs no more when its task ends, be it with its runtime: the next request
/// starts another. Requests of other runtimes may be waiting; woken, one of them does.
struct Running(Weak<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(shared) = self.0.upgrade() {
            shared.driven.store(false, Ordering::SeqCst);
            wake(shared.wakers());
        }
    }
}

async fn drive(running: Running) {
    let mut adjust_at = None;
    loop {
        let Some(shared) = running.0.upgrade() else { return };
        let until = shared.tend(&mut adjust_at);
        let (look, until) = (shared.look.clone(), shared.clock.instant(until));
        drop(shared);
        // Either will do: that it is time, or that it must be sooner.
        let _ = timeout_at(until, look.notified()).await;
    }
}

impl Shared {
    /// Does what is due, and returns when to do so again.
    fn tend(&self, adjust_at: &mut Option<Time>) -> Time {
        let now = self.clock.now();
        let adjust_at = adjust_at.get_or_insert(now + ADJUSTMENT_PERIOD);
        let mut woken = Vec::new();
        if *adjust_at <= now {
            self.dispatcher.adjust(now, &mut woken);
            *adjust_at = now + ADJUSTMENT_PERIOD;
        }
        loop {
            self.tick_due(now, &mut woken);
            wake(std::mem::take(&mut woken));
            let next = self.next_deadline(*adjust_at);
            self.armed.store(next.0, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.next_deadline(*adjust_at) >= next {
                return next;
            }
        }
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

    fn next_deadline(&self, at_most: Time) -> Time {
        let levels = self.dispatcher.levels();
        levels.iter().filter_map(|level| level.deadline()).fold(at_most, Time::min)
    }
}
