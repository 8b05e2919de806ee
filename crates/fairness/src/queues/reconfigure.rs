//! A new configuration takes effect while requests wait and run; none of them is lost.

use super::{QueueSet, SeatLimit, slots::NONE};
use crate::{Time, config::Handling, shard::Dealer};

impl<W> QueueSet<W> {
    /// From now on requests are handled like this. Queues that are too many go as they run empty;
    /// those that are missing are there at once.
    pub fn reconfigure(
        &mut self,
        now: Time,
        handling: Handling,
        seats: SeatLimit,
        woken: &mut Vec<W>,
    ) {
        self.advance(now);
        self.handle(handling, seats);
        self.wanted = 0;
        self.dispatch(woken);
        self.note();
    }

    /// Sets the seats of the level. Running requests are never interrupted.
    pub fn set_seats(&mut self, now: Time, seats: SeatLimit, woken: &mut Vec<W>) {
        self.reconfigure(now, self.handling, seats, woken);
    }

    /// A request of `seats` is about to arrive at a level that rejects: what it lacks is a
    /// claim until it is granted or limits are set, and is demand. Returns whether it lacks any.
    pub fn want(&mut self, seats: u32) -> bool {
        if self.handling != Handling::Reject || self.fits(seats) {
            return false;
        }
        let demand = self.seats_in_use + self.seats_waiting + u64::from(seats);
        let lack = demand.saturating_sub(self.seats.limit.into());
        self.wanted = self.wanted.max(u32::try_from(lack).unwrap_or(u32::MAX));
        // It lasts for no time, but is a high watermark.
        self.demand.set(self.now, u32::try_from(demand).unwrap_or(u32::MAX));
        self.note();
        true
    }

    /// Gets back seats that it lent, up to its nominal ones; returns those it had no use for.
    pub fn grant(&mut self, now: Time, seats: u32, woken: &mut Vec<W>) -> u32 {
        let taken = seats.min(self.claim());
        let limit = self.seats.limit + taken;
        let wanted = self.wanted.saturating_sub(taken);
        self.set_seats(now, SeatLimit { limit, ..self.seats }, woken);
        self.wanted = wanted;
        seats - taken
    }

    pub(super) fn handle(&mut self, handling: Handling, seats: SeatLimit) {
        if (self.handling, self.seats.nominal) != (handling, seats.nominal) {
            self.stats.set_denominators(self.now, seats.nominal, room(handling));
        }
        self.seats = seats;
        if self.handling == handling {
            return;
        }
        self.handling = handling;
        if let Handling::Queue(queuing) = handling {
            let dealer = Dealer::new(queuing.queues, queuing.hand_size);
            self.dealer = Some(dealer.expect("a configuration has hands that can be dealt"));
            let missing = queuing.queues as usize;
            if self.queues.len() < missing {
                self.queues.resize_with(missing, Default::default);
            }
        }
    }

    /// A queue goes when it has run empty and there are more than configured; those behind it move
    /// up by one. Costs O(queues + requests), while queues are too many.
    pub(super) fn remove_if_surplus(&mut self, index: u32) {
        let wanted = match self.handling {
            Handling::Queue(queuing) => queuing.queues,
            _ => 0,
        };
        let queue = &self.queues[index as usize];
        if self.queues.len() <= wanted as usize || queue.is_active() {
            return;
        }
        self.queued_seats -= queue.seats_in_use;
        self.queues.remove(index as usize);
        if self.lap > index {
            self.lap -= 1;
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.queue != NONE) {
            match slot.queue.cmp(&index) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => slot.queue = NONE,
                std::cmp::Ordering::Greater => slot.queue -= 1,
            }
        }
        self.reorder();
    }
}

/// How many requests may wait; at least one, so that it can be divided by.
fn room(handling: Handling) -> f64 {
    match handling {
        Handling::Queue(queuing) => {
            f64::from(queuing.queues) * f64::from(queuing.queue_length_limit.max(1))
        }
        _ => 1.0,
    }
}
