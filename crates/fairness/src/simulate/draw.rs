//! Random durations.

use std::time::Duration;

use super::Random;

/// How a duration is distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    Constant(Duration),
    Exponential {
        mean: Duration,
    },
    Uniform {
        min: Duration,
        max: Duration,
    },
    /// The logarithm is normal, with deviation `sigma` around that of the median.
    LogNormal {
        median: Duration,
        sigma: f64,
    },
    /// Never less than `min`; the less the shape, the heavier the tail.
    Pareto {
        min: Duration,
        shape: f64,
    },
}

/// The longest duration: heavy tails are cut here.
const LONGEST: f64 = 86_400.0;

impl Draw {
    pub fn draw(&self, random: &mut Random) -> Duration {
        let seconds = match *self {
            Draw::Constant(duration) => return duration,
            Draw::Exponential { mean } => mean.as_secs_f64() * random.exponential(),
            Draw::Uniform { min, max } => {
                let (min, max) = (min.as_secs_f64(), max.as_secs_f64());
                min + (max - min) * random.unit()
            }
            Draw::LogNormal { median, sigma } => {
                median.as_secs_f64() * (sigma * random.normal()).exp()
            }
            Draw::Pareto { min, shape } => min.as_secs_f64() * random.unit().powf(-1.0 / shape),
        };
        // What is not a number counts as the longest.
        let seconds = if seconds < LONGEST { seconds.max(0.0) } else { LONGEST };
        Duration::from_nanos((seconds * 1e9).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn means_match_the_distribution() {
        let cases = [
            (Draw::Constant(SECOND), 1.0),
            (Draw::Exponential { mean: SECOND }, 1.0),
            (Draw::Uniform { min: SECOND, max: 3 * SECOND }, 2.0),
            (Draw::LogNormal { median: SECOND, sigma: 0.5 }, 0.125_f64.exp()),
            (Draw::Pareto { min: SECOND, shape: 3.0 }, 1.5),
        ];
        for (draw, expected) in cases {
            let mut random = Random::new(1, 2);
            let n = 200_000;
            let sum: f64 = (0..n).map(|_| draw.draw(&mut random).as_secs_f64()).sum();
            let mean = sum / f64::from(n);
            assert!((mean / expected - 1.0).abs() < 0.02, "{draw:?}: {mean}");
        }
    }

    #[test]
    fn nothing_takes_longer_than_a_day() {
        let mut random = Random::new(1, 2);
        for shape in [1e-9, f64::NAN, 0.0] {
            let draw = Draw::Pareto { min: SECOND, shape };
            for _ in 0..100 {
                assert!(draw.draw(&mut random) <= Duration::from_secs(86_400), "{draw:?}");
            }
        }
    }
}
