//! A request leaves: it has ended, or its client disconnected.

use super::{
    QueueSet, RejectReason,
    expire::Timer,
    slots::{NONE, State, Ticket},
    work::Work,
};
use crate::{Time, time::nanos};

impl<W> QueueSet<W> {
    /// A request leaves, whatever its state: one that waits leaves its queue, one that runs frees its
    /// seats, at once or after its additional latency. A ticket that is no longer valid changes
    /// nothing.
    ///
    /// Of seats that are free then and borrowed, up to `ceding` are given up before another request of
    /// this level is dispatched; returns how many.
    pub fn leave(&mut self, now: Time, ticket: Ticket, ceding: u32, woken: &mut Vec<W>) -> u32 {
        let Some(index) = self.slots.find(ticket) else { return 0 };
        self.advance(now);
        let mut ceded = 0;
        match self.slots[index].state {
            State::Waiting => {
                self.give_up(index, RejectReason::Cancelled);
                self.slots.remove(index);
                self.dispatch_after_timeout(woken);
            }
            State::Executing | State::Responding => {
                self.end(index);
                self.linger_or_release(index);
                ceded = self.cede_seats(ceding);
                self.dispatch(woken);
            }
            State::TimedOut => {
                self.slots.remove(index);
            }
            State::Detached => {
                self.detached -= 1;
                self.slots.remove(index);
                ceded = self.detach_due(ceding, woken);
            }
            State::Lingering | State::Free => {}
        }
        self.note();
        ceded
    }

    /// The response of a request has begun. From now on it may keep its seats for as long as
    /// [`Settings::response_hold`](crate::Settings) says.
    pub fn respond(&mut self, now: Time, ticket: Ticket) {
        let (Some(index), Some(hold)) = (self.slots.find(ticket), self.settings.response_hold)
        else {
            return;
        };
        if self.slots[index].state == State::Executing {
            self.slots[index].state = State::Responding;
            self.slots[index].until = now.max(self.now) + hold;
            self.holds.append(&mut self.slots, index);
        }
    }

    /// Gives up at most `wanted` of the seats that are borrowed and free; returns how many.
    pub fn cede(&mut self, now: Time, wanted: u32) -> u32 {
        self.advance(now);
        self.cede_seats(wanted)
    }

    /// Seats it has borrowed and does not use. The limit of an exempt level is what it used, not
    /// seats that others lent: they may have all of theirs besides, so it has none to give.
    pub fn spare(&self) -> u32 {
        if self.is_exempt() {
            return 0;
        }
        let borrowed = self.seats.limit.saturating_sub(self.seats.nominal);
        let free = u64::from(self.seats.limit).saturating_sub(self.seats_in_use);
        borrowed.min(u32::try_from(free).unwrap_or(u32::MAX))
    }

    pub(super) fn cede_seats(&mut self, wanted: u32) -> u32 {
        let ceded = wanted.min(self.spare());
        self.seats.limit -= ceded;
        ceded
    }

    /// Removes a waiting request that is not served from its queue.
    pub(super) fn give_up(&mut self, index: u32, reason: RejectReason) {
        if self.slots[index].waker.take().is_some() {
            self.waits.remove(&Timer::of(&self.slots[index], index));
        }
        let (queue, waited) = (self.slots[index].queue, self.now - self.slots[index].arrived);
        self.dequeue(index);
        self.note_given_up(index);
        if !self.queues[queue as usize].is_active() {
            self.active -= 1;
        }
        self.rekey(queue);
        let stats = self.schema(index);
        stats.rejected[reason as usize] += 1;
        stats.wait_rejected.observe_duration(waited);
    }

    pub(super) fn dispatch_after_timeout(&mut self, woken: &mut Vec<W>) {
        if self.settings.dispatch_after_timeout {
            self.dispatch(woken);
        }
    }

    /// A request has ended, and its service time is known.
    pub(super) fn end(&mut self, index: u32) {
        if self.slots[index].state == State::Responding {
            self.holds.take(&mut self.slots, index);
        }
        let served = self.now - self.slots[index].dispatched;
        self.learn(index, served);
        let slot = &self.slots[index];
        let stats = self.counts.of(slot.schema);
        match slot.watch {
            true => stats.execution_watch.observe_duration(served),
            false => stats.execution.observe_duration(served),
        }
        self.executing -= 1;
        if slot.queue != NONE {
            let queue_index = slot.queue;
            let overestimate = slot.charge as i64 - nanos(served) as i64;
            let queue = &mut self.queues[queue_index as usize];
            queue.executing -= 1;
            queue.start -= Work::of(slot.width.initial_seats.into(), overestimate as f64);
            if !queue.is_active() {
                self.active -= 1;
            }
            self.rekey(queue_index);
        }
    }

    fn linger_or_release(&mut self, index: u32) {
        let latency = self.slots[index].width.additional_latency;
        if latency.is_zero() {
            self.release_seats(index);
            self.slots.remove(index);
            return;
        }
        let slot = &mut self.slots[index];
        slot.state = State::Lingering;
        slot.until = self.now + latency;
        self.lingers.insert(Timer::of(slot, index));
    }

    /// Frees its seats. A queue without requests is removed if there are too many.
    pub(super) fn release_seats(&mut self, index: u32) {
        let slot = &self.slots[index];
        let (queue, seats) = (slot.queue, u64::from(slot.width.max_seats()));
        self.seats_in_use -= seats;
        self.untrack(index);
        if queue == NONE {
            return;
        }
        self.queued_seats -= seats;
        self.queues[queue as usize].seats_in_use -= seats;
        self.remove_if_surplus(queue);
    }
}
