//! The statistics of a level. How they are kept so that counting costs a few nanoseconds and no shared
//! cache line: by stripe (`counts.rs`), and by what changes (`utilization.rs`).

use std::time::Duration;

pub use super::utilization::Utilization;
use super::{utilization::MAX_BUCKETS, work::Work};
use crate::{Time, time::nanos};

/// Upper bounds of durations, in nanoseconds: as in Kubernetes.
pub const DURATION_BOUNDS: &[u64] = &[
    0,
    5_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
    15_000_000_000,
    30_000_000_000,
];
pub const QUEUE_LENGTH_BOUNDS: &[u64] = &[0, 10, 25, 50, 100, 250, 500, 1000];
pub const SEATS_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 100];
pub const SEAT_UTILIZATION_BOUNDS: &[f64] =
    &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
pub const REQUEST_UTILIZATION_BOUNDS: &[f64] =
    &[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0];
pub const DEMAND_BOUNDS: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0];
/// Of the queue length limit, in per cent: as in the proposal.
pub const FILL_BOUNDS: [u64; 6] = [0, 25, 50, 75, 90, 100];

/// Why a request was rejected.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RejectReason {
    /// Its queue was full, and no seat was free.
    QueueFull,
    /// No seat was free, and its level does not queue.
    ConcurrencyLimit,
    /// It reached its wait limit.
    TimeOut,
    /// Its client disconnected while it waited.
    Cancelled,
}

impl RejectReason {
    pub const ALL: [RejectReason; 4] = [
        RejectReason::QueueFull,
        RejectReason::ConcurrencyLimit,
        RejectReason::TimeOut,
        RejectReason::Cancelled,
    ];

    /// Kubernetes' label; there a client that disconnected is a time-out too.
    pub fn code(self) -> &'static str {
        match self {
            RejectReason::QueueFull => "queue-full",
            RejectReason::ConcurrencyLimit => "concurrency-limit",
            RejectReason::TimeOut => "time-out",
            RejectReason::Cancelled => "cancelled",
        }
    }
}

/// How often values fell below each bound.
#[derive(Clone, Debug)]
pub struct Histogram {
    pub sum: u64,
    counts: [u64; MAX_BUCKETS],
    pub bounds: &'static [u64],
}

/// The statistics of one flow schema in a level.
#[derive(Clone, Debug)]
pub struct SchemaStats {
    pub dispatched: u64,
    /// By the order of [`RejectReason::ALL`].
    pub rejected: [u64; 4],
    pub waiting: u64,
    pub seats_waiting: u64,
    pub executing: u64,
    pub seats_executing: u64,
    /// Of requests that were dispatched.
    pub wait: Histogram,
    /// Of requests that were not.
    pub wait_rejected: Histogram,
    pub execution: Histogram,
    /// Of watches, until they are set up.
    pub execution_watch: Histogram,
    pub queue_length: Histogram,
    pub seats: Histogram,
    /// How often its head was next but did not fit.
    pub not_accommodated: u64,
    /// Requests that still run although they were held for too long and lost their seats.
    pub detached: u64,
    /// How many ever did.
    pub detached_total: u64,
}

/// The statistics of a level.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct LevelStats {
    /// R at the last dispatch from a queue.
    pub dispatch_r: Work,
    /// The virtual start of the request dispatched last from a queue.
    pub latest_start: Work,
    pub epochs: u64,
    pub seats: Utilization,
    pub executing: Utilization,
    pub demand: Utilization,
    pub waiting: Utilization,
    /// Queue lengths times 100 found by arrivals, against [`FILL_BOUNDS`] times the limit.
    pub fill: [u64; FILL_BOUNDS.len() + 1],
    pub fill_sum: u64,
    /// Up to when they were read: what happened before that, by another thread's clock, happens then.
    /// Otherwise a sum that was read could become smaller.
    read: Time,
}

/// The load of a level at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) seats: u64,
    pub(super) executing: u64,
    pub(super) waiting: u64,
    pub(super) demand: u64,
}

// === impl Histogram ===

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Self {
        Histogram { bounds, counts: [0; MAX_BUCKETS], sum: 0 }
    }

    /// By bucket: one more than bounds, the last for all that is above them.
    pub fn counts(&self) -> &[u64] {
        &self.counts[..=self.bounds.len()]
    }

    pub fn observe(&mut self, value: u64) {
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        self.counts[bucket.unwrap_or(self.bounds.len())] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    pub fn observe_duration(&mut self, duration: Duration) {
        self.observe(nanos(duration));
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &Histogram) {
        self.sum = self.sum.saturating_add(other.sum);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }
}

// === impl SchemaStats ===

impl Default for SchemaStats {
    fn default() -> Self {
        SchemaStats {
            dispatched: 0,
            rejected: [0; 4],
            waiting: 0,
            seats_waiting: 0,
            executing: 0,
            seats_executing: 0,
            wait: Histogram::new(DURATION_BOUNDS),
            wait_rejected: Histogram::new(DURATION_BOUNDS),
            execution: Histogram::new(DURATION_BOUNDS),
            execution_watch: Histogram::new(DURATION_BOUNDS),
            queue_length: Histogram::new(QUEUE_LENGTH_BOUNDS),
            seats: Histogram::new(SEATS_BOUNDS),
            not_accommodated: 0,
            detached: 0,
            detached_total: 0,
        }
    }
}

impl SchemaStats {
    /// Nothing of this schema waits or runs here.
    pub fn is_idle(&self) -> bool {
        let Self { waiting, executing, seats_executing, detached, .. } = self;
        [waiting, executing, seats_executing, detached].into_iter().all(|n| *n == 0)
    }

    pub(super) fn add(&mut self, other: &SchemaStats) {
        let Self { rejected, wait, wait_rejected, execution, execution_watch, .. } = self;
        rejected.iter_mut().zip(&other.rejected).for_each(|(sum, more)| *sum += more);
        wait.add(&other.wait);
        wait_rejected.add(&other.wait_rejected);
        execution.add(&other.execution);
        execution_watch.add(&other.execution_watch);
        self.queue_length.add(&other.queue_length);
        self.seats.add(&other.seats);
        self.dispatched += other.dispatched;
        self.waiting += other.waiting;
        self.seats_waiting += other.seats_waiting;
        self.executing += other.executing;
        self.seats_executing += other.seats_executing;
        self.not_accommodated += other.not_accommodated;
        self.detached += other.detached;
        self.detached_total += other.detached_total;
    }
}

// === impl LevelStats ===

impl LevelStats {
    pub(super) fn new(now: Time) -> Self {
        LevelStats {
            fill: [0; FILL_BOUNDS.len() + 1],
            fill_sum: 0,
            seats: Utilization::new(now, SEAT_UTILIZATION_BOUNDS),
            executing: Utilization::new(now, REQUEST_UTILIZATION_BOUNDS),
            waiting: Utilization::new(now, REQUEST_UTILIZATION_BOUNDS),
            demand: Utilization::new(now, DEMAND_BOUNDS),
            epochs: 0,
            dispatch_r: Work(0),
            latest_start: Work(0),
            read: now,
        }
    }

    /// A copy as of `now`, for those who read it.
    pub(super) fn read(&mut self, now: Time) -> Self {
        self.read = self.read.max(now);
        let now = self.read;
        LevelStats {
            seats: self.seats.read(now),
            executing: self.executing.read(now),
            demand: self.demand.read(now),
            waiting: self.waiting.read(now),
            ..*self
        }
    }

    /// Sets the load from now on.
    pub(super) fn set(&mut self, now: Time, stripe: usize, load: Load) {
        let now = now.max(self.read);
        self.seats.set(now, stripe, load.seats);
        self.executing.set(now, stripe, load.executing);
        self.waiting.set(now, stripe, load.waiting);
        self.demand.set(now, stripe, load.demand);
    }

    /// Sets the denominators of the ratios from now on: the nominal seats, and the room in the queues.
    pub(super) fn set_denominators(&mut self, now: Time, nominal: u32, room: f64) {
        let now = now.max(self.read);
        for utilization in [&mut self.seats, &mut self.executing, &mut self.demand] {
            utilization.set_denominator(now, f64::from(nominal.max(1)));
        }
        self.waiting.set_denominator(now, room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_counted_under_the_ratio_that_held() {
        let mut stats = LevelStats::new(Time(0));
        stats.set_denominators(Time(0), 4, 1.0);
        let load = |seats| Load { seats, executing: 0, waiting: 0, demand: 0 };
        for (at, seats) in [(10, 2), (30, 4), (60, 5), (100, 1), (150, 0)] {
            stats.set(Time(at), at as usize % 8, load(seats));
        }
        let stats = stats.read(Time(160));
        // Bounds 0, 0.3 (a quarter), 0.5, 1, and above.
        let nanos = [(0, 20), (3, 50), (5, 20), (12, 30), (13, 40)];
        let counted: Vec<_> = (0..).zip(stats.seats.nanos()).filter(|(_, n)| **n > 0).collect();
        assert_eq!(counted, nanos.each_ref().map(|(bucket, n)| (*bucket, n)));
        let sum = (2 * 20 + 4 * 30 + 5 * 40 + 50) as f64 / 4.0;
        assert!((stats.seats.sum() - sum).abs() < 1e-9);
    }

    #[test]
    fn a_change_of_the_denominator_keeps_what_was_counted() {
        let mut stats = LevelStats::new(Time(0));
        stats.set(Time(0), 0, Load { seats: 1, executing: 0, waiting: 0, demand: 0 });
        stats.set_denominators(Time(10), 2, 1.0);
        let stats = stats.read(Time(20));
        assert!((stats.seats.sum() - 15.0).abs() < 1e-9);
        assert_eq!((stats.seats.nanos()[12], stats.seats.nanos()[5]), (10, 10));
    }
}
