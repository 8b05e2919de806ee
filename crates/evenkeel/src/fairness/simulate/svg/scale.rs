//! Axes: which values are where, and which are named.

use super::super::super::units::short;

/// Of waiting times that differ by more than this factor, the logarithm is drawn.
const LINEAR_UP_TO: f64 = 50.0;
/// On a logarithmic axis what is below this power of ten of a second is as good as nothing.
const LEAST_POWER: i32 = -4;
const MOST_POWERS: i32 = 6;
/// The part of a logarithmic axis between nothing and its least power of ten.
const BELOW: f64 = 0.14;

/// The waiting times of all panels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WaitScale {
    /// Up to this number of seconds.
    Linear(f64),
    /// Between powers of ten.
    Log { low: i32, high: i32 },
}

/// A time axis in a unit that keeps numbers short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeScale {
    pub seconds: f64,
    pub unit: &'static str,
    unit_seconds: f64,
}

// === impl WaitScale ===

impl WaitScale {
    pub(super) fn new(waits: impl Iterator<Item = f64> + Clone) -> Self {
        let floor = 10_f64.powi(LEAST_POWER);
        let most = waits.clone().fold(0.0, f64::max);
        let least = waits.filter(|wait| *wait >= floor).fold(f64::INFINITY, f64::min);
        if most <= floor {
            return WaitScale::Linear(1e-3);
        }
        if most <= least * LINEAR_UP_TO {
            return WaitScale::Linear(most * 1.05);
        }
        let high = most.log10().ceil() as i32;
        let low = (least.log10().floor() as i32).max(high - MOST_POWERS);
        WaitScale::Log { low, high: high.max(low + 1) }
    }

    /// Where a waiting time is, from 0 at the bottom to 1 at the top.
    pub(super) fn position(self, seconds: f64) -> f64 {
        match self {
            WaitScale::Linear(most) => (seconds / most).clamp(0.0, 1.0),
            WaitScale::Log { low, high } => {
                let least = 10_f64.powi(low);
                if seconds < least {
                    return BELOW * (seconds / least).max(0.0);
                }
                let part = (seconds.log10() - f64::from(low)) / f64::from(high - low);
                (BELOW + (1.0 - BELOW) * part).min(1.0)
            }
        }
    }

    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        match self {
            WaitScale::Linear(most) => {
                ticks(most, 4).into_iter().map(|tick| (tick, named(tick))).collect()
            }
            WaitScale::Log { low, high } => {
                let powers = (low..=high).map(|power| 10_f64.powi(power));
                std::iter::once(0.0).chain(powers).map(|tick| (tick, named(tick))).collect()
            }
        }
    }
}

/// Without the decimals that a round number does not need.
fn named(seconds: f64) -> String {
    short(seconds).replace(".0 ", " ")
}

// === impl TimeScale ===

impl TimeScale {
    pub(super) fn new(seconds: f64) -> Self {
        let (unit, unit_seconds) = match seconds {
            s if s > 7200.0 => ("h", 3600.0),
            s if s > 600.0 => ("min", 60.0),
            s if s < 1.0 => ("ms", 1e-3),
            _ => ("s", 1.0),
        };
        TimeScale { seconds: seconds.max(f64::MIN_POSITIVE), unit, unit_seconds }
    }

    pub(super) fn position(self, seconds: f64) -> f64 {
        (seconds / self.seconds).clamp(0.0, 1.0)
    }

    /// About `n` at most.
    pub(super) fn ticks(self, n: u32) -> Vec<(f64, String)> {
        let ticks = ticks(self.seconds / self.unit_seconds, n);
        ticks.into_iter().map(|tick| (tick * self.unit_seconds, tick.to_string())).collect()
    }
}

/// Round numbers from 0 on, at most about `n` of them.
pub(super) fn ticks(most: f64, n: u32) -> Vec<f64> {
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
    fn waiting_times_are_drawn_as_logarithms_where_they_differ_widely() {
        let cases: [(&[f64], WaitScale); 6] = [
            (&[], WaitScale::Linear(1e-3)),
            (&[0.0, 0.0], WaitScale::Linear(1e-3)),
            (&[0.1, 0.2], WaitScale::Linear(0.2 * 1.05)),
            (&[0.0, 0.1, 0.2], WaitScale::Linear(0.2 * 1.05)),
            (&[0.002, 0.44], WaitScale::Log { low: -3, high: 0 }),
            (&[1e-7, 0.0002, 2000.0], WaitScale::Log { low: -2, high: 4 }),
        ];
        for (waits, expected) in cases {
            assert_eq!(WaitScale::new(waits.iter().copied()), expected, "{waits:?}");
        }
    }

    #[test]
    fn a_logarithmic_axis_has_a_place_for_no_wait_at_all() {
        let scale = WaitScale::Log { low: -3, high: 0 };
        let tenth = BELOW + (1.0 - BELOW) * 2.0 / 3.0;
        let cases = [
            (0.0, 0.0),
            (0.0005, BELOW / 2.0),
            (0.001, BELOW),
            (0.1, tenth),
            (1.0, 1.0),
            (9.0, 1.0),
        ];
        for (seconds, expected) in cases {
            let position = scale.position(seconds);
            assert!((position - expected).abs() < 1e-9, "{seconds}: {position}");
        }
        let names: Vec<String> = scale.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["0", "1 ms", "10 ms", "100 ms", "1 s"]);
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
