//! The axis of waiting times: which values are where, and which are named.

use crate::{fairness::units::short, svg::scale::ticks};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
