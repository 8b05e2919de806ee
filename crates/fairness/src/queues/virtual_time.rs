//! The progress meter R.

use super::{QueueSet, work::Work};
use crate::{Time, time::nanos};

/// By how much R is reset, so that it never overflows.
const EPOCH: Work = Work(u64::MAX / 2);

/// Where it is reset.
const HIGH: Work = Work(EPOCH.0 + EPOCH.0 / 2);

impl<W> QueueSet<W> {
    /// Advances R to now. Must be called before anything changes.
    pub(super) fn advance(&mut self, now: Time) {
        let elapsed = now.0.saturating_sub(self.now.0);
        if elapsed == 0 {
            return;
        }
        self.now = now;
        if self.active > 0 {
            self.advance_r(elapsed);
        }
        self.count_aged();
    }

    fn advance_r(&mut self, elapsed: u64) {
        let seats = (self.queued_seats as f64).min(f64::from(self.seats.limit));
        self.r += Work::of(seats / f64::from(self.active), elapsed as f64);
        if self.r >= HIGH {
            self.wind_back();
        }
    }

    /// R, and all readings of it that still matter.
    fn wind_back(&mut self) {
        self.r -= EPOCH;
        self.stats.epochs += 1;
        for queue in &mut self.queues {
            match queue.is_active() {
                true => queue.start -= EPOCH,
                // The next arrival sets it.
                false => queue.start = Work(0),
            }
        }
        self.slots.iter_mut().for_each(|slot| slot.arrival_r -= EPOCH);
        self.reorder();
    }

    /// The order of the queues, from their heads.
    pub(super) fn reorder(&mut self) {
        let guess = nanos(self.settings.guess);
        for queue in &mut self.queues {
            queue.finish = queue.head_finish(&self.slots, &queue.waiting, guess);
            queue.slow_finish = queue.head_finish(&self.slots, &queue.slow, guess);
        }
        let heads = || (0..).zip(&self.queues);
        self.order.rebuild(heads().filter_map(|(index, queue)| Some((queue.finish?, index))));
        if let Some(lane) = &mut self.slow_lane {
            lane.order.rebuild(heads().filter_map(|(index, q)| Some((q.slow_finish?, index))));
        }
    }

    /// The head of a queue, or its virtual start, has changed. A queue gains no credit from a past
    /// in which it had nothing to do: its virtual start is not before the arrival of its head, nor
    /// do others gain any from requests that were held back.
    pub(super) fn rekey(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if queue.len() > 0 && self.settings.no_credit_from_the_past {
            let head = if queue.waiting.len > 0 { queue.waiting.head } else { queue.slow.head };
            queue.start = queue.start.max(self.slots[head].arrival_r);
        }
        let guess = nanos(self.settings.guess);
        let finish = queue.head_finish(&self.slots, &queue.waiting, guess);
        self.order.change(index, queue.finish, finish);
        queue.finish = finish;
        if queue.slow.len == 0 && queue.slow_finish.is_none() {
            return;
        }
        if let Some(lane) = &mut self.slow_lane {
            let finish = queue.head_finish(&self.slots, &queue.slow, guess);
            lane.order.change(index, queue.slow_finish, finish);
            queue.slow_finish = finish;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Settings,
        config::{Handling, Queuing},
        queues::{Arrival, Outcome, SeatLimit},
    };

    #[test]
    fn at_its_epoch_r_runs_back_and_the_order_stays() {
        let queuing = Queuing { queues: 2, hand_size: 1, queue_length_limit: 9 };
        let seats = SeatLimit { limit: 1, nominal: 1 };
        let handling = Handling::Queue(queuing);
        let mut set = QueueSet::<u32>::new(Time(0), handling, seats, &Settings::kubernetes());
        set.schemas_mut().resize_with(1, Default::default);
        set.r = Work(HIGH.0 - 1_000_000);
        let mut woken = Vec::new();
        let mut arrive = |set: &mut QueueSet<u32>, flow, id| {
            set.arrive(Time(0), Arrival { flow, ..Arrival::default() }, || id, &mut woken)
        };
        let Outcome::Dispatched(running) = arrive(&mut set, 0, 0) else { panic!("a seat is free") };
        for (flow, id) in [(0, 1), (1, 2), (0, 3)] {
            assert!(matches!(arrive(&mut set, flow, id), Outcome::Waiting(_)));
        }
        let before = set.r;
        set.leave(Time(1_000_000_000), running, 0, &mut woken);
        assert!(set.r < before, "wound back");
        assert_eq!(set.stats.epochs, 1);
        assert_eq!(woken, [2], "the queue that has not run yet is next");
    }
}
