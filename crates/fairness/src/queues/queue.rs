//! One queue of a level.

use super::{
    slots::{List, Slots},
    work::Work,
};

/// Requests that wait, first come first served, and what is known of those that run.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) waiting: List,
    /// S: the reading of R at which the next request is dispatched in the virtual world.
    pub(super) start: Work,
    pub(super) executing: u32,
    /// Lingering ones included.
    pub(super) seats_in_use: u64,
    pub(super) seats_waiting: u64,
    pub(super) initial_seats_waiting: u64,
    pub(super) work_waiting: Work,
    /// Under which virtual finish it stands in the order; none while nothing waits.
    pub(super) finish: Option<Work>,
}

impl Queue {
    pub(super) fn is_active(&self) -> bool {
        self.waiting.len > 0 || self.executing > 0
    }

    pub(super) fn enqueue<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        self.waiting.append(slots, index);
        let slot = &slots[index];
        self.seats_waiting += u64::from(slot.width.max_seats());
        self.initial_seats_waiting += u64::from(slot.width.initial_seats);
        self.work_waiting += slot.work;
    }

    pub(super) fn dequeue<W>(&mut self, slots: &mut Slots<W>, index: u32) {
        self.waiting.take(slots, index);
        let slot = &slots[index];
        self.seats_waiting -= u64::from(slot.width.max_seats());
        self.initial_seats_waiting -= u64::from(slot.width.initial_seats);
        self.work_waiting -= slot.work;
    }

    /// The virtual finish of the head.
    pub(super) fn head_finish<W>(&self, slots: &Slots<W>) -> Option<Work> {
        (self.waiting.len > 0).then(|| self.start.plus(slots[self.waiting.head].work))
    }
}
