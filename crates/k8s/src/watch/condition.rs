//! How the watches are, for readiness and for a log that is not flooded.
//!
//! A watch fails from its first failure until the API server has answered the request for a new
//! one, also if nothing changes then. One that neither fails nor gives a sign of life is stale: the
//! answers to its requests, events, bookmarks and its end in order are such signs, and a watch that
//! works gives one before its time is up.

use std::{collections::HashMap, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxBuildHasher;
use tokio::time::Instant;

use super::{Resource, Selectors, WatchSettings, absence};

/// Of one watch, at most one line in this time.
const QUIET: Duration = Duration::from_secs(60);

/// Of all watches of a component.
#[derive(Debug)]
pub struct Conditions {
    stale_after: Duration,
    /// Of each resource that is followed.
    of: HashMap<Resource, Mutex<Condition>, FxBuildHasher>,
}

#[derive(Debug)]
struct Condition {
    /// The last sign of life; at first, the start.
    seen: Instant,
    failing: Option<Failing>,
    /// The API server has no such kind, which is how it should be.
    is_absent: bool,
    logged: Option<Instant>,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    /// Of the last failure.
    error: String,
}

// === impl Conditions ===

impl Conditions {
    pub fn new(selectors: &Selectors, settings: &WatchSettings, now: Instant) -> Conditions {
        let new =
            || Mutex::new(Condition { seen: now, failing: None, is_absent: false, logged: None });
        let of = selectors.resources().map(|resource| (resource, new())).collect();
        Conditions { stale_after: settings.stale_after(), of }
    }

    pub fn alive(&self, resource: Resource, now: Instant) {
        if let Some(mut condition) = self.of(resource) {
            condition.seen = now;
            condition.is_absent = false;
        }
    }

    /// The API server has no such kind: there is nothing to be followed, and nothing wrong.
    pub fn absent(&self, resource: Resource, now: Instant) {
        if let Some(mut condition) = self.of(resource) {
            condition.seen = now;
            condition.failing = None;
            condition.is_absent = true;
        }
    }

    /// The API server has taken a watch; for how long there was none.
    pub fn established(&self, resource: Resource, now: Instant) -> Option<Duration> {
        let mut condition = self.of(resource)?;
        condition.seen = now;
        condition.is_absent = false;
        condition.failing.take().map(|failing| now - failing.since)
    }

    /// Whether it is to be logged.
    pub fn failed(&self, resource: Resource, now: Instant, error: String) -> bool {
        let Some(mut condition) = self.of(resource) else { return false };
        let since = condition.failing.as_ref().map_or(now, |failing| failing.since);
        condition.failing = Some(Failing { since, error });
        let is_due = condition.logged.is_none_or(|logged| now - logged >= QUIET);
        if is_due {
            condition.logged = Some(now);
        }
        is_due
    }

    /// What is wrong with a watch, if anything. Nothing is with one that there is not.
    pub fn problem(&self, resource: Resource, now: Instant) -> Option<String> {
        let condition = self.of(resource)?;
        let name = resource.name();
        if let Some(Failing { since, error }) = &condition.failing {
            let seconds = now.saturating_duration_since(*since).as_secs();
            return Some(format!("watch of {name} has been down for {seconds} s: {error}"));
        }
        let silent = now.saturating_duration_since(condition.seen);
        // It is asked for again after a pause, which is no sign of life either.
        let pause = if condition.is_absent { absence::LONGEST_PAUSE } else { Duration::ZERO };
        (silent > self.stale_after + pause).then(|| {
            format!("watch of {name} is stale: nothing received for {} s", silent.as_secs())
        })
    }

    fn of(&self, resource: Resource) -> Option<MutexGuard<'_, Condition>> {
        self.of.get(&resource).map(Mutex::lock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{watch::Selector, watched::MeshKind};

    fn selectors() -> Selectors {
        let all = Some(Selector::all());
        let (nodes, pods, services) = (all.clone(), all.clone(), all);
        Selectors { nodes, pods, services, ..Selectors::default() }
    }

    #[test]
    fn a_watch_fails_until_there_is_another_one_and_is_logged_once_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let conditions = Conditions::new(&selectors(), &WatchSettings::default(), start);
        let fail = |seconds| conditions.failed(Resource::Pods, at(seconds), "gone".to_owned());
        let problem = |seconds| conditions.problem(Resource::Pods, at(seconds));
        assert_eq!(problem(0), None);
        assert!(fail(0), "the first is logged");
        assert!(!fail(59));
        assert_eq!(problem(59).as_deref(), Some("watch of pods has been down for 59 s: gone"));
        assert!(fail(60), "a minute later it is logged again");
        conditions.alive(Resource::Pods, at(61));
        assert!(problem(62).is_some(), "a list has come, and no watch yet");
        assert_eq!(conditions.established(Resource::Services, at(62)), None);
        assert!(problem(62).is_some());
        let failed_for = conditions.established(Resource::Pods, at(63));
        assert_eq!(failed_for, Some(Duration::from_secs(63)));
        assert_eq!(problem(63), None, "nothing has changed, and all is well");
        assert!(!fail(64), "what was well in between does not flood the log");
        assert_eq!(problem(66).as_deref(), Some("watch of pods has been down for 2 s: gone"));
    }

    #[test]
    fn a_kind_that_the_server_does_not_have_is_no_problem() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let kind = Resource::Mesh(MeshKind::MeshService);
        let selectors = Selectors { mesh: [MeshKind::MeshService].into(), ..selectors() };
        let conditions = Conditions::new(&selectors, &WatchSettings::default(), start);
        let problem = |seconds| conditions.problem(kind, at(seconds));
        assert!(conditions.failed(kind, at(0), "away".to_owned()));
        assert!(problem(0).is_some());
        conditions.absent(kind, at(1));
        assert_eq!(problem(46), None, "it is asked for again after a pause");
        let stale = "watch of meshservices is stale: nothing received for 46 s";
        assert_eq!(problem(47).as_deref(), Some(stale));
        conditions.alive(kind, at(50));
        assert_eq!((problem(85), problem(86).is_some()), (None, true), "it was installed");
        let other = Resource::Mesh(MeshKind::Mesh);
        assert_eq!(conditions.problem(other, at(100)), None, "it is not followed");
    }

    #[test]
    fn a_watch_without_a_sign_of_life_is_stale() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let conditions = Conditions::new(&selectors(), &WatchSettings::default(), start);
        let problem = |resource, seconds| conditions.problem(resource, at(seconds));
        assert_eq!(problem(Resource::Nodes, 35), None);
        let stale = "watch of nodes is stale: nothing received for 36 s";
        assert_eq!(problem(Resource::Nodes, 36).as_deref(), Some(stale));
        conditions.alive(Resource::Nodes, at(20));
        assert_eq!(problem(Resource::Nodes, 36), None);
        assert!(problem(Resource::Pods, 36).is_some());
        assert_eq!(problem(Resource::EndpointSlices, 36), None, "it is not followed");
    }
}
