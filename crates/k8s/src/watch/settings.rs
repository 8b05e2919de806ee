//! Time limits of watches.

use std::time::Duration;

/// How soon a watch that nothing comes through is noticed.
///
/// A watch that works may be silent for as long as nothing changes. So the API server is asked to
/// end each one after a short while, and one that has not ended by then is dead, whatever the
/// kernel says of its connection. A request for each kind in some 17 s is no load, and each goes on
/// where the last one was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchSettings {
    /// After how many seconds the API server is asked to end a watch; up to a third more, by
    /// chance, so that watches do not end together.
    pub timeout_seconds: u32,
    /// How much later than asked for a watch may end.
    pub grace: Duration,
    /// How long a watch may take to begin.
    pub open: Duration,
    /// How long a page of a list may take.
    pub list: Duration,
}

impl WatchSettings {
    /// `chance` is random, from 0 to 1.
    pub(super) fn timeout_seconds(&self, chance: f64) -> u32 {
        let spread = f64::from(self.timeout_seconds) / 3.0;
        // Not negative, and small.
        self.timeout_seconds + (spread * chance.clamp(0.0, 1.0)) as u32
    }

    /// How long a watch may give no sign of life at most.
    pub fn longest_silence(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds(1.0).into()) + self.grace
    }

    /// A watch without a sign of life for longer is stuck, if not by its connection.
    pub fn stale_after(&self) -> Duration {
        self.longest_silence().max(self.list) + self.grace
    }
}

impl Default for WatchSettings {
    fn default() -> WatchSettings {
        WatchSettings {
            timeout_seconds: 15,
            grace: Duration::from_secs(5),
            open: Duration::from_secs(10),
            list: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::Timeouts;

    #[test]
    fn by_default_a_dead_watch_is_noticed_and_replaced_well_under_a_minute() {
        let settings = WatchSettings::default();
        assert_eq!(settings.longest_silence(), Duration::from_secs(25));
        let replaced = settings.longest_silence() + settings.open;
        assert!(replaced <= Duration::from_secs(40), "{replaced:?}");
        assert!(settings.stale_after() <= Duration::from_secs(40));
        let read = Timeouts::default().read;
        assert!(read > settings.longest_silence(), "or watches that are well would be cut off");
    }

    #[test]
    fn watches_do_not_end_together() {
        let settings = WatchSettings::default();
        let drawn = [0.0, 0.5, 1.0].map(|chance| settings.timeout_seconds(chance));
        assert_eq!(drawn, [15, 17, 20]);
        let short = WatchSettings { timeout_seconds: 1, ..settings };
        assert_eq!(short.timeout_seconds(1.0), 1);
    }
}
