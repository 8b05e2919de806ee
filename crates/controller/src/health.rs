//! What `/livez` and `/readyz` look at.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use evenkeel_admin::{
    health::{CheckScope, Health},
    supervisor::Supervisor,
};
use evenkeel_k8s::watch::{Conditions, Resource, Selectors, WatchSettings};
use tokio::time::Instant;

#[cfg(test)]
use crate::watches;

/// The task that owns the engine is taken for dead after this time without a sign.
const PATIENCE: Duration = Duration::from_secs(30);

/// How it goes, as its tasks tell.
#[derive(Debug)]
pub(crate) struct Vitals {
    pub(crate) watches: Arc<Conditions>,
    start: Instant,
    /// The last sign of life, in milliseconds since `start`.
    beat: AtomicU64,
    synced: AtomicBool,
    stopping: AtomicBool,
}

/// The checks, by their names under `/readyz/`.
pub(crate) fn health(vitals: &Arc<Vitals>, supervisor: &Supervisor) -> Health {
    let of = |check: fn(&Vitals) -> Result<(), String>| {
        let vitals = Arc::clone(vitals);
        move || check(&vitals)
    };
    let watch = |resource| {
        let vitals = Arc::clone(vitals);
        move || vitals.watches.problem(resource, Instant::now()).map_or(Ok(()), Err)
    };
    Health::new()
        .with("engine", CheckScope::Everywhere, of(|vitals| vitals.is_alive(Instant::now())))
        .with("synced", CheckScope::Readiness, of(Vitals::is_synced))
        .with("watch-nodes", CheckScope::Readiness, watch(Resource::Nodes))
        .with("watch-pods", CheckScope::Readiness, watch(Resource::Pods))
        .with("watch-services", CheckScope::Readiness, watch(Resource::Services))
        .with("watch-endpointslices", CheckScope::Readiness, watch(Resource::EndpointSlices))
        .with("watch-leases", CheckScope::Readiness, watch(Resource::Leases))
        .with_tasks(supervisor)
        .with("shutdown", CheckScope::Readiness, of(Vitals::is_staying))
}

// === impl Vitals ===

impl Vitals {
    #[cfg(test)]
    pub(crate) fn new(start: Instant) -> Vitals {
        Vitals::watching(start, &watches::selectors(None), &WatchSettings::default())
    }

    pub(crate) fn watching(
        start: Instant,
        selectors: &Selectors,
        settings: &WatchSettings,
    ) -> Vitals {
        let watches = Conditions::new(selectors, settings, start);
        Vitals {
            watches: Arc::new(watches),
            start,
            beat: AtomicU64::new(0),
            synced: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }
    }

    /// A sign of life of the task that owns the engine.
    pub(crate) fn beat(&self, now: Instant) {
        let since = (now - self.start).as_millis();
        self.beat.store(u64::try_from(since).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn synced(&self) {
        self.synced.store(true, Ordering::Relaxed);
    }

    pub(crate) fn stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn is_alive(&self, now: Instant) -> Result<(), String> {
        let beat = Duration::from_millis(self.beat.load(Ordering::Relaxed));
        let silent = (now - self.start).saturating_sub(beat);
        if silent < PATIENCE {
            return Ok(());
        }
        Err(format!("engine has not responded for {} s", silent.as_secs()))
    }

    fn is_synced(&self) -> Result<(), String> {
        let is_synced = self.synced.load(Ordering::Relaxed);
        is_synced.then_some(()).ok_or_else(|| "caches not synced".to_owned())
    }

    fn is_staying(&self) -> Result<(), String> {
        let is_stopping = self.stopping.load(Ordering::Relaxed);
        (!is_stopping).then_some(()).ok_or_else(|| "process is shutting down".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_without_a_sign_of_life_is_dead_after_half_a_minute() {
        let start = Instant::now();
        let vitals = Vitals::new(start);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(vitals.is_alive(at(29)), Ok(()));
        assert_eq!(vitals.is_alive(at(31)), Err("engine has not responded for 31 s".to_owned()));
        vitals.beat(at(20));
        assert_eq!(vitals.is_alive(at(31)), Ok(()));
        assert!(vitals.is_alive(at(50)).is_err());
    }

    #[test]
    fn it_is_ready_once_synced_while_all_watches_are_well_and_until_it_stops() {
        let vitals = Arc::new(Vitals::new(Instant::now()));
        let health = health(&vitals, &Supervisor::new(Default::default(), |_, _| {}));
        let code = |path| health.answer(path, None).unwrap().status().as_u16();
        assert_eq!((code("/livez/engine"), code("/readyz/synced")), (200, 500));
        vitals.synced();
        assert_eq!((code("/readyz/synced"), code("/readyz/watch-pods")), (200, 200));
        vitals.watches.failed(Resource::Pods, Instant::now(), "refused".to_owned());
        assert_eq!((code("/readyz/watch-pods"), code("/readyz/watch-nodes")), (500, 200));
        vitals.watches.established(Resource::Pods, Instant::now());
        assert_eq!(code("/readyz/watch-pods"), 200);
        assert_eq!(code("/readyz/shutdown"), 200);
        vitals.stopping();
        assert_eq!((code("/readyz/shutdown"), code("/livez/engine")), (500, 200));
    }
}
