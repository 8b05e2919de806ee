//! Timers: waits and holds that have lasted too long, seats that no longer linger.

use std::collections::BTreeSet;

use super::{
    QueueSet, RejectReason,
    slots::{NONE, Slot, State},
};
use crate::Time;

/// A timer; of those at the same time the older request comes first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Timer {
    at: Time,
    arrived: Time,
    slot: u32,
}

impl Timer {
    pub(super) fn of<W>(slot: &Slot<W>, index: u32) -> Self {
        Timer { at: slot.until, arrived: slot.arrived, slot: index }
    }
}

impl<W> QueueSet<W> {
    /// When [`Self::tick`] must be called next.
    pub fn next_deadline(&self) -> Option<Time> {
        let wait = self.waits.first().map(|timer| timer.at).filter(|at| *at < Time::MAX);
        let linger = self.lingers.first().map(|timer| timer.at);
        [wait, linger, self.hold_end(), self.cap_opens()].into_iter().flatten().min()
    }

    /// Does what is due, and cedes as [`Self::leave`] does.
    pub fn tick(&mut self, now: Time, ceding: u32, woken: &mut Vec<W>) -> u32 {
        let ceded = self.release(now, ceding, woken);
        self.expire(now, woken);
        ceded
    }

    /// Frees the seats that no longer linger, and those that slow readers have held for too long;
    /// lets those go that slow flows may use by now.
    pub fn release(&mut self, now: Time, ceding: u32, woken: &mut Vec<W>) -> u32 {
        self.advance(now);
        let mut ceded = 0;
        while let Some(index) = take_due(&mut self.lingers, now) {
            self.release_seats(index);
            self.slots.remove(index);
            ceded += self.cede_seats(ceding - ceded);
            self.dispatch(woken);
        }
        ceded += self.detach_due(ceding - ceded, woken);
        if self.waits_for_cap() {
            self.dispatch(woken);
        }
        self.note();
        ceded
    }

    /// Frees the seats of responses that have been held for too long, the oldest first.
    pub(super) fn detach_due(&mut self, ceding: u32, woken: &mut Vec<W>) -> u32 {
        let mut ceded = 0;
        while self.hold_end().is_some_and(|end| end <= self.now) {
            let index = self.holds.head;
            self.end(index);
            self.release_seats(index);
            self.slots[index].state = State::Detached;
            self.detached += 1;
            self.schema(index).detached_total += 1;
            ceded += self.cede_seats(ceding - ceded);
            self.dispatch(woken);
        }
        ceded
    }

    /// When the next response loses its seats. None does while as many as may have lost theirs: the
    /// end of one of those brings it about.
    fn hold_end(&self) -> Option<Time> {
        let may = self.holds.head != NONE && self.detached < self.settings.max_detached;
        may.then(|| self.slots[self.holds.head].until)
    }

    /// Rejects requests that have waited for too long.
    pub fn expire(&mut self, now: Time, woken: &mut Vec<W>) {
        self.advance(now);
        let mut any = false;
        while let Some(index) = take_due(&mut self.waits, now) {
            let waker = self.slots[index].waker.take();
            self.give_up(index, RejectReason::TimeOut);
            self.slots[index].state = State::TimedOut;
            self.retry_after.on_drop(self.now);
            woken.extend(waker);
            any = true;
        }
        if any {
            self.dispatch_after_timeout(woken);
        }
        self.note();
    }
}

fn take_due(timers: &mut BTreeSet<Timer>, now: Time) -> Option<u32> {
    let timer = timers.first().filter(|timer| timer.at <= now)?.slot;
    timers.pop_first();
    Some(timer)
}
