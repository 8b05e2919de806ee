//! Counters of a short time ago: what came since is a rate.

use std::{collections::VecDeque, sync::Arc};

use jiff::Timestamp;

use super::metrics::{Counts, Metrics};

/// Rates are over about this many seconds.
const WINDOW: f64 = 10.0;
/// Counters closer to each other than this are not kept.
const STEP: f64 = 1.0;

/// The counters of the last seconds, oldest first. It has at most `WINDOW` / `STEP` entries, and two.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<(Timestamp, Arc<Metrics>)>);

/// What counters were, and how long ago.
#[derive(Clone, Debug)]
pub struct Since {
    pub seconds: f64,
    before: Arc<Metrics>,
}

// === impl History ===

impl History {
    /// Adds the counters of `now`. Gives those that they are to be compared with, if there are any.
    pub fn push(&mut self, now: Timestamp, metrics: &Arc<Metrics>) -> Option<Since> {
        let age = |at: Timestamp| (now - at).total(jiff::Unit::Second).unwrap_or(f64::MAX);
        // After a time when nobody looked, or a step of the clock, there is nothing to compare with.
        let last = self.0.back().map(|(at, _)| age(*at));
        if last.is_some_and(|age| !(0.0..=WINDOW).contains(&age)) {
            self.0.clear();
        }
        while self.0.get(1).is_some_and(|(at, _)| age(*at) >= WINDOW) {
            self.0.pop_front();
        }
        let since = self
            .0
            .front()
            .map(|(at, before)| Since { seconds: age(*at), before: Arc::clone(before) });
        if self.0.back().is_none_or(|(at, _)| age(*at) >= STEP) {
            self.0.push_back((now, Arc::clone(metrics)));
        }
        since.filter(|since| since.seconds >= STEP)
    }
}

// === impl Since ===

impl Since {
    /// By how much a counter has grown. A server begins a series with its first count. `None`: it fell, as
    /// when the server starts anew, or it may have been beyond the bounds.
    pub(super) fn growth(
        &self,
        key: &(String, String),
        now: &Counts,
        of: impl Fn(&Counts) -> Option<f64>,
    ) -> Option<f64> {
        let before = self.before.schemas.get(key).and_then(&of);
        let before = before.or((self.before.unread == 0).then_some(0.0))?;
        Some(of(now)? - before).filter(|growth| *growth >= 0.0)
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    #[test]
    fn rates_are_over_the_window_and_not_over_a_time_when_nobody_looked() {
        let mut history = History::default();
        let metrics = Arc::new(Metrics::default());
        let start: Timestamp = "2026-11-19T21:00:00Z".parse().unwrap();
        let mut seconds = Vec::new();
        for half in 0..60_i64 {
            let now = start + (half * 500).milliseconds();
            seconds.push(history.push(now, &metrics).map(|since| since.seconds));
            assert!(history.0.len() <= 12);
        }
        assert_eq!(seconds[..4], [None, None, Some(1.0), Some(1.5)]);
        let late = seconds[40].unwrap();
        assert!((WINDOW..=WINDOW + STEP).contains(&late), "{late}");
        assert!(history.push(start + 2.hours(), &metrics).is_none());
        assert!(history.push(start, &metrics).is_none(), "the clock went back");
    }

    #[test]
    fn a_counter_that_fell_has_no_rate_and_a_new_one_began_at_zero() {
        let key = ("low".to_owned(), "a".to_owned());
        let counts = |n| Counts { dispatched: Some(n), ..Counts::default() };
        let schemas = [(key.clone(), counts(5.0))].into();
        let mut before = Metrics { schemas, ..Metrics::default() };
        let growth = |before: &Metrics, key, n| {
            let since = Since { seconds: 1.0, before: Arc::new(before.clone()) };
            since.growth(key, &counts(n), |counts| counts.dispatched)
        };
        assert_eq!(growth(&before, &key, 9.0), Some(4.0));
        assert_eq!(growth(&before, &key, 4.0), None);
        let new = ("low".to_owned(), "b".to_owned());
        assert_eq!(growth(&before, &new, 4.0), Some(4.0));
        before.unread = 1;
        assert_eq!(growth(&before, &new, 4.0), None);
    }
}
