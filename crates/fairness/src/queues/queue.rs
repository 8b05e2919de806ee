//! One queue of a level.

use super::{
    slots::{List, Slots},
    work::Work,
};

/// Requests that wait, first come first served, and what is known of those that run.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Queue {
    pub(super) waiting: List,
    /// Those of slow flows, which may be held back.
    pub(super) slow: List,
    /// S: the reading of R at which the next request is dispatched in the virtual world.
    pub(super) start: Work,
    pub(super) executing: u32,
    /// Lingering ones included.
    pub(super) seats_in_use: u64,
    pub(super) seats_waiting: u64,
    pub(super) initial_seats_waiting: u64,
    pub(super) work_waiting: Work,
    /// Its virtual finish in the order; none while nothing waits.
    pub(super) finish: Option<Work>,
    /// The same in the order of slow flows.
    pub(super) slow_finish: Option<Work>,
}

impl Queue {
    pub(super) fn is_active(&self) -> bool {
        self.len() > 0 || self.executing > 0
    }

    /// How many wait.
    pub(super) fn len(&self) -> u32 {
        self.waiting.len + self.slow.len
    }

    pub(super) fn enqueue<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        self.list(slots[index].slow).append(slots, index);
        let slot = &slots[index];
        self.seats_waiting += u64::from(slot.width.max_seats());
        self.initial_seats_waiting += u64::from(slot.width.initial_seats);
        self.work_waiting += slot.work;
    }

    pub(super) fn dequeue<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        self.list(slots[index].slow).take(slots, index);
        let slot = &slots[index];
        self.seats_waiting -= u64::from(slot.width.max_seats());
        self.initial_seats_waiting -= u64::from(slot.width.initial_seats);
        self.work_waiting -= slot.work;
    }

    /// The virtual finish of the head of either list, by the guess: a slow flow pays once it has been
    /// served. Were its head behind all that others do in the meantime, it would starve.
    pub(super) fn head_finish<W>(&self, slots: &Slots<W>, list: &List, guess: u64) -> Option<Work> {
        (list.len > 0).then(|| self.start.plus(slots[list.head].guessed_work(guess)))
    }

    /// By how much the virtual finish of a new request is ahead of R. A queue that is behind, or has
    /// nothing to do, starts at R: were it preferred for that, the others of a hand would run empty.
    pub(super) fn backlog(&self, r: Work) -> u64 {
        let ahead = self.start.0.wrapping_sub(r.0) as i64;
        let debt = if self.is_active() { ahead.max(0) as u64 } else { 0 };
        debt.saturating_add(self.work_waiting.0)
    }

    fn list(&mut self, slow: bool) -> &mut List {
        if slow { &mut self.slow } else { &mut self.waiting }
    }
}
