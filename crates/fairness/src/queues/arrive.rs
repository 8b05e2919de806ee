//! A request arrives: it is seated, waits, or is rejected.

use super::{
    Handling, QueueSet, RejectReason,
    expire::Timer,
    slots::{NONE, Request, State, Ticket, Tracked},
    work::Work,
};
use crate::{Pick, Time, config::Queuing, seats::Width, time::nanos};

/// A request, as its level sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The hash of its flow.
    pub flow: u64,
    pub width: Width,
    /// Until when it may wait.
    pub wait_until: Time,
    /// Which of the level's [`schemas`](QueueSet::schemas) it belongs to.
    pub schema: u32,
    /// Whether it is a watch, which is done once it is set up.
    pub watch: bool,
}

impl Default for Arrival {
    fn default() -> Self {
        Arrival { flow: 0, width: Width::ONE, wait_until: Time::MAX, schema: 0, watch: false }
    }
}

/// The immediate outcome of an arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    Dispatched(Ticket),
    Waiting(Ticket),
    Rejected(RejectReason),
}

/// The state of a request that waited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    Waiting,
    Dispatched,
    /// Its ticket is no longer valid.
    Rejected(RejectReason),
}

impl<W> QueueSet<W> {
    /// Admits a request. `waker` is called only if it waits; `woken` gets the wakers of others that are
    /// dispatched.
    ///
    /// # Panics
    /// If the level has no schema of that number.
    pub fn arrive(
        &mut self,
        now: Time,
        arrival: Arrival,
        waker: impl FnOnce() -> W,
        woken: &mut Vec<W>,
    ) -> Outcome {
        if self.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.tick(now, 0, woken);
        }
        self.advance(now);
        let seats = arrival.width.max_seats();
        self.counts.of(arrival.schema).seats.observe(seats.into());
        let outcome = match self.handling {
            Handling::Queue(queuing) => self.join(queuing, arrival, waker, woken),
            _ if self.fits(seats) => {
                let ticket = self.insert(arrival, NONE, nanos(self.settings.guess));
                self.seat(ticket.slot);
                Outcome::Dispatched(ticket)
            }
            _ => self.reject(arrival, RejectReason::ConcurrencyLimit),
        };
        self.note();
        outcome
    }

    /// The state of a request; one that still waits is woken by `waker` from now on.
    pub fn verdict(&mut self, ticket: Ticket, waker: impl FnOnce(Option<W>) -> W) -> Verdict {
        let Some(index) = self.slots.find(ticket) else {
            return Verdict::Rejected(RejectReason::Cancelled);
        };
        match self.slots[index].state {
            State::Waiting => {
                let old = self.slots[index].waker.take();
                self.slots[index].waker = Some(waker(old));
                Verdict::Waiting
            }
            State::TimedOut => {
                self.slots.remove(index);
                Verdict::Rejected(RejectReason::TimeOut)
            }
            _ => Verdict::Dispatched,
        }
    }

    /// In which queue a request waits, or from which it came.
    pub fn queue_of(&self, ticket: Ticket) -> Option<u32> {
        let queue = self.slots[self.slots.find(ticket)?].queue;
        (queue != NONE).then_some(queue)
    }

    /// The number of a request's dispatch in this level: the order of those that one call dispatches,
    /// including the new request.
    pub fn dispatch_number(&self, ticket: Ticket) -> Option<u64> {
        let slot = &self.slots[self.slots.find(ticket)?];
        (!matches!(slot.state, State::Waiting | State::TimedOut)).then_some(slot.number)
    }

    fn join(
        &mut self,
        queuing: Queuing,
        arrival: Arrival,
        waker: impl FnOnce() -> W,
        woken: &mut Vec<W>,
    ) -> Outcome {
        let (slow, charge) = self.look_up(arrival.flow);
        let index = self.pick(arrival.flow);
        let queue = &self.queues[index as usize];
        // Requests that may be held back take no room from others.
        let length = if slow { queue.len() } else { queue.waiting.len };
        self.counts.fill().observe(length, queuing.queue_length_limit);
        let free = self.has_seats() && (!slow || self.cap_admits(arrival.width.max_seats()));
        let grows = self.settings.grows_while_seats_are_free && free;
        if length >= queuing.queue_length_limit && !grows {
            return self.reject(arrival, RejectReason::QueueFull);
        }
        self.counts.of(arrival.schema).queue_length.observe(u64::from(length) + 1);
        let r = self.r;
        let queue = &mut self.queues[index as usize];
        if !queue.is_active() {
            queue.start = r;
            self.active += 1;
        }
        let ticket = self.insert(arrival, index, charge);
        self.slots[ticket.slot].slow = slow;
        if free && self.nobody_else_may_go() && self.fits(arrival.width.max_seats()) {
            // It would be enqueued and be the only one to choose from.
            self.bound_to_arrival(index);
            self.go(ticket.slot);
            return Outcome::Dispatched(ticket);
        }
        self.enqueue(ticket.slot);
        self.dispatch(woken);
        if self.slots[ticket.slot].state != State::Waiting {
            return Outcome::Dispatched(ticket);
        }
        self.slots[ticket.slot].waker = Some(waker());
        self.waits.insert(Timer::of(&self.slots[ticket.slot], ticket.slot));
        Outcome::Waiting(ticket)
    }

    /// The queue of the hand that a newcomer joins.
    fn pick(&mut self, flow: u64) -> u32 {
        let dealer = self.dealer.as_ref().expect("a level with queues has a dealer");
        let hand = dealer.deal(flow);
        let first = match self.settings.pick {
            Pick::Shortest => 0,
            Pick::LeastWork => (self.arrivals % hand.len() as u64) as usize,
        };
        self.arrivals += 1;
        let queue = |card: &u32| &self.queues[*card as usize];
        let cards = hand[first..].iter().chain(&hand[..first]);
        if self.slow_lane.is_some() {
            let mut best = (u64::MAX, hand[first]);
            for card in cards {
                let backlog = queue(card).backlog(self.r);
                if backlog < best.0 {
                    best = (backlog, *card);
                }
                if backlog == 0 {
                    // No other is better.
                    break;
                }
            }
            return best.1;
        }
        if self.waiting == 0 {
            // All are empty: none of them need be looked at.
            return hand[first];
        }
        let best = match self.settings.pick {
            Pick::Shortest => cards.min_by_key(|card| queue(card).waiting.len),
            Pick::LeastWork => cards.min_by_key(|card| queue(card).work_waiting),
        };
        *best.expect("a hand has a card")
    }

    fn bound_to_arrival(&mut self, index: u32) {
        if self.settings.no_credit_from_the_past {
            let queue = &mut self.queues[index as usize];
            queue.start = queue.start.max(self.r);
        }
    }

    fn insert(&mut self, arrival: Arrival, queue: u32, charge: u64) -> Ticket {
        let Arrival { flow, width, wait_until, schema, watch } = arrival;
        let mut work = Work::of(width.initial_seats.into(), charge as f64);
        if width.final_seats > 0 {
            let latency = nanos(width.additional_latency) as f64;
            work += Work::of(width.final_seats.into(), latency);
        }
        self.slots.insert(Request {
            queue,
            schema,
            flow,
            watch,
            slow: false,
            tracked: Tracked::No,
            width,
            work,
            charge,
            number: self.arrivals,
            arrived: self.now,
            arrival_r: self.r,
            dispatched: self.now,
            until: wait_until,
        })
    }

    pub(super) fn enqueue(&mut self, index: u32) {
        let queue = self.slots[index].queue;
        self.queues[queue as usize].enqueue(&mut self.slots, index);
        let seats = u64::from(self.slots[index].width.max_seats());
        self.waiting += 1;
        self.seats_waiting += seats;
        self.queued_seats += seats;
        if let (true, Some(lane)) = (self.slots[index].slow, &mut self.slow_lane) {
            lane.waiting += 1;
            lane.seats_waiting += seats;
        }
        self.rekey(queue);
    }

    fn reject(&mut self, arrival: Arrival, reason: RejectReason) -> Outcome {
        self.retry_after.on_drop(self.now);
        let stats = self.counts.of(arrival.schema);
        stats.rejected[reason as usize] += 1;
        stats.wait_rejected.observe(0);
        Outcome::Rejected(reason)
    }
}
