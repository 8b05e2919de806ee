//! Metrics of connections and responses.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::registry::{Activity, ConnectionState};

/// Clones share their counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionMetrics {
    connections: Family<State, Gauge>,
    /// Counts of this sweep, in the order of [`STATES`].
    counted: Arc<[AtomicI64; 4]>,
    closed: Family<Reason, Counter>,
    /// Responses aborted because their client did not read.
    pub(super) stalled: Counter,
    pub(super) panics: Counter,
}

/// Why the server closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    Idle,
    Evicted,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct State {
    authenticated: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

const STATES: [State; 4] = [
    State { authenticated: "false", state: "idle" },
    State { authenticated: "false", state: "active" },
    State { authenticated: "true", state: "idle" },
    State { authenticated: "true", state: "active" },
];

impl ConnectionMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let ConnectionMetrics { connections, counted: _, closed, stalled, panics } = self;
        let registry = registry.sub_registry_with_prefix("evenkeel_apiserver");
        let about = "Open connections; active ones have a request open";
        registry.register("connections", about, connections.clone());
        let about = "Connections closed because they were idle, or evicted to make room";
        registry.register("connections_closed", about, closed.clone());
        let about = "Responses ended because the client did not read them";
        registry.register("stalled_responses", about, stalled.clone());
        registry.register("panics", "Requests that caused a panic", panics.clone());
    }

    /// A sample of each, so that all are exported.
    #[cfg(test)]
    pub(crate) fn fill(&self) {
        self.publish();
        self.closed(Closed::Idle);
    }

    /// Starts a sweep.
    pub(super) fn reset(&self) {
        self.counted.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    pub(super) fn seen(&self, seen: &ConnectionState) {
        let is_active = seen.activity == Activity::Requests;
        let state = 2 * usize::from(seen.is_authenticated) + usize::from(is_active);
        self.counted[state].fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a sweep.
    pub(super) fn publish(&self) {
        for (state, count) in STATES.iter().zip(&*self.counted) {
            self.connections.get_or_create(state).set(count.load(Ordering::Relaxed));
        }
    }

    pub(super) fn closed(&self, why: Closed) {
        let reason = match why {
            Closed::Idle => "idle",
            Closed::Evicted => "evicted",
        };
        self.closed.get_or_create(&Reason { reason }).inc();
    }
}
