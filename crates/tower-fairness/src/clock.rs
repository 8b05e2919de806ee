//! The clock of one layer: tokio's, so that tests can stop it.

use std::time::Duration;

use evenkeel_fairness::Time;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Time {
        Time(0) + self.start.elapsed()
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.0)
    }
}
