//! Which Service is looked at next, and when.
//!
//! Services that are marked go in the order they were marked. One that failed waits, twice as long
//! each time; a change makes it due again at most once a second. While a Service is being synced it
//! is not handed out; a mark that comes then counts when the sync is over. O(log n) for each step,
//! and no more memory than Services, however often they are marked while nobody takes them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use evenkeel_model::ServiceId;
use rustc_hash::FxHashMap;

/// The shortest pause between a failure and the next try, whatever changes.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Queue {
    places: FxHashMap<ServiceId, Place>,
    /// By the number of their mark.
    marked: BTreeMap<u64, ServiceId>,
    ready: BTreeMap<u64, ServiceId>,
    later: BTreeSet<(Duration, ServiceId)>,
    /// Counts marks.
    marks: u64,
}

#[derive(Debug, Default)]
struct Place {
    state: State,
    failures: u32,
    /// Not to be handed out before.
    not_before: Duration,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Idle,
    Marked(u64),
    Ready(u64),
    Later {
        due: Duration,
        /// After a failure, so that a change may bring it forward.
        failed: bool,
    },
    Running {
        marked: bool,
    },
}

impl Queue {
    pub(super) fn mark(&mut self, id: ServiceId) {
        let place = self.places.entry(id).or_default();
        match &mut place.state {
            State::Idle => {}
            State::Later { due, failed: true } => {
                self.later.remove(&(*due, id));
            }
            State::Running { marked } => {
                *marked = true;
                return;
            }
            State::Marked(_) | State::Ready(_) | State::Later { failed: false, .. } => return,
        }
        self.marks += 1;
        place.state = State::Marked(self.marks);
        self.marked.insert(self.marks, id);
    }

    /// The Service is gone. One that is being synced stays until that is over.
    pub(super) fn forget(&mut self, id: ServiceId) {
        let Some(place) = self.places.get(&id) else { return };
        match place.state {
            State::Running { .. } => return,
            State::Later { due, .. } => {
                self.later.remove(&(due, id));
            }
            State::Marked(number) => {
                self.marked.remove(&number);
            }
            State::Ready(number) => {
                self.ready.remove(&number);
            }
            State::Idle => {}
        }
        self.places.remove(&id);
    }

    /// The next Service to sync; it runs until [`Queue::finish`].
    pub(super) fn next(&mut self, now: Duration, batch: Duration) -> Option<ServiceId> {
        self.settle(now, batch);
        let (_, id) = self.ready.pop_first()?;
        let place = self.places.get_mut(&id).expect("what is ready has a place");
        place.state = State::Running { marked: false };
        Some(id)
    }

    /// A sync is over. Returns when one that did not succeed is tried again.
    pub(super) fn finish(
        &mut self,
        id: ServiceId,
        now: Duration,
        end: End,
        backoff: &Backoff,
    ) -> Option<Duration> {
        let place = self.places.get_mut(&id)?;
        let State::Running { marked } = place.state else { return None };
        match end {
            End::Settled { rest } => {
                place.failures = 0;
                place.not_before = now + rest;
                place.state = State::Idle;
            }
            End::Waits { until } => {
                place.state = State::Later { due: until, failed: true };
                self.later.insert((until, id));
            }
            End::Throttled { after } => {
                place.not_before = now + after;
                place.state = State::Later { due: now + after, failed: false };
                self.later.insert((now + after, id));
                return Some(after);
            }
            End::Failed { after } => {
                let pause = after.unwrap_or_else(|| backoff.pause(place.failures));
                place.failures = place.failures.saturating_add(1);
                // With a change it is tried earlier, but not at once, and not before the server
                // wants to be asked.
                let least = after.unwrap_or_else(|| pause.min(AFTER_FAILURE));
                let pause = if marked { least } else { pause };
                place.not_before = now + least;
                place.state = State::Later { due: now + pause, failed: true };
                self.later.insert((now + pause, id));
                return Some(pause);
            }
        }
        if marked {
            self.mark(id);
        }
        None
    }

    pub(super) fn failures(&self, id: ServiceId) -> u32 {
        self.places.get(&id).map_or(0, |place| place.failures)
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        if !self.marked.is_empty() || !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        self.later.first().map(|(due, _)| *due)
    }

    pub(super) fn waiting(&self) -> usize {
        self.marked.len() + self.ready.len() + self.later.len()
    }

    /// Gives what was marked its time, and makes ready whose time has come.
    fn settle(&mut self, now: Duration, batch: Duration) {
        while let Some((number, id)) = self.marked.pop_first() {
            let place = self.places.get_mut(&id).expect("what is marked has a place");
            let due = place.not_before.max(if batch.is_zero() { now } else { now + batch });
            if due <= now {
                place.state = State::Ready(number);
                self.ready.insert(number, id);
            } else {
                place.state = State::Later { due, failed: false };
                self.later.insert((due, id));
            }
        }
        while let Some(&(due, id)) = self.later.first().filter(|(due, _)| *due <= now) {
            self.later.remove(&(due, id));
            let place = self.places.get_mut(&id).expect("what waits has a place");
            self.marks += 1;
            place.state = State::Ready(self.marks);
            self.ready.insert(self.marks, id);
        }
    }
}

/// How a sync ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// `rest`: a large Service is left alone for a while, so that others have their turn.
    Settled { rest: Duration },
    /// It was too early; a change may bring it forward.
    Waits { until: Duration },
    /// The server was busy; it is not asked again before.
    Throttled { after: Duration },
    /// `after`: when the server wants to be asked again.
    Failed { after: Option<Duration> },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) first: Duration,
    pub(super) max: Duration,
}

impl Backoff {
    fn pause(&self, failures: u32) -> Duration {
        let factor = 2_u32.checked_pow(failures).unwrap_or(u32::MAX);
        self.first.saturating_mul(factor).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::Id;

    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: Duration::from_millis(250), max: Duration::from_secs(300) };
    const OK: End = End::Settled { rest: Duration::ZERO };

    fn id(index: u32) -> ServiceId {
        ServiceId::from_index(index)
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn marked_twice_is_handed_out_once() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        queue.mark(id(2));
        queue.mark(id(1));
        assert_eq!(queue.next(at(0), Duration::ZERO), Some(id(1)));
        assert_eq!(queue.next(at(0), Duration::ZERO), Some(id(2)));
        assert_eq!(queue.next(at(0), Duration::ZERO), None);
    }

    #[test]
    fn a_mark_while_running_counts_afterwards() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        queue.next(at(0), Duration::ZERO);
        queue.mark(id(1));
        assert_eq!(queue.next(at(0), Duration::ZERO), None);
        queue.finish(id(1), at(0), OK, &BACKOFF);
        assert_eq!(queue.next(at(0), Duration::ZERO), Some(id(1)));
    }

    #[test]
    fn failures_wait_longer_each_time_and_a_change_shortens_to_a_second() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        let mut now = at(0);
        for pause in [250, 500, 1000, 2000, 4000] {
            assert_eq!(queue.next(now, Duration::ZERO), Some(id(1)));
            queue.finish(id(1), now, End::Failed { after: None }, &BACKOFF);
            assert_eq!(queue.next_due(), Some(now + at(pause)));
            assert_eq!(queue.next(now, Duration::ZERO), None);
            now += at(pause);
        }
        queue.next(now, Duration::ZERO);
        queue.finish(id(1), now, End::Failed { after: None }, &BACKOFF);
        queue.mark(id(1));
        assert_eq!(queue.next(now, Duration::ZERO), None);
        assert_eq!(queue.next(now + at(1000), Duration::ZERO), Some(id(1)));
        queue.finish(id(1), now, OK, &BACKOFF);
        assert_eq!(queue.failures(id(1)), 0);
    }

    #[test]
    fn changes_are_gathered_for_the_batch_period() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        assert_eq!(queue.next(at(0), at(100)), None);
        queue.mark(id(1));
        assert_eq!(queue.next(at(50), at(100)), None);
        assert_eq!(queue.next(at(100), at(100)), Some(id(1)), "later changes do not put it off");
    }

    #[test]
    fn a_busy_server_is_not_asked_earlier_and_that_is_no_failure() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        queue.next(at(0), Duration::ZERO);
        queue.mark(id(1));
        queue.finish(id(1), at(0), End::Throttled { after: at(3000) }, &BACKOFF);
        queue.mark(id(1));
        assert_eq!(queue.next(at(2999), Duration::ZERO), None);
        assert_eq!(queue.failures(id(1)), 0);
        assert_eq!(queue.next(at(3000), Duration::ZERO), Some(id(1)));
    }

    /// A standby marks and forgets for weeks without ever asking for the next.
    #[test]
    fn what_is_marked_and_never_taken_is_held_once() {
        let mut queue = Queue::default();
        for n in 0..10_000 {
            queue.mark(id(7));
            queue.mark(id(n % 3));
            queue.forget(id(n % 3));
        }
        assert_eq!((queue.waiting(), queue.marked.len(), queue.places.len()), (1, 1, 1));
    }

    #[test]
    fn what_is_forgotten_is_not_handed_out() {
        let mut queue = Queue::default();
        queue.mark(id(1));
        queue.mark(id(2));
        assert_eq!(queue.next(at(0), Duration::ZERO), Some(id(1)));
        queue.forget(id(2));
        assert_eq!(queue.next(at(0), Duration::ZERO), None);
        queue.finish(id(1), at(0), End::Failed { after: None }, &BACKOFF);
        queue.forget(id(1));
        assert_eq!((queue.next_due(), queue.waiting()), (None, 0));
    }
}
