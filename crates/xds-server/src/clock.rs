//! The only clock: durations since the start, for decisions; wall-clock time is for display.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    begun: Instant,
    begun_at: SystemTime,
}

// === impl Clock ===

impl Clock {
    pub(crate) fn start() -> Self {
        Self { begun: Instant::now(), begun_at: SystemTime::now() }
    }

    /// Since the start.
    pub(crate) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn instant(&self, since_start: Duration) -> Instant {
        self.begun + since_start
    }

    /// Seconds since 1970.
    pub(crate) fn unix(&self, since_start: Duration) -> f64 {
        let at = self.begun_at + since_start;
        at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }
}
