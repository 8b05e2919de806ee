//! What a level counts, kept under its lock as plain numbers: a scrape copies them, and counting
//! costs a few nanoseconds and no shared cache line.

use std::time::Duration;

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

/// Why a request was not served.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Refusal {
    /// Its queue was full, and no seat was free.
    QueueFull,
    /// No seat was free, and its level does not queue.
    ConcurrencyLimit,
    /// It waited for as long as it may.
    TimeOut,
    /// Its client went away while it waited.
    Cancelled,
}

impl Refusal {
    pub const ALL: [Refusal; 4] =
        [Refusal::QueueFull, Refusal::ConcurrencyLimit, Refusal::TimeOut, Refusal::Cancelled];

    /// As Kubernetes labels it; there a client that went away is a time-out too.
    pub fn code(self) -> &'static str {
        match self {
            Refusal::QueueFull => "queue-full",
            Refusal::ConcurrencyLimit => "concurrency-limit",
            Refusal::TimeOut => "time-out",
            Refusal::Cancelled => "cancelled",
        }
    }
}

/// How often values fell below each bound.
#[derive(Clone, Debug)]
pub struct Histogram {
    pub bounds: &'static [u64],
    /// One more than bounds: the last is for all that is above them.
    pub counts: Vec<u64>,
    pub sum: u64,
}

/// For how long a ratio was below each bound: what a sample at every nanosecond would give.
#[derive(Clone, Debug)]
pub struct Utilization {
    pub bounds: &'static [f64],
    pub nanos: Vec<u64>,
    /// Of ratio times nanoseconds.
    pub sum: f64,
    ratio: f64,
    bucket: usize,
    since: Time,
}

/// What a level counts for one flow schema.
#[derive(Clone, Debug)]
pub struct SchemaStats {
    pub dispatched: u64,
    /// By the order of [`Refusal::ALL`].
    pub refused: [u64; 4],
    pub waiting: u64,
    pub seats_waiting: u64,
    pub executing: u64,
    pub seats_executing: u64,
    /// Of requests that were dispatched.
    pub wait: Histogram,
    /// Of requests that were not.
    pub wait_refused: Histogram,
    pub execution: Histogram,
    /// Of watches, until they are set up.
    pub execution_watch: Histogram,
    pub queue_length: Histogram,
    pub seats: Histogram,
    /// How often its head was next but did not fit.
    pub not_accommodated: u64,
}

/// What a level counts for all.
#[derive(Clone, Debug)]
pub struct LevelStats {
    /// Queue lengths times 100 found by arrivals, against [`FILL_BOUNDS`] times the limit.
    pub fill: [u64; FILL_BOUNDS.len() + 1],
    pub fill_sum: u64,
    pub seats: Utilization,
    pub executing: Utilization,
    pub waiting: Utilization,
    pub demand: Utilization,
    pub epochs: u64,
}

// === impl Histogram ===

impl Histogram {
    pub fn new(bounds: &'static [u64]) -> Self {
        Histogram { bounds, counts: vec![0; bounds.len() + 1], sum: 0 }
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
}

// === impl Utilization ===

impl Utilization {
    pub fn new(bounds: &'static [f64], now: Time) -> Self {
        Utilization {
            bounds,
            nanos: vec![0; bounds.len() + 1],
            sum: 0.0,
            ratio: 0.0,
            bucket: 0,
            since: now,
        }
    }

    /// The ratio is this from now on.
    pub fn set(&mut self, now: Time, ratio: f64) {
        if ratio == self.ratio {
            return;
        }
        self.catch_up(now);
        self.ratio = ratio;
        let bucket = self.bounds.iter().position(|bound| ratio <= *bound);
        self.bucket = bucket.unwrap_or(self.bounds.len());
    }

    /// Counts the time up to now.
    pub fn catch_up(&mut self, now: Time) {
        let elapsed = nanos(now - self.since);
        self.nanos[self.bucket] += elapsed;
        self.sum += self.ratio * elapsed as f64;
        self.since = self.since.max(now);
    }
}

// === impl SchemaStats ===

impl Default for SchemaStats {
    fn default() -> Self {
        SchemaStats {
            dispatched: 0,
            refused: [0; 4],
            waiting: 0,
            seats_waiting: 0,
            executing: 0,
            seats_executing: 0,
            wait: Histogram::new(DURATION_BOUNDS),
            wait_refused: Histogram::new(DURATION_BOUNDS),
            execution: Histogram::new(DURATION_BOUNDS),
            execution_watch: Histogram::new(DURATION_BOUNDS),
            queue_length: Histogram::new(QUEUE_LENGTH_BOUNDS),
            seats: Histogram::new(SEATS_BOUNDS),
            not_accommodated: 0,
        }
    }
}

impl SchemaStats {
    /// Nothing of this schema waits or runs here.
    pub fn is_idle(&self) -> bool {
        self.waiting == 0 && self.executing == 0 && self.seats_executing == 0
    }
}

// === impl LevelStats ===

impl LevelStats {
    pub(super) fn new(now: Time) -> Self {
        LevelStats {
            fill: [0; FILL_BOUNDS.len() + 1],
            fill_sum: 0,
            seats: Utilization::new(SEAT_UTILIZATION_BOUNDS, now),
            executing: Utilization::new(REQUEST_UTILIZATION_BOUNDS, now),
            waiting: Utilization::new(REQUEST_UTILIZATION_BOUNDS, now),
            demand: Utilization::new(DEMAND_BOUNDS, now),
            epochs: 0,
        }
    }

    pub(super) fn observe_fill(&mut self, length: u32, limit: u32) {
        let length = u64::from(length);
        let bucket = FILL_BOUNDS.iter().position(|p| length * 100 <= p * u64::from(limit));
        self.fill[bucket.unwrap_or(FILL_BOUNDS.len())] += 1;
        self.fill_sum += length;
    }

    pub(super) fn catch_up(&mut self, now: Time) {
        for utilization in
            [&mut self.seats, &mut self.executing, &mut self.waiting, &mut self.demand]
        {
            utilization.catch_up(now);
        }
    }
}
