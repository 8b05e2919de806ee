//! Work in seat-seconds, in the reference's own fixed point, so that traces agree to the tick.

use std::ops::{AddAssign, SubAssign};

/// Work, or a reading of the progress meter R: a count of 10⁻⁸ seat-seconds modulo 2⁶⁴. A negative
/// correction wraps around, and adding it gives the right result.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Work(pub u64);

impl Work {
    pub const MAX: Work = Work(u64::MAX);

    /// Seats times nanoseconds, either of which may be a fraction or negative; rounded half away
    /// from zero.
    pub(super) fn of(seats: f64, nanos: f64) -> Self {
        Work((seats * nanos / 10.0).round() as i64 as u64)
    }

    pub(super) fn plus(self, other: Work) -> Self {
        Work(self.0.wrapping_add(other.0))
    }

    /// For how many nanoseconds this keeps each of `seats` busy.
    pub(super) fn nanos_per_seat(self, seats: u32) -> u64 {
        (self.0 as f64 / f64::from(seats) * 10.0) as u64
    }

    pub fn seat_seconds(self) -> f64 {
        self.0 as f64 / 1e8
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        *self = self.plus(other);
    }
}

impl SubAssign for Work {
    fn sub_assign(&mut self, other: Work) {
        self.0 = self.0.wrapping_sub(other.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (seats, nanos, work) in
            [(1.0, 4.0, 0), (1.0, 5.0, 1), (1.0, -5.0, -1), (0.5, 10.0, 1), (3.0, 3e6, 900_000)]
        {
            assert_eq!(Work::of(seats, nanos), Work(work as u64), "{seats} x {nanos}");
        }
    }

    #[test]
    fn a_negative_correction_wraps_and_comes_out_right() {
        let mut work = Work(10);
        work -= Work::of(1.0, -50.0);
        assert_eq!(work, Work(15));
    }
}
