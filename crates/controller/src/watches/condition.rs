//! How the watches are, for readiness and for a log that is not flooded.
//!
//! A watch that works may be silent for long, so silence is no sign. One that fails tries again
//! after at most a minute (the watcher's pause is 30 s and as much again by chance), and so fails
//! again before [`FAILING`] has passed: who has not failed for so long is well.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Resource;

const FAILING: Duration = Duration::from_secs(90);

/// Of one watch, at most one line in this time.
const QUIET: Duration = Duration::from_secs(60);

/// Of all four.
#[derive(Debug, Default)]
pub(crate) struct Conditions([Mutex<Condition>; 4]);

#[derive(Debug, Default)]
struct Condition {
    /// The last failure that nothing good came after.
    failure: Option<(Instant, String)>,
    logged: Option<Instant>,
}

// === impl Conditions ===

impl Conditions {
    pub(crate) fn answered(&self, resource: Resource) {
        self.of(resource).lock().failure = None;
    }

    /// Whether it is to be logged.
    pub(crate) fn failed(&self, resource: Resource, now: Instant, problem: String) -> bool {
        let mut condition = self.of(resource).lock();
        condition.failure = Some((now, problem));
        let is_due = condition.logged.is_none_or(|logged| now - logged >= QUIET);
        if is_due {
            condition.logged = Some(now);
        }
        is_due
    }

    /// What is wrong with a watch, if anything.
    pub(crate) fn problem(&self, resource: Resource, now: Instant) -> Option<String> {
        let condition = self.of(resource).lock();
        let (at, problem) = condition.failure.as_ref()?;
        (now.saturating_duration_since(*at) < FAILING)
            .then(|| format!("watch {}: {problem}", resource.name()))
    }

    fn of(&self, resource: Resource) -> &Mutex<Condition> {
        &self.0[resource as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_until_something_came_or_none_followed_and_logged_once_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let conditions = Conditions::default();
        let fail = |seconds| conditions.failed(Resource::Pods, at(seconds), "gone".to_owned());
        let problem = |seconds| conditions.problem(Resource::Pods, at(seconds));
        assert_eq!(problem(0), None);
        assert!(fail(0), "the first is logged");
        assert!(!fail(59));
        assert_eq!(problem(60).as_deref(), Some("watch pods: gone"));
        assert!(fail(60), "a minute later it is logged again");
        assert_eq!(problem(149).as_deref(), Some("watch pods: gone"));
        assert_eq!(problem(150), None, "it would have failed again by now");
        assert!(fail(200));
        conditions.answered(Resource::Services);
        assert!(problem(201).is_some());
        conditions.answered(Resource::Pods);
        assert_eq!(problem(201), None);
        assert!(!fail(202), "what was well in between does not flood the log");
    }
}
