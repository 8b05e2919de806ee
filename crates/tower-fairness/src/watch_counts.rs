//! How many watches were notified of changes, as reported by the server's estimator.

use std::sync::Arc;

use evenkeel_fairness::queues::stats::Histogram;
use parking_lot::Mutex;

const BOUNDS: &[u64] = &[0, 1, 10, 100, 1000, 10_000];

/// What was observed for the requests of one schema.
#[derive(Clone, Debug)]
pub(crate) struct WatchCount {
    pub(crate) level: Arc<str>,
    pub(crate) schema: Arc<str>,
    pub(crate) counts: Histogram,
}

/// Few servers report this, so one lock is enough.
#[derive(Debug, Default)]
pub(crate) struct WatchCounts(Mutex<Vec<WatchCount>>);

impl WatchCounts {
    pub(crate) fn observe(&self, level: &Arc<str>, schema: &Arc<str>, watches: u32) {
        let mut all = self.0.lock();
        let known = all.iter().position(|one| one.level == *level && one.schema == *schema);
        let at = known.unwrap_or_else(|| {
            let counts = Histogram::new(BOUNDS);
            all.push(WatchCount { level: level.clone(), schema: schema.clone(), counts });
            all.len() - 1
        });
        all[at].counts.observe(watches.into());
    }

    pub(crate) fn copy(&self) -> Vec<WatchCount> {
        self.0.lock().clone()
    }
}
