//! Memory and open files over the last run, and their extrapolation to hours.

use std::{
    fmt,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::cluster::Cluster;

const BETWEEN: Duration = Duration::from_millis(500);
/// A shorter run says nothing about growth: caches and the history fill up first.
const LEAST: Duration = Duration::from_secs(120);
/// Growth that counts as a leak. The history alone holds 32 MB once it is full.
const MOST_KB_A_MINUTE: f64 = 2048.0;
/// In total, whatever the duration.
const MOST_KB: f64 = 400.0 * 1024.0;

/// Resident memory in kB by seconds, and descriptors.
#[derive(Debug, Default)]
pub(super) struct Samples {
    memory: Vec<(f64, f64)>,
    descriptors: Vec<usize>,
}

pub(super) async fn sample(cluster: &Cluster, until: Instant) -> Samples {
    let begun = Instant::now();
    let mut samples = Samples::default();
    while Instant::now() < until {
        let resident = cluster.server.memory();
        samples.memory.push((begun.elapsed().as_secs_f64(), resident as f64));
        samples.descriptors.push(cluster.descriptors());
        sleep(BETWEEN).await;
    }
    samples
}

impl Samples {
    /// kB per minute over the second half, if that is long enough to tell.
    fn growth(&self) -> Option<f64> {
        let (end, _) = self.memory.last()?;
        let half: Vec<_> = self.memory.iter().filter(|(at, _)| *at > end / 2.0).copied().collect();
        (*end >= LEAST.as_secs_f64()).then(|| slope(&half) * 60.0)
    }

    fn most(&self) -> f64 {
        self.memory.iter().map(|(_, kb)| *kb).fold(0.0, f64::max)
    }

    pub(super) fn check(&self) {
        assert!(self.most() < MOST_KB, "{self}");
        if let Some(growth) = self.growth() {
            assert!(growth < MOST_KB_A_MINUTE, "memory grows: {self}");
        }
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.memory.last().map_or(0.0, |(_, kb)| *kb);
        write!(f, "memory {:.0} MB at most, {:.0} MB at the end", self.most() / 1e3, last / 1e3)?;
        match self.growth() {
            Some(growth) => write!(f, ", {growth:+.0} kB a minute")?,
            None => write!(f, ", too short for a slope")?,
        }
        let descriptors = self.descriptors.last().copied().unwrap_or_default();
        write!(f, "; {descriptors} open files at the end")
    }
}

/// The median of the slopes between points half the range apart (Theil and Sen): single peaks don't
/// matter.
fn slope(points: &[(f64, f64)]) -> f64 {
    let (first, second) = points.split_at(points.len() / 2);
    let mut slopes: Vec<f64> =
        first.iter().zip(second).map(|((t0, v0), (t1, v1))| (v1 - v0) / (t1 - t0)).collect();
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or_default()
}

#[test]
fn the_slope_is_that_of_the_line_whatever_the_peaks() {
    let line = |at: f64| (at, 1000.0 + 3.0 * at);
    let mut points: Vec<_> = (0..200).map(f64::from).map(line).collect();
    assert!((slope(&points) - 3.0).abs() < 1e-9);
    for at in [5, 50, 120, 170] {
        points[at].1 += 1e6;
    }
    assert!((slope(&points) - 3.0).abs() < 1e-9);
    assert_eq!(slope(&[]), 0.0);
}

#[test]
fn a_leak_is_found_and_a_plateau_is_none() {
    let of = |kb: fn(f64) -> f64| {
        let memory = (0..600).map(|at| (f64::from(at) / 2.0, kb(f64::from(at) / 2.0))).collect();
        Samples { memory, descriptors: Vec::new() }
    };
    let plateau = of(|at| 90e3 * (1.0 - (-at / 20.0).exp()));
    assert!(plateau.growth().unwrap() < MOST_KB_A_MINUTE);
    let leak = of(|at| 90e3 + at * 60.0);
    assert!(leak.growth().unwrap() > MOST_KB_A_MINUTE);
}
