//! Metrics for Prometheus (`/metrics`, OpenMetrics text).
//!
//! Metrics that kube-proxy has too have its names, labels and buckets, so that its dashboards and alerts
//! work; the others are called `evenkeel_proxy_…`. Label values are constants, but for those of
//! `evenkeel_service_connections`, which are bounded.

use std::{
    fmt,
    sync::atomic::AtomicU64,
    time::{Duration, SystemTime},
};

use evenkeel_k8s::watch::{Counters, Resource};
use evenkeel_nft::{Family as IpFamily, Transaction};
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

use crate::engine::Facts;

type Seconds = Gauge<f64, AtomicU64>;

/// Bounds for the time from the arrival of a change until it is in force, in seconds. They are close
/// together where times usually are, so that percentiles can be told.
const CHANGES: [f64; 26] = [
    0.000_05, 0.000_1, 0.000_15, 0.000_2, 0.000_25, 0.000_3, 0.000_4, 0.000_5, 0.000_6, 0.000_75,
    0.001, 0.001_5, 0.002, 0.002_5, 0.003, 0.004, 0.005, 0.007_5, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0,
    2.0, 5.0,
];

/// All metrics of a proxy.
pub(crate) struct Metrics {
    registry: Mutex<Registry>,
    sync: Family<Of, Histogram, fn() -> Histogram>,
    full_sync: Family<Of, Histogram, fn() -> Histogram>,
    partial_sync: Family<Of, Histogram, fn() -> Histogram>,
    queued: Family<Of, Seconds>,
    last: Family<Of, Seconds>,
    endpoint_changes: Counter,
    service_changes: Counter,
    endpoint_changes_pending: Gauge,
    service_changes_pending: Gauge,
    programming: Family<Of, Histogram, fn() -> Histogram>,
    no_local: Family<Policy, Gauge>,
    failures: Family<Of, Counter>,
    conntrack: Family<Of, Histogram, fn() -> Histogram>,
    conntrack_deleted: Family<Of, Counter>,
    healthz: Family<Code, Counter>,
    livez: Family<Code, Counter>,
    elements: Family<Verb, Counter>,
    commits: Counter,
    changes: Histogram,
    restored: Counter,
    service_ports: Gauge,
    endpoints: Gauge,
    contested: Gauge,
    watch_restarts: Family<Watched, Counter>,
    refused: Family<Watched, Counter>,
    task_restarts: Family<Task, Counter>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    ip_family: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Policy {
    traffic_policy: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Code {
    code: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Watched {
    resource: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Task {
    task: &'static str,
}

/// Connections from this node's zone to endpoints of a zone.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct Connections {
    pub(crate) service: String,
    pub(crate) from_zone: String,
    pub(crate) to_zone: String,
}

/// What a sync did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synced<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) families: &'a [IpFamily],
    pub(crate) took: Duration,
    /// Since the first of its changes was received.
    pub(crate) waited: Option<Duration>,
    pub(crate) is_full: bool,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let family = || Family::new_with_constructor(of_syncs as fn() -> Histogram);
        let metrics = Metrics {
            registry: Mutex::default(),
            sync: family(),
            full_sync: family(),
            partial_sync: family(),
            queued: Family::default(),
            last: Family::default(),
            endpoint_changes: Counter::default(),
            service_changes: Counter::default(),
            endpoint_changes_pending: Gauge::default(),
            service_changes_pending: Gauge::default(),
            programming: Family::new_with_constructor(of_programming),
            no_local: Family::default(),
            failures: Family::default(),
            conntrack: family(),
            conntrack_deleted: Family::default(),
            healthz: Family::default(),
            livez: Family::default(),
            elements: Family::default(),
            commits: Counter::default(),
            changes: Histogram::new(CHANGES),
            restored: Counter::default(),
            service_ports: Gauge::default(),
            endpoints: Gauge::default(),
            contested: Gauge::default(),
            watch_restarts: Family::default(),
            refused: Family::default(),
            task_restarts: Family::default(),
        };
        let mut registry = Registry::default();
        metrics.register_kubernetes(&mut registry);
        metrics.register_conntrack(&mut registry);
        metrics.register_own(&mut registry);
        *metrics.registry.lock() = registry;
        metrics
    }

    fn register_kubernetes(&self, registry: &mut Registry) {
        let of = registry.sub_registry_with_prefix("kubeproxy_sync");
        let seconds = || Unit::Seconds;
        let about = "Duration of a sync of rules";
        of.register_with_unit("proxy_rules_duration", about, seconds(), self.sync.clone());
        let about = "Duration of a sync that replaces all rules";
        of.register_with_unit(
            "full_proxy_rules_duration",
            about,
            seconds(),
            self.full_sync.clone(),
        );
        let about = "Duration of a sync of what changed";
        let name = "partial_proxy_rules_duration";
        of.register_with_unit(name, about, seconds(), self.partial_sync.clone());
        let of = registry.sub_registry_with_prefix("kubeproxy_sync_proxy_rules");
        let about = "When a sync was last queued";
        of.register_with_unit("last_queued_timestamp", about, seconds(), self.queued.clone());
        let about = "When rules were last synced";
        of.register_with_unit("last_timestamp", about, seconds(), self.last.clone());
        let about = "Changes of EndpointSlices that are not in force yet";
        of.register("endpoint_changes_pending", about, self.endpoint_changes_pending.clone());
        of.register("endpoint_changes", "Changes of EndpointSlices", self.endpoint_changes.clone());
        let about = "Changes of Services that are not in force yet";
        of.register("service_changes_pending", about, self.service_changes_pending.clone());
        of.register("service_changes", "Changes of Services", self.service_changes.clone());
        let about = "Service ports with policy Local that have endpoints, but none on this node";
        of.register("no_local_endpoints_total", about, self.no_local.clone());
        let about = "Transactions that the kernel refused";
        of.register("nftables_sync_failures", about, self.failures.clone());
        let about = "Time from the change of a Pod or Service until rules follow it";
        let name = "kubeproxy_network_programming_duration";
        registry.register_with_unit(name, about, Unit::Seconds, self.programming.clone());
        let about = "Answers to /healthz";
        registry.register("kubeproxy_proxy_healthz", about, self.healthz.clone());
        registry.register("kubeproxy_proxy_livez", "Answers to /livez", self.livez.clone());
    }

    fn register_conntrack(&self, registry: &mut Registry) {
        let of = registry.sub_registry_with_prefix("kubeproxy_conntrack_reconciler");
        let about = "Duration of a look for stale connections";
        of.register_with_unit("sync_duration", about, Unit::Seconds, self.conntrack.clone());
        let about = "Stale connections that were removed";
        of.register("deleted_entries", about, self.conntrack_deleted.clone());
    }

    fn register_own(&self, registry: &mut Registry) {
        let about = "Restarts of long-lived tasks";
        registry.register("evenkeel_task_restarts", about, self.task_restarts.clone());
        let of = registry.sub_registry_with_prefix("evenkeel_proxy");
        let about = "Elements of nftables sets added and deleted";
        of.register("elements_changed", about, self.elements.clone());
        of.register("commits", "Transactions committed to nftables", self.commits.clone());
        let about = "Time from the arrival of a change at the proxy until rules follow it";
        of.register_with_unit("change_duration", about, Unit::Seconds, self.changes.clone());
        let about = "Times that rules were restored after another process changed them";
        of.register("rules_restored", about, self.restored.clone());
        of.register(
            "service_ports",
            "Service ports, by address family",
            self.service_ports.clone(),
        );
        of.register("endpoints", "Endpoints of Service ports", self.endpoints.clone());
        let about = "Addresses and node ports that several Services request";
        of.register("contested_frontends", about, self.contested.clone());
        let about = "Restarts of watches after a failure";
        of.register("watch_restarts", about, self.watch_restarts.clone());
        let about = "Objects that could not be read";
        of.register("refused_objects", about, self.refused.clone());
    }

    pub(crate) fn text(&self, connections: &[(Connections, u64)]) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry.lock()).expect("writing to a String does not fail");
        if connections.is_empty() {
            return text;
        }
        let mut registry = Registry::default();
        let family: Family<Connections, Counter> = Family::default();
        for (labels, n) in connections {
            family.get_or_create(labels).inc_by(*n);
        }
        let about = "New connections to Services by zone of the client and of the endpoint";
        registry.register("evenkeel_service_connections", about, family);
        let mut more = String::new();
        encode(&mut more, &registry).expect("writing to a String does not fail");
        // Each text ends with the mark of its end.
        text.truncate(text.trim_end().trim_end_matches("# EOF").len());
        text + &more
    }

    pub(crate) fn synced(&self, synced: &Synced<'_>) {
        let Synced { transaction, families, took, waited, is_full } = *synced;
        let kind = if is_full { &self.full_sync } else { &self.partial_sync };
        for family in families {
            self.sync.get_or_create(&of(*family)).observe(took.as_secs_f64());
            kind.get_or_create(&of(*family)).observe(took.as_secs_f64());
            self.last.get_or_create(&of(*family)).set(now());
        }
        let added =
            transaction.elements.iter().filter(|c| c.verb == evenkeel_nft::Verb::Add).count();
        let deleted = transaction.elements.len() - added;
        self.elements.get_or_create(&Verb { verb: "add" }).inc_by(added as u64);
        self.elements.get_or_create(&Verb { verb: "delete" }).inc_by(deleted as u64);
        if !transaction.is_empty() {
            self.commits.inc();
            waited.into_iter().for_each(|waited| self.changes.observe(waited.as_secs_f64()));
        }
        self.endpoint_changes_pending.set(0);
        self.service_changes_pending.set(0);
    }

    pub(crate) fn queued(&self, families: &[IpFamily], services: usize, slices: usize) {
        for family in families {
            self.queued.get_or_create(&of(*family)).set(now());
        }
        self.service_changes.inc_by(services as u64);
        self.service_changes_pending.inc_by(services as i64);
        self.endpoint_changes.inc_by(slices as u64);
        self.endpoint_changes_pending.inc_by(slices as i64);
    }

    /// A change of this long ago is in force.
    pub(crate) fn programmed(&self, family: IpFamily, took: Duration) {
        self.programming.get_or_create(&of(family)).observe(took.as_secs_f64());
    }

    pub(crate) fn failed(&self, families: &[IpFamily]) {
        for family in families {
            self.failures.get_or_create(&of(*family)).inc();
        }
    }

    pub(crate) fn restored(&self) {
        self.restored.inc();
    }

    pub(crate) fn facts(&self, facts: &Facts, contested: usize) {
        let policy = |traffic_policy| self.no_local.get_or_create_owned(&Policy { traffic_policy });
        policy("internal").set(facts.no_local_internal as i64);
        policy("external").set(facts.no_local_external as i64);
        self.service_ports.set(facts.services.ports as i64);
        self.endpoints.set(facts.services.endpoints as i64);
        self.contested.set(contested as i64);
    }

    pub(crate) fn conntrack(&self, family: IpFamily, took: Duration, deleted: usize) {
        self.conntrack.get_or_create(&of(family)).observe(took.as_secs_f64());
        self.conntrack_deleted.get_or_create(&of(family)).inc_by(deleted as u64);
    }

    pub(crate) fn answered(&self, is_healthz: bool, code: u16) {
        let family = if is_healthz { &self.healthz } else { &self.livez };
        family.get_or_create(&Code { code }).inc();
    }

    pub(crate) fn task_restarted(&self, task: &'static str, n: u64) {
        self.task_restarts.get_or_create(&Task { task }).inc_by(n);
    }
}

impl Counters for Metrics {
    fn restarted(&self, resource: Resource) {
        self.watch_restarts.get_or_create(&Watched { resource: resource.name() }).inc();
    }

    fn ignored(&self, resource: Resource) {
        self.refused.get_or_create(&Watched { resource: resource.name() }).inc();
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

fn of(family: IpFamily) -> Of {
    let ip_family = match family {
        IpFamily::Ipv4 => "IPv4",
        IpFamily::Ipv6 => "IPv6",
    };
    Of { ip_family }
}

fn of_syncs() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 15))
}

/// The bounds of kube-proxy.
fn of_programming() -> Histogram {
    let fine = [0.25, 0.5];
    let seconds = (1..=59).map(f64::from);
    let coarse = (60..=115).step_by(5).chain((120..=300).step_by(30)).map(f64::from);
    Histogram::new(fine.into_iter().chain(seconds).chain(coarse))
}

/// In seconds since 1970.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests;
