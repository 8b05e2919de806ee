//! The metrics of a control plane. None carries a label that a client chooses.

use std::{fmt, time::Duration};

use evenkeel_k8s::watch::{Counters, Resource};
use evenkeel_xds::{ResourceType, Variant};
use parking_lot::Mutex;
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

use crate::engine::{Held, Work};

pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    streams: Family<Protocol, Gauge>,
    refused: Family<Why, Counter>,
    requests: Counter,
    responses: Family<Of, Counter>,
    bytes: Counter,
    acks: Family<Of, Counter>,
    nacks: Family<Of, Counter>,
    stale: Family<Of, Counter>,
    computing: Histogram,
    propagation: Histogram,
    proxies: Gauge,
    bundles: Gauge,
    assignments: Gauge,
    resources: Gauge,
    plans_computed: Gauge,
    assignments_computed: Gauge,
    encoded: Gauge,
    invalid: Gauge,
    source_failures: Counter,
    task_restarts: Family<Task, Counter>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Protocol {
    protocol: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

/// CDS, EDS, LDS or RDS.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    r#type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Task {
    task: &'static str,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self {
            registry: Mutex::default(),
            streams: Family::default(),
            refused: Family::default(),
            requests: Counter::default(),
            responses: Family::default(),
            bytes: Counter::default(),
            acks: Family::default(),
            nacks: Family::default(),
            stale: Family::default(),
            computing: Histogram::new(exponential_buckets(0.000_1, 2.0, 16)),
            propagation: Histogram::new(exponential_buckets(0.000_5, 2.0, 16)),
            proxies: Gauge::default(),
            bundles: Gauge::default(),
            assignments: Gauge::default(),
            resources: Gauge::default(),
            plans_computed: Gauge::default(),
            assignments_computed: Gauge::default(),
            encoded: Gauge::default(),
            invalid: Gauge::default(),
            source_failures: Counter::default(),
            task_restarts: Family::default(),
        };
        let mut registry = Registry::default();
        metrics.register_streams(&mut registry);
        metrics.register_engine(&mut registry);
        let about = "Restarts of long-lived tasks";
        registry.register("evenkeel_task_restarts", about, metrics.task_restarts.clone());
        *metrics.registry.lock() = registry;
        metrics
    }

    fn register_streams(&self, registry: &mut Registry) {
        let of = registry.sub_registry_with_prefix("evenkeel_xds");
        of.register("streams", "Open streams", self.streams.clone());
        let about = "Streams that ended because of what the client did";
        of.register("streams_refused", about, self.refused.clone());
        of.register("requests", "Requests of clients", self.requests.clone());
        of.register("responses", "Responses sent", self.responses.clone());
        let about = "Bytes of responses sent";
        of.register_with_unit("sent", about, Unit::Bytes, self.bytes.clone());
        of.register("acks", "Responses that clients accepted", self.acks.clone());
        of.register("nacks", "Responses that clients rejected", self.nacks.clone());
        let about = "Answers to responses that were not the latest";
        of.register("stale_answers", about, self.stale.clone());
        let about = "Time from the arrival of a change until a proxy acknowledged it";
        of.register_with_unit(
            "propagation_duration",
            about,
            Unit::Seconds,
            self.propagation.clone(),
        );
    }

    fn register_engine(&self, registry: &mut Registry) {
        let of = registry.sub_registry_with_prefix("evenkeel_xds");
        let about = "Time to compute and encode what a change leads to";
        of.register_with_unit("computing_duration", about, Unit::Seconds, self.computing.clone());
        of.register("connected_proxies", "Connected proxies", self.proxies.clone());
        let about = "Different sets of resources that proxies share";
        of.register("bundles", about, self.bundles.clone());
        let about = "Assignments in use, one for each service and place";
        of.register("assignments", about, self.assignments.clone());
        of.register("encoded_resources", "Encoded resources held", self.resources.clone());
        let about = "Plans of proxies computed so far";
        of.register("plans_computed", about, self.plans_computed.clone());
        let about = "Assignments computed so far";
        of.register("assignments_computed", about, self.assignments_computed.clone());
        of.register("resources_encoded", "Resources encoded so far", self.encoded.clone());
        let about = "Objects and files that are not in force because they are invalid";
        of.register("invalid_resources", about, self.invalid.clone());
        let about = "Failed attempts to read the source of resources";
        of.register("source_failures", about, self.source_failures.clone());
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry.lock()).expect("writing to a String does not fail");
        text
    }

    pub(crate) fn stream(&self, variant: Variant, by: i64) {
        let protocol = match variant {
            Variant::StateOfTheWorld => "sotw",
            Variant::Incremental => "delta",
        };
        self.streams.get_or_create(&Protocol { protocol }).inc_by(by);
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&Why { reason }).inc();
    }

    pub(crate) fn request(&self) {
        self.requests.inc();
    }

    pub(crate) fn response(&self, kind: ResourceType) {
        self.responses.get_or_create(&of(kind)).inc();
    }

    pub(crate) fn sent_bytes(&self, n: usize) {
        self.bytes.inc_by(n as u64);
    }

    pub(crate) fn acked(&self, kind: ResourceType) {
        self.acks.get_or_create(&of(kind)).inc();
    }

    pub(crate) fn nacked(&self, kind: ResourceType) {
        self.nacks.get_or_create(&of(kind)).inc();
    }

    pub(crate) fn stale(&self, kind: ResourceType) {
        self.stale.get_or_create(&of(kind)).inc();
    }

    pub(crate) fn computed(&self, took: Duration, held: Held, work: Work) {
        self.computing.observe(took.as_secs_f64());
        self.held(held, work);
    }

    pub(crate) fn held(&self, held: Held, work: Work) {
        let Held { proxies, bundles, assignments, resources } = held;
        self.proxies.set(proxies as i64);
        self.bundles.set(bundles as i64);
        self.assignments.set(assignments as i64);
        self.resources.set(resources as i64);
        let Work { plans, assignments, encoded } = work;
        self.plans_computed.set(plans as i64);
        self.assignments_computed.set(assignments as i64);
        self.encoded.set(encoded as i64);
    }

    pub(crate) fn propagated(&self, took: Duration) {
        self.propagation.observe(took.as_secs_f64());
    }

    pub(crate) fn invalid(&self, n: usize) {
        self.invalid.set(n as i64);
    }

    pub(crate) fn source_failed(&self) {
        self.source_failures.inc();
    }

    pub(crate) fn task_restarted(&self, task: &'static str, n: u64) {
        self.task_restarts.get_or_create(&Task { task }).inc_by(n);
    }
}

impl Counters for Metrics {
    fn restarted(&self, _: Resource) {
        self.source_failed();
    }

    fn ignored(&self, _: Resource) {
        self.source_failed();
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn of(kind: ResourceType) -> Of {
    Of { r#type: kind.service() }
}

#[cfg(test)]
mod tests;
