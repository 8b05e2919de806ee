//! What became of the requests of one caller or of many.

use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Of those that were served, in no order.
    times: Vec<Duration>,
    /// 429.
    pub(crate) rejected: usize,
    /// Other answers, of which there should be none.
    pub(crate) failed: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, started: Instant, code: u16, text: impl Fn() -> String) {
        match code {
            200..300 => self.times.push(started.elapsed()),
            429 => self.rejected += 1,
            _ => self.failed.push(format!("{code}: {}", text())),
        }
    }

    pub(crate) fn served(&self) -> usize {
        self.times.len()
    }

    /// Zero if none was served.
    pub(crate) fn quantile(&self, part: f64) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times.get((times.len() as f64 * part) as usize).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

impl FromIterator<Tally> for Tally {
    fn from_iter<T: IntoIterator<Item = Tally>>(tallies: T) -> Tally {
        let mut all = Tally::default();
        for Tally { times, rejected, failed } in tallies {
            all.times.extend(times);
            all.rejected += rejected;
            all.failed.extend(failed);
        }
        all
    }
}
