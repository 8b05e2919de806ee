//! For how long a ratio was below each bound: what a sample at every nanosecond would give.
//!
//! The ratio is kept as its numerator. Its integral needs no visit while the numerator stays the same:
//! the integral of a step function up to T is its last value times T, less the sum over its steps of
//! height times time. So a change adds one product to that sum. The time in a bucket is added up when the
//! bucket is left, and that is known by two comparisons. What a change reads and writes is on one cache
//! line.
//!
//! Bound: O(1) for a change within a bucket; O(buckets) between them.

use crate::{Time, time::nanos};

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

    // All below is looked at when the bucket changes.
    nanos: [u64; MAX_BUCKETS],
    pub bounds: &'static [f64],
    /// Of ratio times nanoseconds, with earlier denominators.
    sum: f64,
    denominator: f64,
}

impl Utilization {
    pub(super) fn new(now: Time, bounds: &'static [f64]) -> Self {
        let mut utilization = Utilization {
            steps: 0,
            value: 0,
            least: 0,
            most: 0,
            bucket: 0,
            since: now,
            nanos: [0; MAX_BUCKETS],
            bounds,
            sum: 0.0,
            denominator: 1.0,
        };
        utilization.find_bucket();
        utilization
    }

    /// By bucket: one more than bounds, the last for all that is above them.
    pub fn nanos(&self) -> &[u64] {
        &self.nanos[..=self.bounds.len()]
    }

    /// Of ratio times nanoseconds.
    pub fn sum(&self) -> f64 {
        let integral = i128::from(self.value) * i128::from(self.since.0) + self.steps;
        self.sum + integral as f64 / self.denominator
    }

    /// Sets the numerator from now on.
    #[inline]
    pub(super) fn set(&mut self, now: Time, value: u64) {
        if value == self.value {
            return;
        }
        self.steps += (i128::from(self.value) - i128::from(value)) * i128::from(now.0);
        self.value = value;
        if value < self.least || value > self.most {
            self.catch_up(now);
            self.find_bucket();
        }
    }

    pub(super) fn set_denominator(&mut self, now: Time, denominator: f64) {
        self.catch_up(now);
        self.sum = self.sum();
        self.steps = -i128::from(self.value) * i128::from(self.since.0);
        self.denominator = denominator;
        self.find_bucket();
    }

    /// Accounts for the time until now: [`Self::nanos`] and [`Self::sum`] are as of then.
    pub(super) fn catch_up(&mut self, now: Time) {
        self.nanos[self.bucket] += nanos(now - self.since);
        self.since = self.since.max(now);
    }

    fn find_bucket(&mut self) {
        let most = |bound: f64| {
            let most = (bound * self.denominator) as u64;
            // The product may have been rounded down.
            most + u64::from((most + 1) as f64 / self.denominator <= bound)
        };
        let bucket = self.bounds.iter().position(|bound| self.value <= most(*bound));
        let bucket = bucket.unwrap_or(self.bounds.len());
        let below = bucket.checked_sub(1).and_then(|below| self.bounds.get(below));
        let least = below.map_or(0, |bound| most(*bound) + 1);
        let most = self.bounds.get(bucket).map_or(u64::MAX, |bound| most(*bound));
        (self.bucket, self.least, self.most) = (bucket, least, most);
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
        Set(u64),
        Denominator(u32),
        Read,
    }

    fn event() -> impl Strategy<Value = (u64, Event)> {
        let event = prop_oneof![
            6 => (0..40_u64).prop_map(Event::Set),
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
                    Event::Set(to) => {
                        utilization.set(Time(now), to);
                        value = to;
                    }
                    Event::Denominator(to) => {
                        denominator = f64::from(to);
                        utilization.set_denominator(Time(now), denominator);
                    }
                    Event::Read => utilization.catch_up(Time(now)),
                }
            }
            utilization.catch_up(Time(now));
            prop_assert_eq!(utilization.nanos(), &nanos[..=BOUNDS.len()]);
            prop_assert!((utilization.sum() - sum).abs() <= 1e-9 * (1.0 + sum));
        }
    }
}
