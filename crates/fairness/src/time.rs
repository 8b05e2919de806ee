//! Time as an argument: the core reads no clock.

use std::{
    ops::{Add, Sub},
    time::Duration,
};

/// A point in time: nanoseconds of a monotonic clock since a start that the caller chose. It overflows
/// after 584 years.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Time(pub u64);

impl Time {
    pub const MAX: Time = Time(u64::MAX);

    pub fn whole_seconds(self) -> u64 {
        self.0 / 1_000_000_000
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(nanos(duration)))
    }
}

/// The time between two moments; none if they come in the wrong order, as readings of one clock
/// by two threads may.
impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Whole nanoseconds; what exceeds the range is its end.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
