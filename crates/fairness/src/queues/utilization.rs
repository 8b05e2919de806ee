//! For how long a ratio was below each bound: what a sample at every nanosecond would give.
//!
//! The ratio is kept as its numerator. Its integral needs no visit while the numerator stays the same:
//! the integral of a step function up to T is its last value times T, less the sum over its steps of
//! height times time. So a change adds one product to that sum. The time in a bucket is added up when the
//! bucket is left, which is known by two comparisons, and in the stripe of the thread (`stripes.rs`).
//! So a change writes to one cache line that other threads write to.
//!
//! Bound: O(1) for a change within a bucket; O(buckets) between them.

use crate::{Time, stripes::STRIPES, time::nanos};

/// The maximum number of buckets of any histogram, including that above all bounds.
pub(super) const MAX_BUCKETS: usize = 14;

/// A ratio over time, in buckets.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Utilization {
    /// The integral up to T is `value × T + steps`, since the denominator is what it is.
    steps: i128,
    value: u64,
    /// The numerators of the present bucket.
    least: u64,
    most: u64,
    bucket: usize,
    /// Up to when the time in it was added up.
    since: Time,

    // All below is only read when the numerator changes.
    pub bounds: &'static [f64],
    /// The largest numerators that are below each bound.
    mosts: [u64; MAX_BUCKETS],
    denominator: f64,
    /// Of ratio times nanoseconds, with earlier denominators.
    sum: f64,
    /// By stripe; in a copy for a reader all of it is in the first.
    nanos: Vec<Nanos>,
}

/// By bucket.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
struct Nanos([u64; MAX_BUCKETS]);

impl Utilization {
    pub(super) fn new(now: Time, bounds: &'static [f64]) -> Self {
        let mut utilization = Utilization {
            steps: 0,
            value: 0,
            least: 0,
            most: 0,
            bucket: 0,
            since: now,
            bounds,
            mosts: [0; MAX_BUCKETS],
            denominator: 1.0,
            sum: 0.0,
            nanos: vec![Nanos::default(); STRIPES],
        };
        utilization.set_denominator(now, 1.0);
        utilization
    }

    /// By bucket: one more than bounds, the last for all that is above them.
    pub fn nanos(&self) -> &[u64] {
        &self.nanos[0].0[..=self.bounds.len()]
    }

    /// Of ratio times nanoseconds.
    pub fn sum(&self) -> f64 {
        let integral = i128::from(self.value) * i128::from(self.since.0) + self.steps;
        self.sum + integral as f64 / self.denominator
    }

    /// Sets the numerator from now on.
    #[inline]
    pub(super) fn set(&mut self, now: Time, stripe: usize, value: u64) {
        if value == self.value {
            return;
        }
        self.steps += (i128::from(self.value) - i128::from(value)) * i128::from(now.0);
        self.value = value;
        if value < self.least || value > self.most {
            self.catch_up(now, stripe);
            self.find_bucket();
        }
    }

    pub(super) fn set_denominator(&mut self, now: Time, denominator: f64) {
        self.catch_up(now, 0);
        self.sum = self.sum();
        self.steps = -i128::from(self.value) * i128::from(self.since.0);
        self.denominator = denominator;
        let most = |bound: &f64| {
            let most = (bound * denominator) as u64;
            // The product may have been rounded down.
            most + u64::from((most + 1) as f64 / denominator <= *bound)
        };
        self.mosts.iter_mut().zip(self.bounds).for_each(|(slot, bound)| *slot = most(bound));
        self.find_bucket();
    }

    /// A copy as of now, for those who read it.
    pub(super) fn read(&mut self, now: Time) -> Self {
        self.catch_up(now, 0);
        let mut sum = Nanos::default();
        for stripe in &self.nanos {
            sum.0.iter_mut().zip(&stripe.0).for_each(|(sum, nanos)| *sum += nanos);
        }
        Utilization { nanos: vec![sum], ..*self }
    }

    /// Adds up the time until now.
    fn catch_up(&mut self, now: Time, stripe: usize) {
        self.nanos[stripe].0[self.bucket] += nanos(now - self.since);
        self.since = self.since.max(now);
    }

    fn find_bucket(&mut self) {
        let mosts = &self.mosts[..self.bounds.len()];
        let bucket = mosts.iter().position(|most| self.value <= *most).unwrap_or(mosts.len());
        self.bucket = bucket;
        self.least = if bucket == 0 { 0 } else { mosts[bucket - 1] + 1 };
        self.most = mosts.get(bucket).copied().unwrap_or(u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::queues::stats::SEAT_UTILIZATION_BOUNDS as BOUNDS;

    /// What happens after so many nanoseconds.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Set(usize, u64),
        Denominator(u32),
        Read,
    }

    fn event() -> impl Strategy<Value = (u64, Event)> {
        let event = prop_oneof![
            6 => (0..STRIPES, 0..40_u64).prop_map(|(stripe, to)| Event::Set(stripe, to)),
            1 => (1..30_u32).prop_map(Event::Denominator),
            1 => Just(Event::Read),
        ];
        (0..1_000_u64, event)
    }

    proptest! {
        #[test]
        fn it_agrees_with_adding_up_each_period(
            events in proptest::collection::vec(event(), 1..60),
        ) {
            let mut utilization = Utilization::new(Time(5), BOUNDS);
            let (mut now, mut value, mut denominator) = (5, 0, 1.0);
            let (mut nanos, mut sum) = ([0; MAX_BUCKETS], 0.0);
            for (elapsed, event) in events {
                now += elapsed;
                let ratio = value as f64 / denominator;
                let bucket = BOUNDS.iter().position(|bound| ratio <= *bound);
                nanos[bucket.unwrap_or(BOUNDS.len())] += elapsed;
                sum += ratio * elapsed as f64;
                match event {
                    Event::Set(stripe, to) => {
                        utilization.set(Time(now), stripe, to);
                        value = to;
                    }
                    Event::Denominator(to) => {
                        denominator = f64::from(to);
                        utilization.set_denominator(Time(now), denominator);
                    }
                    Event::Read => drop(utilization.read(Time(now))),
                }
            }
            let utilization = utilization.read(Time(now));
            prop_assert_eq!(utilization.nanos(), &nanos[..=BOUNDS.len()]);
            prop_assert!((utilization.sum() - sum).abs() <= 1e-9 * (1.0 + sum));
        }
    }
}
