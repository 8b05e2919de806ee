//! The service times of flows whose requests hold seats for long.
//!
//! The service time of a flow is the mean weighted by seat-time, Σwx² / Σwx over its requests of w
//! seats and x seconds: how long a seat that the flow holds stays held, seen at a random moment.
//! Cheap requests can't dilute it, for they hold seats for little time. Both sums lose half of
//! their weight in a half-life. Requests that run count with their age. As only w, the start and
//! the square of the start are summed over those that run, their part is known at any time:
//! Σw(t−s)² = t²Σw − 2tΣws + Σws².
//!
//! Only flows worth remembering are: a flow enters with a request that ran for [`KEPT`] of the
//! threshold or longer, and is forgotten when its mean is below that and none of its counted requests runs.
//! All others are taken to be as fast as the guess says.
//!
//! Bound: `remembered` flows and one for each counted request that runs or lingers, 112
//! bytes each. Names cost
//! an attacker seat-time: where the table is full, the flow with the least seat-time makes room, if
//! it has less than the newcomer; so flows of many names that hold seats for a moment each don't
//! displace one that holds them for long. A lookup is one hash, making room is one pass over the
//! table, and happens at most once for each request that ran for that long.

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::{SlowFlows, Time};

/// The part of the threshold from which on a flow is remembered.
const KEPT: f64 = 0.125;

/// The part of the threshold down to which a slow flow stays slow, so that flows near the threshold
/// don't change sides with each request.
const STAYS_SLOW: f64 = 0.75;

/// Seconds; what is smaller is not worth a division.
const TINY: f64 = 1e-9;

#[derive(Debug)]
pub(super) struct ServiceTimes {
    flows: FxHashMap<u64, Flow>,
    threshold: f64,
    kept: Duration,
    half_life: f64,
    remembered: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    /// Seat-seconds of requests that ended, and seat-seconds times seconds, as of `at`.
    time: f64,
    squares: f64,
    at: Time,
    /// Orders flows by the seat-time that is left of them, at any time: see [`rank`].
    rank: f64,
    /// Of requests that run: seats, and seats times the microsecond they began, and its square.
    running: u64,
    starts: u128,
    squared_starts: u128,
    /// Seats they hold; lingering ones included.
    pub(super) seats: u64,
    /// Whether those seats count as held by slow flows.
    pub(super) slow: bool,
}

impl ServiceTimes {
    pub(super) fn new(settings: &SlowFlows) -> Self {
        ServiceTimes {
            flows: FxHashMap::default(),
            threshold: settings.threshold.as_secs_f64(),
            kept: settings.threshold.mul_f64(KEPT),
            half_life: settings.half_life.as_secs_f64().max(TINY),
            remembered: settings.remembered,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.flows.len()
    }

    pub(super) fn get_mut(&mut self, flow: u64) -> Option<&mut Flow> {
        if self.flows.is_empty() {
            return None;
        }
        self.flows.get_mut(&flow)
    }

    /// The mean service time of a flow in seconds, and whether it is slow; none if it is not known to
    /// be long.
    pub(super) fn look_up(&self, flow: u64, now: Time) -> Option<(f64, bool)> {
        if self.flows.is_empty() {
            return None;
        }
        let flow = self.flows.get(&flow)?;
        let least = if flow.slow { STAYS_SLOW * self.threshold } else { self.threshold };
        let mean = flow.mean(now, self.half_life);
        Some((mean, mean >= least))
    }

    pub(super) fn is_slow(&self, flow: u64, now: Time) -> bool {
        self.look_up(flow, now).is_some_and(|(_, slow)| slow)
    }

    /// Whether [`Self::learn`] would record a request of a flow that took this long.
    pub(super) fn would_remember(&self, flow: u64, took: Duration) -> bool {
        took >= self.kept || (!self.flows.is_empty() && self.flows.contains_key(&flow))
    }

    /// A request of a flow runs, and has for long or is of a flow that is known. There is room for
    /// each of those: they are no more than the seats in use.
    pub(super) fn begin(&mut self, flow: u64, now: Time, began: Time, seats: u32) {
        if !self.flows.contains_key(&flow) {
            self.make_room(f64::INFINITY);
        }
        let flow = self.flows.entry(flow).or_insert(Flow { at: now, ..Flow::default() });
        let (seats, micros) = (u64::from(seats), u128::from(began.0 / 1000));
        flow.running += seats;
        flow.starts += u128::from(seats) * micros;
        flow.squared_starts += u128::from(seats) * micros * micros;
    }

    /// A request that was passed to [`Self::begin`] has ended.
    pub(super) fn end(&mut self, flow: u64, began: Time, seats: u32) {
        let Some(flow) = self.flows.get_mut(&flow) else { return };
        let (seats, micros) = (u64::from(seats), u128::from(began.0 / 1000));
        flow.running -= seats;
        flow.starts -= u128::from(seats) * micros;
        flow.squared_starts -= u128::from(seats) * micros * micros;
    }

    /// Records how long a request of a flow took.
    pub(super) fn learn(&mut self, flow: u64, now: Time, took: Duration, seats: u32) {
        let (took, seats) = (took.as_secs_f64(), f64::from(seats.max(1)));
        if !self.flows.contains_key(&flow) {
            let rank = rank(seats * took, now, self.half_life);
            if took < self.kept.as_secs_f64() || !self.make_room(rank) {
                return;
            }
            self.flows.insert(flow, Flow { at: now, ..Flow::default() });
        }
        let half_life = self.half_life;
        let Some(flow) = self.flows.get_mut(&flow) else { return };
        let left = flow.left(now, half_life);
        flow.time = flow.time * left + seats * took;
        flow.squares = flow.squares * left + seats * took * took;
        flow.at = flow.at.max(now);
        flow.rank = rank(flow.time, flow.at, half_life);
    }

    /// Forgets a flow that is no longer worth remembering, or the least of too many.
    pub(super) fn tidy(&mut self, flow: u64, now: Time) {
        let kept = self.kept.as_secs_f64();
        let half_life = self.half_life;
        if self.flows.get(&flow).is_some_and(|f| f.is_idle() && f.mean(now, half_life) < kept) {
            self.flows.remove(&flow);
        }
        if self.flows.len() > self.remembered
            && let Some((_, least)) = self.least()
        {
            self.flows.remove(&least);
        }
    }

    /// If the table is full, the least flow is removed if it has less seat-time than the new one.
    fn make_room(&mut self, rank: f64) -> bool {
        if self.flows.len() < self.remembered {
            return true;
        }
        match self.least() {
            Some((least, key)) if least < rank => self.flows.remove(&key).is_some(),
            Some(_) => false,
            // All of them run.
            None => true,
        }
    }

    /// Of the flows that don't run, the one with the least seat-time.
    fn least(&self) -> Option<(f64, u64)> {
        let idle = self.flows.iter().filter(|(_, flow)| flow.is_idle());
        let ranks = idle.map(|(key, flow)| (flow.rank, *key));
        ranks.min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// As all sums lose half of their weight in the same time, log₂(time) + at ÷ half-life keeps its
/// place among those of others.
fn rank(time: f64, at: Time, half_life: f64) -> f64 {
    time.max(TINY).log2() + at.0 as f64 / 1e9 / half_life
}

impl Flow {
    /// None of its requests that count runs or lingers.
    fn is_idle(&self) -> bool {
        self.running == 0 && self.seats == 0
    }

    /// Seat-time-weighted, in seconds.
    pub(super) fn mean(&self, now: Time, half_life: f64) -> f64 {
        let left = self.left(now, half_life);
        let (time, squares) = self.running(now);
        let time = self.time * left + time;
        if time < TINY { 0.0 } else { (self.squares * left + squares) / time }
    }

    /// Of those that run: seat-seconds, and seat-seconds times seconds.
    fn running(&self, now: Time) -> (f64, f64) {
        if self.running == 0 {
            return (0.0, 0.0);
        }
        let (n, now) = (u128::from(self.running), u128::from(now.0 / 1000));
        let ages = (n * now).saturating_sub(self.starts);
        // Non-negative, as it is a sum of squares, unless time ran backwards.
        let squares = (n * now * now + self.squared_starts).saturating_sub(2 * now * self.starts);
        (ages as f64 / 1e6, squares as f64 / 1e12)
    }

    /// What is left of the sums.
    fn left(&self, now: Time, half_life: f64) -> f64 {
        (-((now - self.at).as_secs_f64() / half_life)).exp2()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::nanos;

    const ELEPHANT: u64 = 1;

    fn at(seconds: f64) -> Time {
        Time((seconds * 1e9) as u64)
    }

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn table(remembered: usize) -> ServiceTimes {
        ServiceTimes::new(&SlowFlows { remembered, ..SlowFlows::default() })
    }

    fn mean(table: &ServiceTimes, now: Time) -> f64 {
        table.look_up(ELEPHANT, now).unwrap().0
    }

    #[test]
    fn cheap_requests_do_not_dilute_the_mean() {
        let mut table = table(9);
        table.learn(ELEPHANT, at(0.0), seconds(10.0), 1);
        for _ in 0..100 {
            table.learn(ELEPHANT, at(0.0), seconds(0.01), 1);
        }
        let mean = mean(&table, at(0.0));
        assert!((mean - 100.01 / 11.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn what_was_learned_counts_half_after_a_half_life() {
        let mut table = table(9);
        table.learn(ELEPHANT, at(0.0), seconds(10.0), 1);
        table.learn(ELEPHANT, at(300.0), seconds(5.0), 1);
        let mean = mean(&table, at(300.0));
        assert!((mean - 75.0 / 10.0).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn a_flow_turns_slow_while_its_first_request_runs() {
        let mut table = table(9);
        table.begin(ELEPHANT, at(1.0), at(0.0), 1);
        assert!(table.is_slow(ELEPHANT, at(1.0)));
        assert!((mean(&table, at(7.0)) - 7.0).abs() < 1e-9);
        table.end(ELEPHANT, at(0.0), 1);
        table.tidy(ELEPHANT, at(7.0));
        assert!(table.is_empty(), "nothing was learned");
    }

    #[test]
    fn fast_flows_are_not_remembered() {
        let mut table = table(9);
        table.learn(ELEPHANT, at(0.0), seconds(0.124), 1);
        assert!(table.is_empty());
        table.learn(ELEPHANT, at(0.0), seconds(0.2), 1);
        for i in 0..1000 {
            table.learn(ELEPHANT, at(f64::from(i)), seconds(0.01), 1);
        }
        table.tidy(ELEPHANT, at(1000.0));
        assert!(table.is_empty(), "its seat-time is cheap requests by now");
    }

    #[test]
    fn many_names_do_not_displace_who_holds_seats_for_long() {
        let mut table = table(100);
        table.learn(ELEPHANT, at(0.0), seconds(10.0), 1);
        for name in 2..10_000 {
            table.learn(name, at(name as f64 / 100.0), seconds(0.2), 1);
            assert!(table.flows.len() <= 100);
        }
        assert!(table.is_slow(ELEPHANT, at(100.0)));
    }

    #[test]
    fn flows_that_run_are_kept_and_bounded_by_what_runs() {
        let mut table = table(1);
        table.begin(1, at(1.0), at(0.0), 1);
        table.begin(2, at(2.0), at(0.0), 3);
        assert!(table.is_slow(1, at(2.0)) && table.is_slow(2, at(2.0)));
    }

    proptest! {
        #[test]
        fn the_sums_agree_with_the_requests(
            ended in proptest::collection::vec((1_u32..5, 0.2_f64..60.0), 1..20),
            running in proptest::collection::vec((1_u32..5, 0.0_f64..60.0), 0..20),
            start in 0_u64..1_000_000_000,
        ) {
            let now = Time(start * 1_000_000_000 + 100_000_000_000);
            let mut table = table(9);
            for (seats, took) in &ended {
                table.learn(ELEPHANT, now, seconds(*took), *seats);
            }
            for (seats, age) in &running {
                table.begin(ELEPHANT, now, Time(now.0 - nanos(seconds(*age))), *seats);
            }
            let all = || ended.iter().chain(&running).map(|(w, x)| (f64::from(*w), *x));
            let expected = all().map(|(w, x)| w * x * x).sum::<f64>() / all().map(|(w, x)| w * x).sum::<f64>();
            let mean = mean(&table, now);
            prop_assert!((mean - expected).abs() < 1e-4, "{} {}", mean, expected);
        }
    }
}
