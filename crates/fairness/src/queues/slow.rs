//! How many seats flows that are slow may hold together, so that others find one.
//!
//! A seat can't be taken back, and requests that take milliseconds rarely wait at the instant one
//! falls idle: whoever sends a burst of requests that take seconds gets all seats, and everyone
//! else waits for as long. Neither a limit for each flow helps (five flows do what one did) nor
//! priority for those that wait. So flows whose mean service time (`service_time.rs`) is at least a
//! threshold hold, all of them together, at most
//!
//! ```text
//! max(1, min(limit / 2, limit − 1.2 × mean demand of the others))
//! ```
//!
//! seats while any other flow is active or was within the last window; otherwise all. The demand is
//! what the others hold and wait for, but no more than the limit: a backlog of thousands would count
//! for minutes after it is gone. Its mean decays with the window as half-life. A slow request that
//! is wider than the cap goes when no other slow one holds a seat, so none starves.
//!
//! In each queue requests of slow flows are in a separate list. Where the cap lets one go,
//! the queue is first come first served; where not, they are *held back*: they are passed over,
//! and are no claim for lent seats and no demand. When the cap opens with time alone,
//! [`Cap::opens`] says when.
//!
//! Source: the measurements in `tests/slow_flows.rs`. Bound: O(1) for each event.

use std::{fmt, time::Duration};

use crate::{SlowFlows, Time, time::nanos};

/// What is kept free for others, as a multiple of their mean demand.
const RESERVE: f64 = 1.2;

/// With time alone the cap is looked at again no sooner than after this part of the window: events
/// look at it anyway, and a timer must not follow every change of the demand.
const SOONEST: f64 = 0.01;

/// The demand of flows that are not slow, and what it leaves to those that are.
#[derive(Clone, Debug)]
pub(super) struct Cap {
    /// In nanoseconds, and its inverse.
    window: f64,
    per_nano: f64,
    /// Seats that others use and wait for, its decayed mean, and as of when.
    demand: u64,
    mean: f64,
    at: Time,
    /// When a request of another flow last ended; none: never.
    active: Option<Time>,
}

/// Why slow flows wait: how many seats they hold, of how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowFlowsDump {
    /// Requests of slow flows that wait.
    pub waiting: u32,
    /// Those of them that the cap keeps from going.
    pub held_back: u32,
    pub seats_in_use: u64,
    /// The most seats that slow flows may hold now; none: all of them.
    pub cap: Option<u32>,
    /// The decayed mean demand of all other flows, in seats.
    pub others_mean: f64,
    /// Flows of which it is remembered how slow they are.
    pub remembered: usize,
}

impl Cap {
    pub(super) fn new(now: Time, settings: &SlowFlows) -> Self {
        let window = nanos(settings.window).max(1) as f64;
        Cap { window, per_nano: 1.0 / window, demand: 0, mean: 0.0, at: now, active: None }
    }

    /// Sets the seat demand of flows that are not slow, from now on.
    pub(super) fn set(&mut self, now: Time, demand: u64) {
        if demand == self.demand {
            return;
        }
        self.mean = self.mean_at(now);
        self.at = self.at.max(now);
        self.demand = demand;
    }

    /// A request of a flow that is not slow ends. Requests whose flow turned out to be slow in the
    /// meantime were demand, but are no reason to hold anyone back from now on.
    pub(super) fn touch(&mut self, now: Time) {
        self.active = Some(now);
    }

    pub(super) fn mean_at(&self, now: Time) -> f64 {
        let demand = self.demand as f64;
        demand + (self.mean - demand) * self.left(now)
    }

    /// How many of `limit` seats slow flows may hold; none: all.
    pub(super) fn seats(&self, now: Time, limit: u32) -> Option<u32> {
        if self.ends()? <= now {
            return None;
        }
        let left = f64::from(limit) - RESERVE * self.mean_at(now);
        Some((left.max(0.0) as u32).min(limit / 2).max(1))
    }

    /// When slow flows may hold `seats` of `limit`, if they may not now and nothing else changes;
    /// none: never.
    pub(super) fn opens(&self, now: Time, limit: u32, seats: u64) -> Option<Time> {
        let ends = self.ends().filter(|ends| *ends > now)?;
        let (mean, demand) = (self.mean_at(now), self.demand as f64);
        let enough = (f64::from(limit) - seats as f64) / RESERVE;
        let decays = seats <= u64::from(limit / 2) && enough > demand && mean > demand;
        let by_decay = decays.then(|| {
            let halvings = ((mean - demand) / (enough - demand)).log2().max(0.0);
            now + Duration::from_nanos((halvings * self.window).ceil() as u64)
        });
        let opens = by_decay.map_or(ends, |at| at.min(ends));
        let soonest = now + Duration::from_nanos((SOONEST * self.window).ceil() as u64);
        Some(opens.max(soonest)).filter(|at| *at < Time::MAX)
    }

    /// Until when slow flows are held back; none: they are not.
    fn ends(&self) -> Option<Time> {
        match self.demand {
            0 => Some(self.active? + Duration::from_nanos(self.window as u64)),
            _ => Some(Time::MAX),
        }
    }

    fn left(&self, now: Time) -> f64 {
        let halvings = nanos(now - self.at) as f64 * self.per_nano;
        // Most events follow each other closely; the series is exact to 1e-7 there.
        match halvings {
            ..1e-3 => 1.0 - std::f64::consts::LN_2 * halvings,
            _ => (-halvings).exp2(),
        }
    }
}

impl fmt::Display for SlowFlowsDump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SlowFlowsDump { waiting, held_back, seats_in_use, .. } = self;
        match self.cap {
            Some(cap) if *held_back > 0 => {
                write!(f, "{held_back} held back: slow flows hold {seats_in_use} of {cap} seats")
            }
            Some(cap) => write!(f, "slow flows hold {seats_in_use} of {cap} seats"),
            None => write!(f, "slow flows hold {seats_in_use} seats, {waiting} wait"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn cap_of(demand: u64) -> Cap {
        let mut cap = Cap::new(Time(0), &SlowFlows::default());
        cap.set(Time(0), demand);
        // Long enough for the mean to be the demand; a demand that stays is no news.
        cap.set(Time(1000 * SECOND), demand + 1);
        cap.set(Time(1000 * SECOND), demand);
        cap
    }

    #[test]
    fn others_keep_what_they_need_and_half_at_least() {
        for (demand, limit, expected) in [
            (2, 10, 5),
            (5, 10, 4),
            (8, 10, 1),
            (50, 10, 1),
            (1, 1, 1),
            (1, 2, 1),
            (1, 3, 1),
            (1, 0, 1),
            (40, 600, 300),
        ] {
            let seats = cap_of(demand).seats(Time(1000 * SECOND), limit);
            assert_eq!(seats, Some(expected), "{demand} of {limit}");
        }
        assert_eq!(cap_of(0).seats(Time(1000 * SECOND), 10), None, "nobody else was there");
    }

    #[test]
    fn with_nobody_else_active_for_a_window_slow_flows_may_hold_all_seats() {
        let mut cap = cap_of(8);
        let end = Time(1001 * SECOND);
        cap.set(end, 0);
        cap.touch(end);
        let opens = end + Duration::from_secs(10);
        assert!(cap.seats(Time(opens.0 - 1), 10).is_some());
        assert_eq!((cap.seats(opens, 10), cap.opens(opens, 10, 6)), (None, None));
        assert_eq!(cap.opens(end, 10, 6), Some(opens));
    }

    #[test]
    fn it_opens_when_it_says_so() {
        for (before, after, seats) in [(8, 0, 2), (8, 0, 5), (8, 4, 5), (8, 1, 3)] {
            let mut cap = cap_of(before);
            let now = Time(1001 * SECOND);
            cap.set(now, after);
            cap.touch(now);
            assert!(cap.seats(now, 10).unwrap() < seats, "{before} {after}");
            let opens = cap.opens(now, 10, seats.into()).unwrap();
            assert!(opens > now);
            let then = cap.seats(opens + Duration::from_millis(100), 10).unwrap_or(10);
            assert!(then >= seats, "{before}, {after}: {then} at {opens:?}");
        }
        assert_eq!(cap_of(8).opens(Time(1001 * SECOND), 10, 2), None);
    }

    #[test]
    fn the_mean_follows_the_demand_by_halves_whatever_the_steps() {
        for steps in [100, 1_000, 100_000] {
            let mut cap = cap_of(9);
            for step in 0..steps {
                // One in the mean.
                cap.set(Time(1000 * SECOND + 10 * SECOND * step / steps), 2 * (step % 2));
            }
            let mean = cap.mean_at(Time(1010 * SECOND));
            assert!((mean - 5.0).abs() < 0.01, "{steps} steps: {mean}");
        }
    }

    #[test]
    fn time_that_runs_backwards_changes_nothing() {
        let mut cap = cap_of(8);
        cap.set(Time(SECOND), 3);
        assert!((cap.mean - 8.0).abs() < 1e-9);
        assert_eq!(cap.at, Time(1000 * SECOND));
    }
}
