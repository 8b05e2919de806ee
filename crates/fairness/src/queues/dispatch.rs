//! Who goes next.

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
        while self.waiting > 0 && self.has_seats() {
            let lap = self.lap % self.queues.len() as u32;
            let queue = self.order.next(lap).expect("the queue of each that waits is in the order");
            let head = self.queues[queue as usize].waiting.head;
            if !self.fits(self.slots[head].width.max_seats()) {
                self.schema(head).not_accommodated += 1;
                return;
            }
            if let Some(waker) = self.slots[head].waker.take() {
                self.waits.remove(&Timer::of(&self.slots[head], head));
                woken.push(waker);
            }
            self.dequeue(head);
            self.go(head);
            self.rekey(queue);
        }
    }

    pub(super) fn has_seats(&self) -> bool {
        self.is_exempt() || self.seats_in_use < self.seats.limit.into()
    }

    /// Whether so many seats can be had now. A request wider than the whole level goes alone.
    pub(super) fn fits(&self, seats: u32) -> bool {
        let limit = self.seats.limit;
        match self.handling {
            Handling::Exempt => true,
            Handling::Reject if limit == 0 && !self.settings.zero_limit_admits_one => false,
            _ if seats > limit => self.executing == 0,
            _ => self.seats_in_use + u64::from(seats) <= limit.into(),
        }
    }

    /// Takes a request that waits out of its queue.
    pub(super) fn dequeue(&mut self, index: u32) {
        let queue = self.slots[index].queue;
        self.queues[queue as usize].dequeue(&mut self.slots, index);
        let seats = u64::from(self.slots[index].width.max_seats());
        self.waiting -= 1;
        self.seats_waiting -= seats;
        self.queued_seats -= seats;
        let stats = self.schema(index);
        stats.waiting -= 1;
        stats.seats_waiting -= seats;
    }

    /// A request of a queue goes.
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
    }

    /// A request gets its seats.
    pub(super) fn seat(&mut self, index: u32) {
        let slot = &mut self.slots[index];
        slot.state = State::Executing;
        slot.dispatched = self.now;
        let (seats, waited) = (u64::from(slot.width.max_seats()), self.now - slot.arrived);
        self.executing += 1;
        self.seats_in_use += seats;
        let stats = self.schema(index);
        stats.dispatched += 1;
        stats.executing += 1;
        stats.seats_executing += seats;
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
