//! When a report is written. Pure: times are since any fixed moment, `jitter` is from 0 to 1.
//!
//! - Two writes are at least [`report_interval`] apart, failed ones included.
//! - A change is written as soon as that allows. Where there are so many nodes that the interval is
//!   more than a second, all of them learn of a change at once and would write at once: each waits a
//!   part of the rest of the interval, by chance.
//! - Without a change there is a heartbeat.
//! - After a failure the pause doubles, up to a minute, unless the server says when to come back.

use std::time::Duration;

use evenkeel_model::report_interval;

/// Between heartbeats, at least.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// So many heartbeats may be missed.
const MISSED: u32 = 3;

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Before the nodes are counted.
const UNCOUNTED: usize = 1000;

#[derive(Clone, Debug)]
pub(super) struct Schedule {
    interval: Duration,
    /// When the last write began.
    began: Option<Duration>,
    /// When the next one is to begin; `None` before there is anything to report.
    due: Option<Duration>,
    /// There is a change that no write has had.
    has_change: bool,
    failures: u32,
}

impl Default for Schedule {
    fn default() -> Self {
        let interval = report_interval(UNCOUNTED);
        Schedule { interval, began: None, due: None, has_change: false, failures: 0 }
    }
}

impl Schedule {
    /// When to write next.
    pub(super) fn due(&self) -> Option<Duration> {
        self.due
    }

    /// How long a report counts.
    pub(super) fn valid_for(&self) -> Duration {
        self.heartbeat() * (MISSED + 1)
    }

    pub(super) fn nodes(&mut self, nodes: usize) {
        self.interval = report_interval(nodes);
    }

    /// What is to be reported has changed.
    pub(super) fn changed(&mut self, now: Duration, jitter: f64) {
        if std::mem::replace(&mut self.has_change, true) || self.failures > 0 {
            return;
        }
        // The first report does not wait for the nodes to be counted: see `begin`.
        let wait = if self.began.is_some() { self.spread(jitter) } else { Duration::ZERO };
        let due = self.not_before().max(now + wait);
        // A heartbeat may come first, and has the change.
        self.due = Some(self.due.map_or(due, |heartbeat| heartbeat.min(due)));
    }

    /// A write is to begin. Says whether it does: the first one may still have to wait, now that the
    /// nodes are counted.
    pub(super) fn begin(&mut self, now: Duration, jitter: f64) -> bool {
        let wait = self.spread(jitter);
        if self.began.is_none() && !wait.is_zero() {
            self.began = Some(now);
            self.due = Some(now + wait);
            return false;
        }
        (self.began, self.has_change) = (Some(now), false);
        true
    }

    pub(super) fn done(&mut self, now: Duration, jitter: f64) {
        self.failures = 0;
        let heartbeat = now + self.heartbeat().mul_f64(1.0 + 0.2 * jitter);
        self.due = Some(match self.has_change {
            true => self.not_before().max(now),
            false => heartbeat,
        });
    }

    /// Returns the pause. `after`: when the server wants to be asked again.
    pub(super) fn failed(
        &mut self,
        now: Duration,
        after: Option<Duration>,
        jitter: f64,
    ) -> Duration {
        let doubled = SHORTEST * 2_u32.pow(self.failures.min(6));
        self.failures = self.failures.saturating_add(1);
        let pause = doubled.min(LONGEST_PAUSE).mul_f64(0.5 + 0.5 * jitter);
        let due = self.not_before().max(now + pause.max(after.unwrap_or_default()));
        (self.due, self.has_change) = (Some(due), true);
        due.saturating_sub(now)
    }

    fn not_before(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began + self.interval)
    }

    fn spread(&self, jitter: f64) -> Duration {
        self.interval.saturating_sub(SHORTEST).mul_f64(jitter)
    }

    fn heartbeat(&self) -> Duration {
        HEARTBEAT.max(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[derive(Clone, Copy)]
    enum Step {
        Changed,
        /// A write that takes so many milliseconds, and how it ends.
        Ok(u64),
        Failed(u64, Option<u64>),
    }
    use Step::{Changed, Failed, Ok};

    /// Nodes, jitter, and steps: what happens when, and when the next write is due.
    fn check(nodes: usize, jitter: f64, steps: &[(u64, Step, u64)]) {
        let mut schedule = Schedule::default();
        schedule.nodes(nodes);
        assert_eq!(schedule.due(), None);
        for (index, &(now, step, due)) in steps.iter().enumerate() {
            match step {
                Changed => schedule.changed(at(now), jitter),
                Ok(took) => {
                    if schedule.begin(at(now), jitter) {
                        schedule.done(at(now + took), jitter);
                    }
                }
                Failed(took, after) => {
                    assert!(schedule.begin(at(now), jitter));
                    schedule.failed(at(now + took), after.map(at), jitter);
                }
            }
            assert_eq!(schedule.due(), Some(at(due)), "{nodes} nodes, step {index}");
        }
    }

    #[test]
    fn few_nodes_write_each_change_at_once_and_at_most_every_second() {
        check(
            50,
            0.5,
            &[
                (100, Changed, 100),
                (100, Ok(10), 33_110),
                (200, Changed, 1100),
                (300, Changed, 1100),
                (1100, Ok(10), 34_110),
                (5000, Changed, 5000),
                (5000, Ok(10), 38_010),
            ],
        );
    }

    #[test]
    fn many_nodes_spread_their_writes_over_the_interval() {
        check(
            1000,
            0.5,
            &[
                (0, Changed, 0),
                // The first waits once the nodes are counted.
                (0, Ok(0), 4500),
                (4500, Ok(100), 37_600),
                (5000, Changed, 14_500),
                (14_500, Ok(100), 47_600),
                (40_000, Changed, 44_500),
                (44_500, Ok(100), 77_600),
                (74_000, Changed, 77_600),
            ],
        );
    }

    #[test]
    fn a_change_waits_for_a_failed_write_and_pauses_double() {
        check(
            1,
            1.0,
            &[
                (0, Changed, 0),
                (0, Failed(0, None), 1000),
                (500, Changed, 1000),
                (1000, Failed(10, None), 3010),
                (3010, Failed(0, Some(20_000)), 23_010),
                (23_010, Failed(0, None), 31_010),
                (31_010, Ok(5), 67_015),
            ],
        );
    }

    #[test]
    fn writes_of_all_nodes_together_stay_below_a_hundred_a_second() {
        for nodes in [1, 100, 1000, 5000] {
            let mut schedule = Schedule::default();
            schedule.nodes(nodes);
            let (mut writes, mut last) = (0_u32, None::<Duration>);
            let hour = Duration::from_secs(3600);
            let mut now = Duration::ZERO;
            while now < hour {
                schedule.changed(now, 0.3);
                if schedule.due().is_some_and(|due| due <= now) && schedule.begin(now, 0.3) {
                    assert!(last.is_none_or(|last| now - last >= report_interval(nodes)));
                    (writes, last) = (writes + 1, Some(now));
                    match writes % 7 {
                        0 => drop(schedule.failed(now, None, 0.3)),
                        _ => schedule.done(now, 0.3),
                    }
                }
                now += at(50);
            }
            let a_second = f64::from(writes) * nodes as f64 / hour.as_secs_f64();
            assert!(a_second <= 100.0, "{nodes} nodes: {a_second} writes a second");
            assert!(writes > 0);
        }
    }

    #[test]
    fn a_report_counts_for_several_heartbeats() {
        let mut schedule = Schedule::default();
        schedule.nodes(10);
        assert_eq!(schedule.valid_for(), Duration::from_secs(120));
        schedule.nodes(6000);
        assert_eq!(schedule.valid_for(), Duration::from_secs(240));
    }
}
