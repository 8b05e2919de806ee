//! How many requests wait and run, separately for reads and writes, as a ratio weighted by time:
//! `apiserver_flowcontrol_read_vs_write_current_requests`.
//!
//! This is the only metric counted across levels, so it must not need a lock. A gauge is one word: the
//! number of requests in the lower bits and when it last changed, in microseconds, in the upper
//! ones. Whoever changes the word owns the time since its last change and adds it to the bucket of
//! the number that held until then. Differences of times are modulo 2⁴², so it runs for 50 days
//! between two changes or scrapes. Readings of the clock by two threads may come in the wrong
//! order: then no time has passed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use evenkeel_fairness::{
    Time,
    config::{Config, Handling},
    limits::nominal,
};

use crate::head::Kind;

/// As in Kubernetes.
pub(crate) const BOUNDS: [f64; 15] =
    [0.0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];

const COUNT_BITS: u32 = 22;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const MICROS: u64 = u64::MAX >> COUNT_BITS;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    Waiting,
    Executing,
}

#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// By [`Phase`] and [`Kind`].
    gauges: [[Gauge; 2]; 2],
    max_waiting: AtomicU32,
    max_executing: AtomicU32,
}

/// A gauge as it is scraped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// For how long the ratio was up to each bound, and above all of them.
    pub(crate) nanos: [u64; BOUNDS.len() + 1],
    /// Of ratio times nanoseconds.
    pub(crate) sum: f64,
}

/// On its own cache lines, as other cores write to its neighbours.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gauge {
    word: AtomicU64,
    micros: [AtomicU64; BOUNDS.len() + 1],
    /// Ratio times nanoseconds.
    sum: AtomicU64,
}

impl InFlight {
    /// Sets the maximum that may wait and run, from the configuration.
    pub(crate) fn limit(&self, config: &Config, server_limit: u32) {
        let room = config.levels.iter().map(|level| match level.handling {
            Handling::Queue(queuing) => {
                u64::from(queuing.queues) * u64::from(queuing.queue_length_limit)
            }
            _ => 0,
        });
        self.max_waiting.store(u32::try_from(room.sum::<u64>()).unwrap_or(u32::MAX), Relaxed);
        let limits = nominal::limits(config.levels.iter(), server_limit).unwrap_or_default();
        let seats: u64 = limits.iter().map(|limits| u64::from(limits.nominal)).sum();
        self.max_executing.store(u32::try_from(seats).unwrap_or(u32::MAX), Relaxed);
    }

    pub(crate) fn enter(&self, now: Time, phase: Phase, kind: Kind) {
        self.change(now, phase, kind, |count| (count + 1).min(COUNT));
    }

    pub(crate) fn leave(&self, now: Time, phase: Phase, kind: Kind) {
        self.change(now, phase, kind, |count| count.saturating_sub(1));
    }

    pub(crate) fn read(&self, now: Time, phase: Phase, kind: Kind) -> Reading {
        self.change(now, phase, kind, |count| count);
        let gauge = &self.gauges[phase as usize][kind as usize];
        Reading {
            nanos: std::array::from_fn(|i| gauge.micros[i].load(Relaxed).saturating_mul(1000)),
            sum: gauge.sum.load(Relaxed) as f64,
        }
    }

    fn change(&self, now: Time, phase: Phase, kind: Kind, to: impl Fn(u64) -> u64) {
        let most = match phase {
            Phase::Waiting => &self.max_waiting,
            Phase::Executing => &self.max_executing,
        };
        self.gauges[phase as usize][kind as usize].change(now, most.load(Relaxed), to);
    }
}

impl Gauge {
    fn change(&self, now: Time, most: u32, to: impl Fn(u64) -> u64) {
        let now = (now.0 / 1000) & MICROS;
        let mut old = self.word.load(Relaxed);
        loop {
            let (since, count) = (old >> COUNT_BITS, old & COUNT);
            let elapsed = now.wrapping_sub(since) & MICROS;
            // The upper half are negative differences.
            let (at, elapsed) = if elapsed > MICROS / 2 { (since, 0) } else { (now, elapsed) };
            let new = at << COUNT_BITS | to(count);
            match self.word.compare_exchange_weak(old, new, Relaxed, Relaxed) {
                Ok(_) => return self.add(count, elapsed, most),
                Err(changed) => old = changed,
            }
        }
    }

    /// Adds a period with a constant number of requests.
    fn add(&self, count: u64, elapsed: u64, most: u32) {
        if elapsed == 0 {
            return;
        }
        let ratio = count as f64 / f64::from(most.max(1));
        let bucket = BOUNDS.iter().position(|bound| ratio <= *bound).unwrap_or(BOUNDS.len());
        self.micros[bucket].fetch_add(elapsed, Relaxed);
        if count > 0 {
            self.sum.fetch_add((ratio * 1e3 * elapsed as f64).round() as u64, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn ten_may_run() -> InFlight {
        let in_flight = InFlight::default();
        in_flight.max_executing.store(10, Relaxed);
        in_flight
    }

    #[test]
    fn time_is_counted_at_the_ratio_that_held() {
        let in_flight = ten_may_run();
        let (phase, kind) = (Phase::Executing, Kind::Mutating);
        in_flight.enter(Time(SECOND), phase, kind);
        in_flight.enter(Time(3 * SECOND), phase, kind);
        in_flight.leave(Time(4 * SECOND), phase, kind);
        // A reading of the clock from before.
        in_flight.leave(Time(2 * SECOND), phase, kind);
        let Reading { nanos, sum } = in_flight.read(Time(6 * SECOND), phase, kind);
        assert_eq!((nanos[0], nanos[3], nanos[4]), (3 * SECOND, 2 * SECOND, SECOND));
        assert_eq!(nanos.iter().sum::<u64>(), 6 * SECOND);
        assert_eq!(sum, 0.4e9);
        let other = in_flight.read(Time(6 * SECOND), phase, Kind::ReadOnly);
        assert_eq!((other.nanos[0], other.sum), (6 * SECOND, 0.0));
    }

    #[test]
    fn threads_lose_neither_requests_nor_time() {
        let in_flight = ten_may_run();
        let (phase, kind) = (Phase::Executing, Kind::ReadOnly);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for i in 0..10_000_u64 {
                        in_flight.enter(Time(i * 2000), phase, kind);
                        in_flight.leave(Time(i * 2000 + 1000), phase, kind);
                    }
                });
            }
        });
        let end = Time(SECOND);
        let total: u64 = in_flight.read(end, phase, kind).nanos.iter().sum();
        assert_eq!(total, SECOND);
        assert_eq!(in_flight.gauges[1][0].word.load(Relaxed) & COUNT, 0);
    }
}
