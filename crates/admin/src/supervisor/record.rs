//! How one task is doing, and when it is started again. Time is an argument.

use std::time::Duration;

use tokio::time::Instant;

/// How fast a task is started again, and when it counts as recovered.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The pause after a failure that follows none.
    pub first: Duration,
    pub longest: Duration,
    /// Who has run for so long has recovered: its failures are forgotten.
    pub stable: Duration,
}

#[derive(Debug)]
pub(super) struct Record {
    /// Since when it runs; `None`: it is down.
    since: Option<Instant>,
    /// In a row.
    failures: u32,
    problem: String,
}

// === impl Pace ===

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(30),
            stable: Duration::from_secs(10),
        }
    }
}

impl Pace {
    fn pause(self, failures: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.longest)
    }
}

// === impl Record ===

impl Record {
    pub(super) fn new(now: Instant) -> Record {
        Record { since: Some(now), failures: 0, problem: String::new() }
    }

    /// Returns the pause after which it is to be started again.
    pub(super) fn failed(&mut self, now: Instant, problem: String, pace: Pace) -> Duration {
        if self.is_stable(now, pace) {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        self.since = None;
        self.problem = problem;
        pace.pause(self.failures)
    }

    pub(super) fn started(&mut self, now: Instant) {
        self.since = Some(now);
    }

    /// What is wrong with it.
    pub(super) fn problem(&self, now: Instant, pace: Pace) -> Option<String> {
        let Record { since, failures, problem } = self;
        if *failures == 0 || self.is_stable(now, pace) {
            return None;
        }
        let state = if since.is_some() { "was restarted" } else { "is down" };
        Some(format!("{state} after {failures} failures in a row, the last: {problem}"))
    }

    fn is_stable(&self, now: Instant, pace: Pace) -> bool {
        self.since.is_some_and(|since| now.duration_since(since) >= pace.stable)
    }
}
