//! Axes: which values are where, and which are named.

/// A time axis in a unit that keeps numbers short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeScale {
    pub seconds: f64,
    pub unit: &'static str,
    unit_seconds: f64,
}

// === impl TimeScale ===

impl TimeScale {
    pub(crate) fn new(seconds: f64) -> Self {
        let (unit, unit_seconds) = match seconds {
            s if s > 7200.0 => ("h", 3600.0),
            s if s > 600.0 => ("min", 60.0),
            s if s < 1.0 => ("ms", 1e-3),
            _ => ("s", 1.0),
        };
        TimeScale { seconds: seconds.max(f64::MIN_POSITIVE), unit, unit_seconds }
    }

    pub(crate) fn position(self, seconds: f64) -> f64 {
        (seconds / self.seconds).clamp(0.0, 1.0)
    }

    /// About `n` at most.
    pub(crate) fn ticks(self, n: u32) -> Vec<(f64, String)> {
        let ticks = ticks(self.seconds / self.unit_seconds, n);
        ticks.into_iter().map(|tick| (tick * self.unit_seconds, tick.to_string())).collect()
    }
}

/// Round numbers from 0 on, at most about `n` of them.
pub(crate) fn ticks(most: f64, n: u32) -> Vec<f64> {
    let rough = (most / f64::from(n.max(1))).max(f64::MIN_POSITIVE);
    let magnitude = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = step.into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(rough);
    let round = |n: u32| (f64::from(n) * step * 1e9).round() / 1e9;
    (0..=2 * n).map(round).take_while(|tick| *tick <= most * 1.000_001).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.3, 5), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(ticks(600.0, 5), [0.0, 200.0, 400.0, 600.0]);
    }

    #[test]
    fn long_times_have_long_units() {
        for (seconds, unit, last) in [(125.0, "s", "100"), (3600.0, "min", "60"), (1e5, "h", "20")]
        {
            let scale = TimeScale::new(seconds);
            assert_eq!((scale.unit, scale.ticks(5).last().unwrap().1.as_str()), (unit, last));
        }
    }
}
