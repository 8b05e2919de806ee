//! Metrics for Prometheus (`/metrics`, OpenMetrics text).
//!
//! Metrics that kube-controller-manager has too have its names, labels and buckets
//! (`k8s.io/endpointslice/metrics`), so that its dashboards and alerts work; the others are called
//! `evenkeel_controller_…`. All label values are constants; none comes from an object.

mod plain;
mod sums;

use std::{fmt, sync::Arc, time::Duration};

use evenkeel_k8s::watch::Resource;
use evenkeel_topology::Policy;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use self::{plain::PlainCounter, sums::Sums};
use crate::{
    engine::{Outcome, Report, SyncResult, Totals},
    writes::Verb,
};

/// Prometheus' default bounds, which Kubernetes leaves here although they are meant for seconds.
const DEFAULT_BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// All metrics of a controller.
pub(crate) struct Metrics {
    registry: Registry,
    added: Histogram,
    removed: Histogram,
    changes: Family<Operation, PlainCounter>,
    shares_writes: Counter,
    changed: Family<PolicyLabels, Histogram, fn() -> Histogram>,
    syncs: Family<Ended, PlainCounter>,
    sums: Arc<Sums>,
    watch_restarts: Family<Of, Counter>,
    task_restarts: Family<Task, Counter>,
    refused: Family<Of, Counter>,
    events: Family<Ended, Counter>,
    writes: Family<Written, Counter>,
    write_duration: Family<Acted, Histogram, fn() -> Histogram>,
    pod_to_slice: Histogram,
    leader: Gauge,
}

/// The outcome of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventEnd {
    Created,
    /// The count of an existing Event was increased.
    Patched,
    /// The rate limit of its Service or the queue was exceeded.
    Dropped,
    /// The API server rejected it.
    Failed,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PolicyLabels {
    topology: &'static str,
    traffic_distribution: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Ended {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    resource: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Task {
    task: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Acted {
    action: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Written {
    action: &'static str,
    outcome: &'static str,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let per_sync = || Histogram::new(exponential_buckets(2.0, 2.0, 15));
        let mut metrics = Metrics {
            registry: Registry::default(),
            added: per_sync(),
            removed: per_sync(),
            changes: Family::default(),
            shares_writes: Counter::default(),
            changed: Family::new_with_constructor(|| Histogram::new(DEFAULT_BUCKETS)),
            syncs: Family::default(),
            sums: Arc::default(),
            watch_restarts: Family::default(),
            task_restarts: Family::default(),
            refused: Family::default(),
            events: Family::default(),
            writes: Family::default(),
            write_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 15))
            }),
            pod_to_slice: Histogram::new(exponential_buckets(0.25, 2.0, 14)),
            leader: Gauge::default(),
        };
        metrics.register_kubernetes();
        metrics.register_own();
        metrics
    }

    fn register_kubernetes(&mut self) {
        let of = self.registry.sub_registry_with_prefix("endpoint_slice_controller");
        let about = "Endpoints added by a sync of a Service";
        of.register("endpoints_added_per_sync", about, self.added.clone());
        let about = "Endpoints removed by a sync of a Service";
        of.register("endpoints_removed_per_sync", about, self.removed.clone());
        of.register("changes", "Changes of EndpointSlices", self.changes.clone());
        let about = "EndpointSlices changed by a sync of a Service";
        of.register("endpointslices_changed_per_sync", about, self.changed.clone());
        of.register("syncs", "Syncs of Services", self.syncs.clone());
        self.registry.register_collector(Box::new(Arc::clone(&self.sums)));
    }

    fn register_own(&mut self) {
        let about = "Restarts of long-lived tasks";
        self.registry.register("evenkeel_task_restarts", about, self.task_restarts.clone());
        let of = self.registry.sub_registry_with_prefix("evenkeel_controller");
        let about = "Restarts of watches after a failure";
        of.register("watch_restarts", about, self.watch_restarts.clone());
        let about = "Invalid objects that are ignored";
        of.register("refused_objects", about, self.refused.clone());
        let about = "Updates of EndpointSlices for zone shares alone";
        of.register("zone_shares_writes", about, self.shares_writes.clone());
        of.register("events", "Events about Services", self.events.clone());
        of.register("writes", "Requests of syncs by outcome", self.writes.clone());
        let about = "Latency of the requests of syncs";
        let durations = self.write_duration.clone();
        of.register_with_unit("write_duration", about, Unit::Seconds, durations);
        let about = "Time from the change of a Pod or Service, which is known to the second, to \
                     the write of its EndpointSlice";
        of.register_with_unit("pod_to_slice", about, Unit::Seconds, self.pod_to_slice.clone());
        of.register("leader", "Whether this process is leader: 1 or 0", self.leader.clone());
    }

    /// A task was started again; with 0 it is shown before it ever happens.
    pub(crate) fn task_restarted(&self, task: &'static str, n: u64) {
        self.task_restarts.get_or_create(&Task { task }).inc_by(n);
    }

    /// A sync ended.
    pub(crate) fn synced(&self, report: &Report) {
        let result = match report.result {
            SyncResult::Success => "success",
            SyncResult::Stale => "stale",
            SyncResult::Throttled => "throttled",
            SyncResult::Error => "error",
        };
        self.syncs.get_or_create(&Ended { result }).inc_by(1);
        let writes = [
            ("create", report.slices_created),
            ("update", report.slices_updated),
            ("delete", report.slices_deleted),
        ];
        for (operation, count) in writes.into_iter().filter(|(_, count)| *count > 0) {
            self.changes.get_or_create(&Operation { operation }).inc_by(count as u64);
        }
        self.shares_writes.inc_by(report.writes_for_shares as u64);
        if report.result == SyncResult::Stale {
            // It planned nothing.
            return;
        }
        self.added.observe(report.endpoints_added as f64);
        self.removed.observe(report.endpoints_removed as f64);
        let topology = if report.policy == Policy::Auto { "Auto" } else { "Disabled" };
        let traffic_distribution = report.traffic_distribution.clone().unwrap_or_default();
        let n_changed: usize = writes.into_iter().map(|(_, count)| count).sum();
        let labels = PolicyLabels { topology, traffic_distribution };
        self.changed.get_or_create(&labels).observe(n_changed as f64);
    }

    /// How much of everything there is now.
    pub(crate) fn totals(&self, totals: Totals) {
        self.sums.set(totals);
    }

    pub(crate) fn wrote(&self, verb: Verb, outcome: &Outcome, took: Duration) {
        let action = verb.name();
        let outcome = match outcome {
            Outcome::Stored(_) | Outcome::Done | Outcome::Read(_) => "done",
            Outcome::Gone => "gone",
            Outcome::Exists => "exists",
            Outcome::Conflict => "conflict",
            Outcome::Busy { .. } => "busy",
            Outcome::NamespaceTerminating => "namespace_terminating",
            Outcome::Unknown { .. } => "unknown",
            Outcome::Refused { .. } => "refused",
        };
        self.writes.get_or_create(&Written { action, outcome }).inc();
        self.write_duration.get_or_create(&Acted { action }).observe(took.as_secs_f64());
    }

    /// A slice was written for a change that happened so long ago.
    pub(crate) fn slice_written(&self, after: Duration) {
        self.pod_to_slice.observe(after.as_secs_f64());
    }

    pub(crate) fn watch_restarted(&self, resource: Resource) {
        self.watch_restarts.get_or_create(&Of { resource: resource.name() }).inc();
    }

    pub(crate) fn refused(&self, resource: Resource) {
        self.refused.get_or_create(&Of { resource: resource.name() }).inc();
    }

    pub(crate) fn event(&self, end: EventEnd) {
        let result = match end {
            EventEnd::Created => "created",
            EventEnd::Patched => "patched",
            EventEnd::Dropped => "dropped",
            EventEnd::Failed => "failed",
        };
        self.events.get_or_create(&Ended { result }).inc();
    }

    pub(crate) fn leader(&self, leading: bool) {
        self.leader.set(leading.into());
    }

    /// All of it, as `/metrics` gives it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes all that is written to it");
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
