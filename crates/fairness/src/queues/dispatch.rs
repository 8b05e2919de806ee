//! Which request is dispatched next.

use super::{
    Handling, QueueSet,
    expire::Timer,
    slots::{NONE, State},
    work::Work,
};
use crate::time::nanos;

impl<W> QueueSet<W> {
    /// Dispatches as much as possible. The head that is chosen goes or, if it does not fit, keeps
    /// the others waiting: otherwise wide requests would starve.
    pub(super) fn dispatch(&mut self, woken: &mut Vec<W>) {
        self.count_others();
        while self.waiting > 0 && self.has_seats() {
            let Some(head) = self.next_head() else { return };
            if !self.slots[head].slow && self.is_slow(self.slots[head].flow) {
                self.mark_slow(head);
                continue;
            }
            let queue = self.slots[head].queue;
            if !self.fits(self.slots[head].width.max_seats()) {
                self.schema(head).not_accommodated += 1;
                return;
            }
            if let Some(waker) = self.slots[head].waker.take() {
                self.waits.remove(&Timer::of(&self.slots[head], head));
                woken.push(waker);
            }
            self.dequeue(head);
            self.charge_anew(head);
            self.go(head);
            self.rekey(queue);
        }
    }

    /// The head that is dispatched next; none if all are held back. It is the first in its queue that
    /// may go.
    pub(super) fn next_head(&self) -> Option<u32> {
        let lap = self.lap % self.queues.len() as u32;
        let ordinary = self.order.next(lap);
        let Some(slow) = self.next_slow(lap) else {
            let (_, queue) = ordinary?;
            return Some(self.first_to_go(queue));
        };
        let turn = |(finish, queue): (Work, u32)| (finish, queue < lap, queue);
        let (_, _, queue) = ordinary.map_or(turn(slow), |next| turn(next).min(turn(slow)));
        Some(self.first_to_go(queue))
    }

    /// Of the heads of a queue's two lists, the first to arrive that may go.
    fn first_to_go(&self, queue: u32) -> u32 {
        let queue = &self.queues[queue as usize];
        let (first, slow) = (queue.waiting.head, queue.slow.head);
        if slow == NONE || !self.cap_admits(self.slots[slow].width.max_seats()) {
            return first;
        }
        let older = first == NONE || self.slots[slow].number < self.slots[first].number;
        if older { slow } else { first }
    }

    pub(super) fn has_seats(&self) -> bool {
        self.is_exempt() || self.seats_in_use < self.seats.limit.into()
    }

    /// Whether `seats` are free now. A request wider than the whole level runs alone.
    pub(super) fn fits(&self, seats: u32) -> bool {
        let limit = self.seats.limit;
        match self.handling {
            Handling::Exempt => true,
            Handling::Reject if limit == 0 && !self.settings.zero_limit_admits_one => false,
            _ if seats > limit => self.executing == 0,
            _ => self.seats_in_use + u64::from(seats) <= limit.into(),
        }
    }

    /// Removes a waiting request from its queue.
    pub(super) fn dequeue(&mut self, index: u32) {
        let queue = self.slots[index].queue;
        self.queues[queue as usize].dequeue(&mut self.slots, index);
        let seats = u64::from(self.slots[index].width.max_seats());
        self.waiting -= 1;
        self.seats_waiting -= seats;
        self.queued_seats -= seats;
        if let (true, Some(lane)) = (self.slots[index].slow, &mut self.slow_lane) {
            lane.waiting -= 1;
            lane.seats_waiting -= seats;
        }
    }

    /// A request of a queue is dispatched.
    pub(super) fn go(&mut self, index: u32) {
        self.cut_final_seats(index);
        self.seat(index);
        let slot = &self.slots[index];
        let seats = u64::from(slot.width.max_seats());
        let queue = &mut self.queues[slot.queue as usize];
        queue.executing += 1;
        queue.seats_in_use += seats;
        (self.stats.dispatch_r, self.stats.latest_start) = (self.r, queue.start);
        queue.start += slot.work;
        self.queued_seats += seats;
        self.lap = slot.queue + 1;
        self.track(index);
    }

    /// A request gets its seats.
    pub(super) fn seat(&mut self, index: u32) {
        let slot = &mut self.slots[index];
        slot.state = State::Executing;
        slot.dispatched = self.now;
        self.dispatches += 1;
        slot.number = self.dispatches;
        let (seats, waited) = (u64::from(slot.width.max_seats()), self.now - slot.arrived);
        self.executing += 1;
        self.seats_in_use += seats;
        let stats = self.schema(index);
        stats.dispatched += 1;
        stats.wait.observe_duration(waited);
    }

    /// A final phase wider than the level is made as wide, and as much longer.
    fn cut_final_seats(&mut self, index: u32) {
        let (limit, exempt) = (self.seats.limit, self.is_exempt());
        let slot = &mut self.slots[index];
        if exempt || slot.queue == NONE || slot.width.final_seats <= limit {
            return;
        }
        let latency = nanos(slot.width.additional_latency) as f64;
        let work = Work::of(slot.width.final_seats.into(), latency);
        slot.width.final_seats = limit;
        slot.width.additional_latency = std::time::Duration::from_nanos(work.nanos_per_seat(limit));
    }
}
