//! How many requests wait and run, separately for reads and writes, as a ratio weighted by time:
//! `apiserver_flowcontrol_read_vs_write_current_requests`.
//!
//! This is the only metric counted across levels. What all threads count together would be a cache line
//! that all of them write, so each stripe (`evenkeel_fairness::stripes`) has a log of changes instead.
//! When a log is full, and for a scrape, all of them are replayed in the order of their times. A change
//! whose time was read before a replay and which is logged after it counts from the latest time that was
//! replayed: by as much time is the metric inexact, its counts and the sum of all times are not.
//!
//! Bound: a change is one addition to a log; a replay sorts as many changes as the logs hold.

use std::{
    array,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use evenkeel_fairness::{
    Time,
    config::{Config, Handling},
    limits::nominal,
    stripes::{STRIPES, stripe},
};
use parking_lot::{Mutex, MutexGuard};

use crate::head::Kind;

/// As in Kubernetes.
pub(crate) const BOUNDS: [f64; 15] =
    [0.0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];

/// How many changes a log holds.
const LOG: usize = 128;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    Waiting,
    Executing,
}

#[derive(Debug)]
pub(crate) struct InFlight {
    /// By stripe.
    logs: [Log; STRIPES],
    counted: Mutex<Counted>,
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
#[derive(Debug)]
#[repr(align(128))]
struct Log(Mutex<Vec<Change>>);

#[derive(Clone, Copy, Debug)]
struct Change {
    at: Time,
    phase: Phase,
    kind: Kind,
    by: i8,
}

/// What the logs came to.
#[derive(Debug)]
struct Counted {
    /// By [`Phase`] and [`Kind`].
    gauges: [[Gauge; 2]; 2],
    /// Room for a replay.
    changes: Vec<Change>,
}

#[derive(Clone, Copy, Debug)]
struct Gauge {
    /// Below zero if a request that left was replayed before it entered: the rest is on its way.
    count: i64,
    since: Time,
    reading: Reading,
}

impl Default for InFlight {
    fn default() -> Self {
        let reading = Reading { nanos: [0; BOUNDS.len() + 1], sum: 0.0 };
        let gauges = [[Gauge { count: 0, since: Time(0), reading }; 2]; 2];
        InFlight {
            logs: array::from_fn(|_| Log(Mutex::new(Vec::with_capacity(LOG)))),
            counted: Mutex::new(Counted { gauges, changes: Vec::with_capacity(STRIPES * LOG) }),
            max_waiting: AtomicU32::new(0),
            max_executing: AtomicU32::new(0),
        }
    }
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
        let limits = nominal::limits(config.levels.iter(), server_limit).unwrap_or_default();
        let seats: u64 = limits.iter().map(|limits| u64::from(limits.nominal)).sum();
        let _counted = self.replay();
        self.max_waiting.store(u32::try_from(room.sum::<u64>()).unwrap_or(u32::MAX), Relaxed);
        self.max_executing.store(u32::try_from(seats).unwrap_or(u32::MAX), Relaxed);
    }

    pub(crate) fn enter(&self, now: Time, phase: Phase, kind: Kind) {
        self.log(Change { at: now, phase, kind, by: 1 });
    }

    pub(crate) fn leave(&self, now: Time, phase: Phase, kind: Kind) {
        self.log(Change { at: now, phase, kind, by: -1 });
    }

    pub(crate) fn read(&self, now: Time, phase: Phase, kind: Kind) -> Reading {
        let gauge = &mut self.replay().gauges[phase as usize][kind as usize];
        gauge.pass(now, self.most(phase));
        gauge.reading
    }

    fn log(&self, change: Change) {
        let mut log = self.logs[stripe()].0.lock();
        log.push(change);
        let full = log.len() >= LOG;
        drop(log);
        if full {
            drop(self.replay());
        }
    }

    /// Counts what is in the logs.
    fn replay(&self) -> MutexGuard<'_, Counted> {
        let mut counted = self.counted.lock();
        let Counted { gauges, changes } = &mut *counted;
        self.logs.iter().for_each(|log| changes.append(&mut log.0.lock()));
        changes.sort_unstable_by_key(|change| change.at);
        for Change { at, phase, kind, by } in changes.drain(..) {
            let gauge = &mut gauges[phase as usize][kind as usize];
            gauge.pass(at, self.most(phase));
            gauge.count += i64::from(by);
        }
        counted
    }

    fn most(&self, phase: Phase) -> u32 {
        match phase {
            Phase::Waiting => self.max_waiting.load(Relaxed),
            Phase::Executing => self.max_executing.load(Relaxed),
        }
    }
}

impl Gauge {
    /// Counts the time until `now` at the number that held.
    fn pass(&mut self, now: Time, most: u32) {
        let elapsed = now.0.saturating_sub(self.since.0);
        if elapsed == 0 {
            return;
        }
        self.since = now;
        let ratio = self.count.max(0) as f64 / f64::from(most.max(1));
        let bucket = BOUNDS.iter().position(|bound| ratio <= *bound).unwrap_or(BOUNDS.len());
        self.reading.nanos[bucket] += elapsed;
        self.reading.sum += ratio * elapsed as f64;
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
        assert_eq!(in_flight.counted.lock().gauges[1][0].count, 0);
    }
}
