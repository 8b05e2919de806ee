//! One endpoint after the other is replaced: how long until the kernel has it.

use std::{
    ops::Range,
    thread,
    time::{Duration, Instant},
};

use crate::{
    cluster::replace_endpoint,
    kernel::Commits,
    load::{
        Failure,
        server::{Server, runtime},
    },
    process::Proxy,
};

const PATIENCE: Duration = Duration::from_secs(10);
/// What follows a commit, such as notifications, is not to delay the next change.
const PAUSE: Duration = Duration::from_millis(4);
const METRIC: &str = "evenkeel_proxy_change_duration_seconds";

pub(crate) struct Changes {
    /// From the request to the API server until the kernel's notification, in milliseconds.
    pub(crate) end_to_end: Percentiles,
    /// From the arrival of the event at the proxy until the commit has returned, as it counts itself.
    pub(crate) inside: Option<Percentiles>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Percentiles {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// Each round has an endpoint of its own.
pub(crate) fn run(
    server: &Server,
    proxy: &Proxy,
    (services, endpoints): (usize, usize),
    rounds: Range<usize>,
) -> Result<Changes, Failure> {
    let before = proxy.buckets(METRIC)?;
    let commits = Commits::watch()?;
    let mut delays = runtime().block_on(async {
        let mut connection = server.connect().await?;
        let mut delays = Vec::with_capacity(rounds.len());
        for round in rounds {
            thread::sleep(PAUSE);
            commits.forget();
            let begun = Instant::now();
            let service = round * 7_919 % services;
            replace_endpoint(&mut connection, service, endpoints, round).await?;
            delays.push((commits.next(PATIENCE)? - begun).as_secs_f64() * 1e3);
        }
        Ok::<_, Failure>(delays)
    })?;
    drop(commits);
    let after = proxy.buckets(METRIC)?;
    Ok(Changes { end_to_end: Percentiles::of(&mut delays), inside: between(&before, &after) })
}

impl Percentiles {
    fn of(values: &mut [f64]) -> Percentiles {
        values.sort_by(f64::total_cmp);
        Percentiles { p50: values[values.len() / 2], p99: values[values.len() * 99 / 100] }
    }
}

/// Of what a histogram has counted meanwhile, in milliseconds; `None` if there is no such histogram.
fn between(before: &[(f64, u64)], after: &[(f64, u64)]) -> Option<Percentiles> {
    let known = |bound: f64| before.iter().find(|(b, _)| *b == bound).map_or(0, |(_, n)| *n);
    let counts: Vec<(f64, u64)> =
        after.iter().map(|(bound, n)| (*bound, n - known(*bound))).collect();
    let (_, all) = *counts.last()?;
    Some(Percentiles { p50: percentile(&counts, all, 0.5), p99: percentile(&counts, all, 0.99) })
}

/// Within a bucket, values are taken to be spread evenly.
fn percentile(counts: &[(f64, u64)], all: u64, part: f64) -> f64 {
    let wanted = all as f64 * part;
    let (mut from, mut below) = (0.0, 0.0);
    for (bound, count) in counts {
        let count = *count as f64;
        if count >= wanted {
            let within = (wanted - below) / (count - below).max(1.0);
            return (from + (bound - from) * within) * 1e3;
        }
        (from, below) = (*bound, count);
    }
    f64::INFINITY
}
