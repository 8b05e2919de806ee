//! How long changes take: received → computed → sent → acknowledged, for the last few hundred.
//!
//! Each stage keeps a histogram with eight buckets for each doubling, so that a quantile is off by less than a
//! tenth, and a change costs the same memory for one proxy as for ten thousand. No clock: times are given.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;

/// Changes that are kept.
pub(crate) const KEPT: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Propagation {
    next: u64,
    /// In the order of their numbers, without gaps.
    changes: VecDeque<Change>,
}

#[derive(Debug)]
struct Change {
    id: u64,
    what: Box<str>,
    received: Duration,
    computed: Duration,
    /// Streams that were told.
    streams: u32,
    sent: Times,
    acked: Times,
    nacked: u32,
    /// Streams that have nothing to be sent for it, or ended first.
    dropped: u32,
}

/// Durations in logarithmic buckets.
#[derive(Debug, Default)]
struct Times {
    buckets: Vec<u32>,
    n: u32,
    longest: Duration,
}

/// How a change ended on one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Acked,
    Nacked,
    /// There was nothing to send, or the stream ended.
    Dropped,
}

/// A change, for the operator. Times are milliseconds since it was received.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeReport {
    pub(crate) id: u64,
    pub(crate) what: String,
    pub(crate) age_seconds: f64,
    pub(crate) computed: f64,
    pub(crate) streams: u32,
    pub(crate) sent: StageReport,
    pub(crate) acknowledged: StageReport,
    pub(crate) rejected: u32,
    pub(crate) not_concerned: u32,
    /// Streams that have not answered.
    pub(crate) behind: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct StageReport {
    pub(crate) streams: u32,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) longest: f64,
}

// === impl Propagation ===

impl Propagation {
    /// The number of the change that comes next.
    pub(crate) fn begin(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// What the change was, and how many streams are told. Streams may report only after that.
    pub(crate) fn computed(
        &mut self,
        id: u64,
        what: &str,
        (received, computed): (Duration, Duration),
        streams: usize,
    ) {
        if self.changes.len() == KEPT {
            self.changes.pop_front();
        }
        self.changes.push_back(Change {
            id,
            what: what.into(),
            received,
            computed,
            streams: u32::try_from(streams).unwrap_or(u32::MAX),
            sent: Times::default(),
            acked: Times::default(),
            nacked: 0,
            dropped: 0,
        });
    }

    pub(crate) fn sent(&mut self, id: u64, now: Duration) {
        if let Some(change) = self.change(id) {
            let took = now.saturating_sub(change.received);
            change.sent.add(took);
        }
    }

    /// The change has ended on one stream. Returns how long it took until it was acknowledged.
    pub(crate) fn ended(&mut self, id: u64, now: Duration, end: End) -> Option<Duration> {
        let change = self.change(id)?;
        let took = now.saturating_sub(change.received);
        match end {
            End::Acked => {
                change.acked.add(took);
                return Some(took);
            }
            End::Nacked => change.nacked += 1,
            End::Dropped => change.dropped += 1,
        }
        None
    }

    /// The newest first.
    pub(crate) fn report(&self, now: Duration) -> Vec<ChangeReport> {
        self.changes.iter().rev().map(|change| change.report(now)).collect()
    }

    fn change(&mut self, id: u64) -> Option<&mut Change> {
        let found = self.changes.binary_search_by_key(&id, |change| change.id).ok()?;
        self.changes.get_mut(found)
    }
}

// === impl Change ===

impl Change {
    fn report(&self, now: Duration) -> ChangeReport {
        let ended = self.acked.n + self.nacked + self.dropped;
        ChangeReport {
            id: self.id,
            what: self.what.to_string(),
            age_seconds: now.saturating_sub(self.received).as_secs_f64(),
            computed: millis(self.computed.saturating_sub(self.received)),
            streams: self.streams,
            sent: self.sent.report(),
            acknowledged: self.acked.report(),
            rejected: self.nacked,
            not_concerned: self.dropped,
            behind: self.streams.saturating_sub(ended),
        }
    }
}

// === impl Times ===

impl Times {
    fn add(&mut self, took: Duration) {
        let bucket = bucket(took);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.n += 1;
        self.longest = self.longest.max(took);
    }

    /// The end of the bucket in which that part of all is reached.
    fn quantile(&self, percent: u64) -> Duration {
        let rank = (u64::from(self.n) * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let reached = self.buckets.iter().position(|n| {
            seen += u64::from(*n);
            seen >= rank
        });
        reached.map_or(Duration::ZERO, |bucket| bucket_end(bucket).min(self.longest))
    }

    fn report(&self) -> StageReport {
        StageReport {
            streams: self.n,
            p50: millis(self.quantile(50)),
            p99: millis(self.quantile(99)),
            longest: millis(self.longest),
        }
    }
}

/// Microseconds below 8 have a bucket each; above, each doubling has eight.
fn bucket(took: Duration) -> usize {
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    let Some(exponent) = micros.checked_ilog2().filter(|exponent| *exponent >= 3) else {
        return micros as usize;
    };
    let eighth = (micros >> (exponent - 3)) & 7;
    8 * (exponent as usize - 2) + eighth as usize
}

fn bucket_end(bucket: usize) -> Duration {
    if bucket < 8 {
        return Duration::from_micros(bucket as u64);
    }
    let (exponent, eighth) = (bucket / 8 + 2, (bucket % 8) as u64);
    Duration::from_micros(((8 + eighth + 1) << (exponent - 3)) - 1)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_within_its_bucket_and_buckets_are_fine() {
        let mut last = 0;
        for micros in (0..4096).chain((12..40).map(|n| (1_u64 << n) + 12_345)) {
            let took = Duration::from_micros(micros);
            let at = bucket(took);
            assert!(at >= last, "{micros}");
            assert!(bucket_end(at) >= took, "{micros}");
            assert!(bucket_end(at).as_micros() as f64 <= 1.13 * micros as f64, "{micros}");
            last = at;
        }
    }

    #[test]
    fn quantiles_and_who_is_behind_are_reported() {
        let mut propagation = Propagation::default();
        let id = propagation.begin();
        let ms = Duration::from_millis;
        propagation.computed(id, "one", (ms(1000), ms(1002)), 103);
        for n in 1..=100 {
            propagation.sent(id, ms(1002));
            propagation.ended(id, ms(1000 + n), End::Acked);
        }
        propagation.ended(id, ms(1500), End::Nacked);
        propagation.ended(id, ms(1500), End::Dropped);
        let report = &propagation.report(ms(2000))[0];
        assert_eq!((report.behind, report.rejected, report.not_concerned), (1, 1, 1));
        assert!((50.0..57.0).contains(&report.acknowledged.p50), "{report:?}");
        assert!((99.0..100.1).contains(&report.acknowledged.p99), "{report:?}");
        assert!((report.computed - 2.0).abs() < 0.01 && report.sent.streams == 100);
    }

    #[test]
    fn only_the_last_changes_are_kept() {
        let mut propagation = Propagation::default();
        for _ in 0..2 * KEPT {
            let id = propagation.begin();
            propagation.computed(id, "", (Duration::ZERO, Duration::ZERO), 1);
        }
        assert_eq!(propagation.report(Duration::ZERO).len(), KEPT);
        assert_eq!(propagation.ended(1, Duration::ZERO, End::Acked), None);
        let newest = 2 * KEPT as u64;
        assert_eq!(propagation.ended(newest, Duration::ZERO, End::Acked), Some(Duration::ZERO));
    }
}
