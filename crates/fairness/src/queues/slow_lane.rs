//! Requests of slow flows in a level: who they are, what they are charged, and whether one may go.
//!
//! Every request that runs is young at first, in a list by its dispatch. One whose flow is known to
//! be slow, or that has run for the threshold, counts for its flow; its seats count as held by slow
//! flows whenever the flow is one. That is reviewed at each event of the flow, and when a
//! request stops being young. See `service_time.rs` for what is learned and `slow.rs` for the cap.
//!
//! Bound: O(1) and one lookup by hash for each arrival, dispatch and end, none while no flow is
//! known to be slow.

use std::time::Duration;

use super::{
    Order, QueueSet,
    service_time::ServiceTimes,
    slots::{List, NONE, Tracked},
    slow::{Cap, SlowFlowsDump},
    work::Work,
};
use crate::{SlowFlows, Time, time::nanos};

/// What every request writes comes first: see [`QueueSet`].
#[derive(Debug)]
#[repr(C)]
pub(super) struct SlowLane {
    cap: Cap,
    /// Those that run and don't count yet, in the order of their dispatch.
    young: List,
    times: ServiceTimes,
    threshold: Duration,
    longest: f64,
    /// Held by slow flows.
    seats: u64,
    pub(super) waiting: u32,
    pub(super) seats_waiting: u64,
    /// The queues in which requests of slow flows wait.
    pub(super) order: Order,
}

impl SlowLane {
    pub(super) fn new(now: Time, settings: &SlowFlows) -> Self {
        SlowLane {
            times: ServiceTimes::new(settings),
            cap: Cap::new(now, settings),
            threshold: settings.threshold,
            longest: settings.longest.as_secs_f64(),
            young: List::beside(),
            seats: 0,
            waiting: 0,
            seats_waiting: 0,
            order: Order::default(),
        }
    }

    /// Whether a flow is slow may have changed, and with it whose its seats are.
    fn review(&mut self, flow: u64, now: Time) {
        let slow = self.times.is_slow(flow, now);
        let Some(known) = self.times.get_mut(flow) else { return };
        match (known.slow, slow) {
            (false, true) => self.seats += known.seats,
            (true, false) => self.seats -= known.seats,
            _ => {}
        }
        known.slow = slow;
    }

    /// A request counts for its flow from now on.
    fn count(&mut self, flow: u64, now: Time, began: Time, (initial, seats): (u32, u32)) {
        self.times.begin(flow, now, began, initial);
        self.hold(flow, seats);
        self.review(flow, now);
    }

    /// A flow holds `seats` more, if it is known.
    fn hold(&mut self, flow: u64, seats: u32) -> bool {
        let Some(known) = self.times.get_mut(flow) else { return false };
        known.seats += u64::from(seats);
        if known.slow {
            self.seats += u64::from(seats);
        }
        true
    }
}

impl<W> QueueSet<W> {
    pub(super) fn is_slow(&self, flow: u64) -> bool {
        self.slow_lane.as_ref().is_some_and(|lane| lane.times.is_slow(flow, self.now))
    }

    /// Whether a flow is slow, and for how many nanoseconds a request of it is taken to run.
    pub(super) fn look_up(&self, flow: u64) -> (bool, u64) {
        let guess = nanos(self.settings.guess);
        let Some(lane) = &self.slow_lane else { return (false, guess) };
        let Some((mean, slow)) = lane.times.look_up(flow, self.now) else { return (false, guess) };
        (slow, ((mean.min(lane.longest) * 1e9) as u64).max(guess))
    }

    /// Whether slow flows may hold `seats` more.
    pub(super) fn cap_admits(&self, seats: u32) -> bool {
        let Some(lane) = self.slow_lane.as_ref().filter(|_| !self.is_exempt()) else { return true };
        let cap = lane.cap.seats(self.now, self.seats.limit);
        lane.seats == 0 || cap.is_none_or(|cap| lane.seats + u64::from(seats) <= cap.into())
    }

    /// Nobody waits, or only those that are held back.
    pub(super) fn nobody_else_may_go(&self) -> bool {
        match &self.slow_lane {
            Some(lane) if self.waiting > 0 => {
                self.waiting == lane.waiting && self.next_slow(0).is_none()
            }
            _ => self.waiting == 0,
        }
    }

    /// The next of the heads of slow flows with its queue, if it is not held back.
    pub(super) fn next_slow(&self, lap: u32) -> Option<(Work, u32)> {
        let lane = self.slow_lane.as_ref().filter(|lane| lane.waiting > 0)?;
        let next = lane.order.next(lap)?;
        let head = self.queues[next.1 as usize].slow.head;
        self.cap_admits(self.slots[head].width.max_seats()).then_some(next)
    }

    /// Requests of slow flows wait, and a seat is free or lent.
    pub(super) fn waits_for_cap(&self) -> bool {
        let seats = self.has_seats() || self.seats.limit < self.seats.nominal;
        seats && self.slow_lane.as_ref().is_some_and(|lane| lane.waiting > 0)
    }

    /// When time alone lets a request go that is held back.
    pub(super) fn cap_opens(&self) -> Option<Time> {
        let lane = self.slow_lane.as_ref().filter(|_| self.waits_for_cap())?;
        let (_, queue) = lane.order.next(0)?;
        let seats = self.slots[self.queues[queue as usize].slow.head].width.max_seats();
        if self.cap_admits(seats) {
            // It can go if time has passed in a call that dispatches no request.
            let head = self.next_head().filter(|_| self.has_seats())?;
            return self.fits(self.slots[head].width.max_seats()).then_some(self.now);
        }
        let opens = lane.cap.opens(self.now, self.seats.limit, lane.seats + u64::from(seats));
        // Running requests may turn out to be slow too, and then no other flow is active.
        let aged = (lane.young.head != NONE)
            .then(|| self.slots[lane.young.head].dispatched + lane.threshold);
        opens.into_iter().chain(aged).min()
    }

    /// Seats that requests wait for which are not held back.
    pub(super) fn seats_to_go(&self) -> u64 {
        let Some(lane) = self.slow_lane.as_ref().filter(|lane| lane.waiting > 0) else {
            return self.seats_waiting;
        };
        let room = match lane.order.next(0) {
            // One that is wider than the cap goes by itself.
            Some((_, queue)) if lane.seats == 0 => {
                let head = self.queues[queue as usize].slow.head;
                self.room(lane).max(self.slots[head].width.max_seats().into())
            }
            _ => self.room(lane),
        };
        self.seats_waiting - lane.seats_waiting + room.min(lane.seats_waiting)
    }

    /// What others than slow flows want from now on.
    pub(super) fn count_others(&mut self) {
        let Some(lane) = &mut self.slow_lane else { return };
        let others = self.seats_in_use + self.seats_waiting - lane.seats - lane.seats_waiting;
        // No more than all seats can be left to them: a backlog must not count long after it is gone.
        lane.cap.set(self.now, others.min(self.seats.limit.into()));
    }

    /// A request gives up waiting.
    pub(super) fn note_given_up(&mut self, index: u32) {
        if let (false, Some(lane)) = (self.slots[index].slow, &mut self.slow_lane) {
            lane.cap.touch(self.now);
        }
    }

    /// The flow of a request that waits turned out to be slow.
    pub(super) fn mark_slow(&mut self, index: u32) {
        self.dequeue(index);
        self.slots[index].slow = true;
        self.enqueue(index);
        self.count_others();
    }

    /// What is known of the flow now is what it is charged.
    pub(super) fn charge_anew(&mut self, index: u32) {
        if self.slow_lane.as_ref().is_none_or(|lane| lane.times.is_empty()) {
            return;
        }
        let (_, charge) = self.look_up(self.slots[index].flow);
        let slot = &mut self.slots[index];
        let seats = f64::from(slot.width.initial_seats);
        let before = std::mem::replace(&mut slot.charge, charge);
        slot.work -= Work::of(seats, before as f64);
        slot.work += Work::of(seats, charge as f64);
    }

    /// A request runs.
    pub(super) fn track(&mut self, index: u32) {
        let Some(lane) = &mut self.slow_lane else { return };
        let slot = &mut self.slots[index];
        if lane.times.get_mut(slot.flow).is_none() {
            slot.tracked = Tracked::Young;
            lane.young.append(&mut self.slots, index);
            return;
        }
        slot.tracked = Tracked::Counted;
        let seats = (slot.width.initial_seats, slot.width.max_seats());
        lane.count(slot.flow, self.now, slot.dispatched, seats);
    }

    /// Those that have run for the threshold count from now on.
    pub(super) fn count_aged(&mut self) {
        let Some(lane) = &mut self.slow_lane else { return };
        while lane.young.head != NONE {
            let index = lane.young.head;
            let slot = &mut self.slots[index];
            if self.now - slot.dispatched < lane.threshold {
                return;
            }
            slot.tracked = Tracked::Counted;
            let seats = (slot.width.initial_seats, slot.width.max_seats());
            lane.count(slot.flow, self.now, slot.dispatched, seats);
            lane.young.take(&mut self.slots, index);
        }
    }

    /// A request has ended after `took`.
    pub(super) fn learn(&mut self, index: u32, took: Duration) {
        let Some(lane) = &mut self.slow_lane else { return };
        let (flow, tracked) = (self.slots[index].flow, self.slots[index].tracked);
        let (began, seats) = (self.slots[index].dispatched, self.slots[index].width.initial_seats);
        match tracked {
            Tracked::No => return,
            Tracked::Young => {
                lane.young.take(&mut self.slots, index);
                if !lane.times.would_remember(flow, took) {
                    self.slots[index].tracked = Tracked::No;
                    return;
                }
            }
            Tracked::Counted => lane.times.end(flow, began, seats),
        }
        lane.times.learn(flow, self.now, took, seats);
        if tracked == Tracked::Young {
            // It may linger, and the flow may be known by now.
            let slot = &mut self.slots[index];
            let known = lane.hold(flow, slot.width.max_seats());
            slot.tracked = if known { Tracked::Counted } else { Tracked::No };
        }
        lane.review(flow, self.now);
        lane.times.tidy(flow, self.now);
    }

    /// The seats of a request are free.
    pub(super) fn untrack(&mut self, index: u32) {
        let (slot, Some(lane)) = (&mut self.slots[index], &mut self.slow_lane) else { return };
        if slot.tracked != Tracked::Counted {
            return lane.cap.touch(self.now);
        }
        slot.tracked = Tracked::No;
        let seats = u64::from(slot.width.max_seats());
        match lane.times.get_mut(slot.flow) {
            Some(known) if known.slow => {
                known.seats -= seats;
                lane.seats -= seats;
            }
            Some(known) => {
                known.seats -= seats;
                lane.cap.touch(self.now);
            }
            None => {}
        }
        lane.times.tidy(slot.flow, self.now);
    }

    pub(super) fn slow_flows(&self) -> Option<SlowFlowsDump> {
        let lane = self.slow_lane.as_ref()?;
        let held = u64::from(lane.waiting).saturating_sub(self.room(lane));
        Some(SlowFlowsDump {
            waiting: lane.waiting,
            held_back: u32::try_from(held).unwrap_or(u32::MAX),
            seats_in_use: lane.seats,
            cap: lane.cap.seats(self.now, self.seats.limit).filter(|_| !self.is_exempt()),
            others_mean: lane.cap.mean_at(self.now),
            remembered: lane.times.len(),
        })
    }

    /// How many seats the cap leaves to slow flows.
    fn room(&self, lane: &SlowLane) -> u64 {
        match lane.cap.seats(self.now, self.seats.limit) {
            Some(cap) if !self.is_exempt() => u64::from(cap).saturating_sub(lane.seats),
            _ => u64::MAX,
        }
    }
}
