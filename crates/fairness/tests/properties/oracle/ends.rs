//! Requests leave, and configurations change.

use evenkeel_fairness::config::Handling;

use super::{Effects, Oracle, Phase, Request, latency, units};
use crate::support::nanos;

impl Oracle {
    pub(crate) fn leave(&mut self, now: u64, id: usize, ceding: u32, effects: &mut Effects) -> u32 {
        if self.requests[id].phase == Phase::Gone {
            return 0;
        }
        self.advance(now);
        let mut ceded = 0;
        match self.requests[id].phase {
            Phase::Waiting => {
                self.give_up(id, Phase::Gone);
                if self.settings.dispatch_after_timeout {
                    self.dispatch(effects);
                }
            }
            Phase::Executing | Phase::Responding => {
                self.holds.retain(|held| *held != id);
                self.correct(id);
                if latency(&self.requests[id].width) > 0 {
                    self.requests[id].phase = Phase::Lingering;
                    self.requests[id].until = now + latency(&self.requests[id].width);
                } else {
                    self.free_seats(id, Phase::Gone);
                }
                ceded = self.cede(ceding);
                self.dispatch(effects);
            }
            Phase::TimedOut => self.requests[id].phase = Phase::Gone,
            Phase::Detached => {
                self.requests[id].phase = Phase::Gone;
                ceded = self.detach(ceding, effects);
            }
            Phase::Lingering | Phase::Gone => {}
        }
        ceded
    }

    pub(crate) fn respond(&mut self, now: u64, id: usize) {
        let (Some(hold), Phase::Executing) = (self.settings.response_hold, self.requests[id].phase)
        else {
            return;
        };
        self.requests[id].phase = Phase::Responding;
        self.requests[id].until = now + nanos(hold);
        self.holds.push(id);
    }

    pub(super) fn may_detach(&self) -> bool {
        self.all(&[Phase::Detached]).count() < self.settings.max_detached as usize
    }

    /// Responses that were held for too long lose their seats, while few enough have.
    pub(super) fn detach(&mut self, ceding: u32, effects: &mut Effects) -> u32 {
        let mut ceded = 0;
        while let Some(id) = self.holds.first().copied()
            && self.requests[id].until <= self.now
            && self.may_detach()
        {
            self.holds.remove(0);
            self.correct(id);
            self.free_seats(id, Phase::Detached);
            ceded += self.cede(ceding - ceded);
            self.dispatch(effects);
        }
        ceded
    }

    pub(crate) fn cede(&mut self, wanted: u32) -> u32 {
        if self.handling == Handling::Exempt {
            return 0;
        }
        let borrowed = self.limit.saturating_sub(self.nominal);
        let free = u64::from(self.limit).saturating_sub(self.seats_in_use());
        let ceded = u64::from(wanted).min(borrowed.into()).min(free) as u32;
        self.limit -= ceded;
        ceded
    }

    pub(super) fn give_up(&mut self, id: usize, phase: Phase) {
        let index = self.position(self.requests[id].queue.expect("it waited in one"));
        self.queues[index].waiting.retain(|other| *other != id);
        self.requests[id].phase = phase;
        self.no_credit(index);
    }

    /// It is known how long it ran. It no longer counts as executing.
    pub(super) fn correct(&mut self, id: usize) {
        let Request { queue, width, dispatched, .. } = self.requests[id];
        let over = self.settings.guess.as_nanos() as i64 - (self.now - dispatched) as i64;
        self.requests[id].phase = Phase::Lingering;
        if let Some(index) =
            queue.and_then(|number| self.queues.iter().position(|queue| queue.number == number))
        {
            let by = units(width.initial_seats.into(), over as f64);
            self.queues[index].start = self.queues[index].start.wrapping_sub(by);
            self.no_credit(index);
        }
    }

    pub(super) fn free_seats(&mut self, id: usize, phase: Phase) {
        self.requests[id].phase = phase;
        let Some(number) = self.requests[id].queue else { return };
        let Some(index) = self.queues.iter().position(|queue| queue.number == number) else {
            return;
        };
        if self.queues.len() > self.wanted_queues() && !self.is_active(&self.queues[index]) {
            self.queues.remove(index);
            if self.served_last >= index as i64 {
                self.served_last -= 1;
            }
        }
    }

    pub(crate) fn reconfigure(
        &mut self,
        now: u64,
        handling: Handling,
        limit: u32,
        nominal: u32,
        effects: &mut Effects,
    ) {
        self.advance(now);
        (self.handling, self.limit, self.nominal) = (handling, limit, nominal);
        self.add_queues();
        self.dispatch(effects);
    }
}
