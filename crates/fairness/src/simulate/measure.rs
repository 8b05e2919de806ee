//! Summary statistics.

use serde::Serialize;

use super::Random;

/// The maximum number of durations that are kept; of more, a sample is.
pub const MAX_SAMPLES: usize = 5_000_000;
/// The minimum that is kept for each flow and level.
const MIN_SAMPLES: usize = 10_000;

/// Durations, in seconds. Quantiles are of the nearest rank: values that did occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// Jain's index of fairness: (Σx)² / (n·Σx²), 1 when all are equal, 1/n when one has everything;
/// none of nothing. Source: Jain, Chiu and Hawe, 1984.
pub fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sum += value;
        squares += value * value;
    }
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

/// How long requests waited, and how long they took in all.
#[derive(Debug, Default)]
pub(super) struct Samples {
    kept: Vec<(u64, u64)>,
    seen: u64,
    wait: Extent,
    latency: Extent,
}

/// What is exact however many there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    sum: u128,
    max: u64,
}

impl Samples {
    /// `budget` is how many more may be kept of all. Once it is spent, those kept are a uniform
    /// sample: Vitter's algorithm R (1985).
    pub(super) fn add(&mut self, wait: u64, latency: u64, budget: &mut usize, random: &mut Random) {
        self.seen += 1;
        self.wait.add(wait);
        self.latency.add(latency);
        let is_whole = self.kept.len() as u64 + 1 == self.seen;
        if is_whole && (*budget > 0 || self.kept.len() < MIN_SAMPLES) {
            *budget = budget.saturating_sub(1);
            self.kept.push((wait, latency));
        } else {
            let place = random.below(self.seen) as usize;
            if let Some(kept) = self.kept.get_mut(place) {
                *kept = (wait, latency);
            }
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.kept.len() as u64 == self.seen
    }
}

impl Extent {
    fn add(&mut self, nanos: u64) {
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }
}

/// Waits and latencies of several sets together.
pub(super) fn summaries(sets: &[&Samples]) -> (Summary, Summary) {
    let seen = sets.iter().map(|samples| samples.seen).sum();
    let of = |pick: fn(&(u64, u64)) -> u64, extent: fn(&Samples) -> Extent| {
        let kept = sets.iter().flat_map(|samples| samples.kept.iter().map(pick)).collect();
        let total =
            sets.iter().map(|samples| extent(samples)).fold(Extent::default(), |all, one| Extent {
                sum: all.sum + one.sum,
                max: all.max.max(one.max),
            });
        summary(kept, seen, total)
    };
    (of(|(wait, _)| *wait, |s| s.wait), of(|(_, latency)| *latency, |s| s.latency))
}

fn summary(mut values: Vec<u64>, seen: u64, extent: Extent) -> Summary {
    if values.is_empty() {
        return Summary::default();
    }
    let mut quantile = |q: f64| quantile(&mut values, q).map_or(0.0, seconds);
    Summary {
        p50: quantile(0.5),
        p90: quantile(0.9),
        p99: quantile(0.99),
        mean: extent.sum as f64 / seen as f64 / 1e9,
        max: seconds(extent.max),
    }
}

/// The value of the nearest rank; none of nothing. The order of the values changes.
pub(super) fn quantile(values: &mut [u64], q: f64) -> Option<u64> {
    let rank = (q * values.len() as f64).ceil() as usize;
    let index = rank.clamp(1, values.len().max(1)) - 1;
    (index < values.len()).then(|| *values.select_nth_unstable(index).1)
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_nearest_rank() {
        let mut samples = Samples::default();
        let mut random = Random::new(1, 1);
        for value in (1..=200).rev() {
            samples.add(value, 2 * value, &mut 1000, &mut random);
        }
        let (wait, latency) = summaries(&[&samples]);
        let in_nanos = |x: f64| (x * 1e9).round() as u64;
        assert_eq!([wait.p50, wait.p90, wait.p99, wait.max].map(in_nanos), [100, 180, 198, 200]);
        assert_eq!(in_nanos(latency.p99), 396);
        assert!((wait.mean * 1e9 - 100.5).abs() < 1e-9);
    }

    #[test]
    fn beyond_the_budget_a_sample_is_kept() {
        let mut samples = Samples::default();
        let mut random = Random::new(1, 1);
        let mut budget = 0;
        for value in 0..100_000 {
            samples.add(value, value, &mut budget, &mut random);
        }
        assert_eq!(samples.kept.len(), MIN_SAMPLES);
        assert!(!samples.is_whole());
        let (wait, _) = summaries(&[&samples]);
        assert!((wait.p50 * 1e9 / 50_000.0 - 1.0).abs() < 0.05, "{wait:?}");
        assert!((wait.max * 1e9 - 99_999.0).abs() < 1e-6);
    }

    #[test]
    fn jains_index_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert_eq!(jain([3.0; 5].into_iter()), Some(1.0));
        assert_eq!(jain([4.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0; 2].into_iter()), None);
        assert_eq!(jain([].into_iter()), None);
    }
}
