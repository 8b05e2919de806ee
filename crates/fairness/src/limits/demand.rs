//! How many seats a level would have used: a number that changes with every request, summed up
//! over a window of time.
//!
//! Kept are the integrals of the number and of its square, exactly: a number below 2^32, squared,
//! times nanoseconds below 2^64 stays below 2^128. Only the result is rounded. The deviation is
//! taken about the integer part of the average, so that large steady numbers cancel out exactly.
//!
//! Source: Kubernetes today (its integrator of seat demand). Bound: O(1) time and memory; an update
//! is two multiplications and two additions.

use std::time::Duration;

use crate::Time;

/// The demand for seats of one level, and its history since the window began.
#[derive(Clone, Debug)]
pub struct Demand {
    began: Time,
    last: Time,
    seats: u32,
    high_watermark: u32,
    /// Seats × nanoseconds until `last`.
    integral: u128,
    /// Seats² × nanoseconds until `last`.
    integral_of_squares: u128,
}

/// What the demand was during a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DemandStats {
    /// How long the window was. In one of no length, average and deviation mean nothing.
    pub duration: Duration,
    /// Weighted by time.
    pub average: f64,
    /// Of the average, weighted by time.
    pub stdev: f64,
    pub high_watermark: u32,
}

impl Demand {
    /// No demand, from `now` on.
    pub fn new(now: Time) -> Self {
        Demand {
            began: now,
            last: now,
            seats: 0,
            high_watermark: 0,
            integral: 0,
            integral_of_squares: 0,
        }
    }

    pub fn seats(&self) -> u32 {
        self.seats
    }

    /// Sets the demand from `now` on; if `now` is before an earlier call's, from that time on.
    #[inline]
    pub fn set(&mut self, now: Time, seats: u32) {
        self.advance(now);
        self.seats = seats;
        self.high_watermark = self.high_watermark.max(seats);
    }

    /// Ends the window and begins the next, in which as many seats are wanted at first.
    pub fn take(&mut self, now: Time) -> DemandStats {
        self.advance(now);
        let stats = self.stats();
        *self = Demand { seats: self.seats, high_watermark: self.seats, ..Demand::new(self.last) };
        stats
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        let elapsed = now.0.saturating_sub(self.last.0);
        let seats = u64::from(self.seats);
        self.integral += u128::from(seats) * u128::from(elapsed);
        self.integral_of_squares += u128::from(seats * seats) * u128::from(elapsed);
        self.last = self.last.max(now);
    }

    fn stats(&self) -> DemandStats {
        let (duration, high_watermark) = (self.last - self.began, self.high_watermark);
        let nanos = u128::from(self.last.0 - self.began.0);
        if nanos == 0 {
            let average = f64::from(self.seats);
            return DemandStats { duration, average, stdev: 0.0, high_watermark };
        }
        let whole = self.integral / nanos;
        let part = (self.integral % nanos) as f64 / nanos as f64;
        // ∫(x − whole)² is below 2^128, so it is right whatever overflows on the way.
        let about_whole = self
            .integral_of_squares
            .wrapping_sub(whole.wrapping_mul(2).wrapping_mul(self.integral))
            .wrapping_add((whole * whole).wrapping_mul(nanos));
        let variance = about_whole as f64 / nanos as f64 - part * part;
        let (average, stdev) = (whole as f64 + part, variance.max(0.0).sqrt());
        DemandStats { duration, average, stdev, high_watermark }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Time {
        Time(seconds * SECOND)
    }

    #[test]
    fn average_and_deviation_are_weighted_by_time() {
        let mut demand = Demand::new(at(5));
        demand.set(at(5), 2);
        demand.set(at(8), 6);
        demand.set(at(9), 7);
        demand.set(at(9), 6);
        let stats = demand.take(at(11));
        assert_eq!((stats.duration, stats.high_watermark), (Duration::from_secs(6), 7));
        assert_eq!((stats.average, stats.stdev), (4.0, 2.0));
    }

    #[test]
    fn a_window_begins_with_what_is_wanted_at_its_beginning() {
        let mut demand = Demand::new(at(0));
        demand.set(at(0), 9);
        demand.set(at(1), 3);
        demand.take(at(10));
        let stats = demand.take(at(20));
        let expected = DemandStats {
            duration: Duration::from_secs(10),
            average: 3.0,
            stdev: 0.0,
            high_watermark: 3,
        };
        assert_eq!((stats, demand.seats()), (expected, 3));
    }

    #[test]
    fn a_window_of_no_length_knows_the_high_watermark_only() {
        let mut demand = Demand::new(at(1));
        demand.set(at(1), 8);
        demand.set(at(1), 5);
        let stats = demand.take(at(1));
        assert_eq!((stats.duration, stats.high_watermark), (Duration::ZERO, 8));
        assert_eq!((stats.average, stats.stdev), (5.0, 0.0));
    }

    #[test]
    fn time_that_runs_backwards_is_ignored() {
        let mut demand = Demand::new(at(10));
        demand.set(at(10), 4);
        demand.set(at(5), 2);
        assert_eq!(demand.take(at(3)).duration, Duration::ZERO);
        let stats = demand.take(at(12));
        assert_eq!((stats.duration, stats.average), (Duration::from_secs(2), 2.0));
    }

    #[test]
    fn the_extremes_of_the_range_neither_overflow_nor_deviate() {
        let mut demand = Demand::new(Time(0));
        demand.set(Time(0), u32::MAX);
        for step in 1..=7 {
            demand.set(Time(u64::MAX / 7 * step), u32::MAX);
        }
        let stats = demand.take(Time::MAX);
        assert_eq!((stats.average, stats.stdev), (f64::from(u32::MAX), 0.0));
    }

    proptest! {
        #[test]
        fn it_agrees_with_summing_the_deviations(
            steps in proptest::collection::vec((0..5_000_000_000_u64, 0..1_000_000_u32), 1..50),
        ) {
            let (mut demand, mut now, mut seats) = (Demand::new(Time(0)), 0, 0);
            let mut pieces = Vec::new();
            for (elapsed, next) in steps {
                now += elapsed;
                pieces.push((elapsed as f64, f64::from(seats)));
                demand.set(Time(now), next);
                seats = next;
            }
            let stats = demand.take(Time(now));
            prop_assume!(now > 0);
            let mean = pieces.iter().map(|(t, x)| t * x).sum::<f64>() / now as f64;
            let squares = pieces.iter().map(|(t, x)| t * (x - mean).powi(2)).sum::<f64>();
            prop_assert!((stats.average - mean).abs() <= 1e-9 * mean);
            let stdev = (squares / now as f64).sqrt();
            prop_assert!((stats.stdev - stdev).abs() <= 1e-6 * (1.0 + stdev));
        }
    }
}
