//! Metrics for Prometheus (`/metrics`, OpenMetrics text).
//!
//! Requests have Kubernetes' metric names. All labels are names of served resources or fixed words;
//! no value from a request becomes one. A served resource has its [`Requests`], looked up once:
//! recording a request is then one lookup in a small table.

mod prior;

use std::{
    borrow::Cow,
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::RwLock;
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
use rustc_hash::FxHashMap;

use crate::{
    pools::repair::{Pool, Problem},
    serve::ConnectionMetrics,
};

pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds in seconds, the same as Kubernetes' for requests.
const REQUEST_BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];

type Text = Cow<'static, str>;
/// Verb, code, and whether it was a dry run.
type Key = (&'static str, u16, bool);

/// All metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    total: Family<Counted, Counter>,
    duration: Family<Timed, Histogram, fn() -> Histogram>,
    in_flight: Family<RequestKind, Gauge>,
    /// For [`Change::Mutating`] and [`Change::ReadOnly`], looked up once.
    changes: [Gauge; 2],
    long_running: Family<Timed, Gauge>,
    objects: Family<ResourceName, Gauge>,
    watch_events: Family<ResourceName, Counter>,
    pub(crate) journal: JournalMetrics,
    task_restarts: TaskRestarts,
    pub(crate) repair: RepairMetrics,
    pub(crate) connections: ConnectionMetrics,
}

/// Errors found in allocated addresses and node ports, under Kubernetes' names.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepairMetrics {
    ips: Family<ErrorType, Counter>,
    ports: Family<ErrorType, Counter>,
    ip_failures: Counter,
    port_failures: Counter,
}

/// Restarts of long-lived tasks.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRestarts(Family<TaskName, Counter>);

/// Metrics of the journal's writer.
#[derive(Clone, Debug)]
pub(crate) struct JournalMetrics {
    /// Duration of a sync, in seconds.
    pub(crate) sync: Histogram,
    /// Bytes written.
    pub(crate) bytes: Counter,
    /// Writes per sync.
    pub(crate) batch: Histogram,
    /// Batches that could not be stored.
    pub(crate) failed: Counter,
    /// 1 if writes are accepted, 0 if only deletes are.
    pub(crate) writable: Gauge,
}

/// The metrics of the requests for one resource.
#[derive(Debug)]
pub(crate) struct Requests {
    of: Of,
    total: Family<Counted, Counter>,
    duration: Family<Timed, Histogram, fn() -> Histogram>,
    long_running: Family<Timed, Gauge>,
    known: RwLock<FxHashMap<Key, (Counter, Histogram)>>,
}

/// The labels of a request.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct Of {
    pub(crate) group: Text,
    pub(crate) version: Text,
    pub(crate) resource: Text,
    pub(crate) subresource: Text,
    /// `cluster`, `namespace` or `resource`; `""` for a non-resource path.
    pub(crate) scope: &'static str,
}

/// Mutating or read-only requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Mutating,
    ReadOnly,
}

/// A gauge that is incremented until this is dropped.
#[derive(Debug)]
pub(crate) struct Raised(Gauge);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Counted {
    verb: &'static str,
    group: Text,
    version: Text,
    resource: Text,
    subresource: Text,
    scope: &'static str,
    code: u16,
    dry_run: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Timed {
    verb: &'static str,
    group: Text,
    version: Text,
    resource: Text,
    subresource: Text,
    scope: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestKind {
    request_kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ErrorType {
    r#type: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResourceName {
    resource: Text,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TaskName {
    task: &'static str,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let journal = JournalMetrics {
            sync: Histogram::new(exponential_buckets(0.000_05, 2.0, 16)),
            bytes: Counter::default(),
            batch: Histogram::new(exponential_buckets(1.0, 2.0, 12)),
            failed: Counter::default(),
            writable: Gauge::default(),
        };
        let in_flight = Family::<RequestKind, Gauge>::default();
        let mut metrics = Metrics {
            registry: Registry::default(),
            total: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(REQUEST_BUCKETS)),
            changes: ["mutating", "readOnly"]
                .map(|request_kind| in_flight.get_or_create_owned(&RequestKind { request_kind })),
            in_flight,
            long_running: Family::default(),
            objects: Family::default(),
            watch_events: Family::default(),
            journal,
            task_restarts: TaskRestarts::default(),
            repair: RepairMetrics::default(),
            connections: ConnectionMetrics::default(),
        };
        metrics.register();
        metrics
    }

    /// Adds the metrics of priority and fairness.
    pub(crate) fn include(&mut self, fairness: tower_fairness::Metrics) {
        self.registry.register_collector(Box::new(fairness));
    }

    fn register(&mut self) {
        let Metrics {
            registry,
            total,
            duration,
            in_flight,
            changes: _,
            long_running,
            objects,
            watch_events,
            journal,
            task_restarts,
            repair,
            connections,
        } = self;
        connections.register(registry);
        let about = "Restarts of long-lived background tasks";
        registry.register("evenkeel_task_restarts", about, task_restarts.0.clone());
        registry.register(
            "apiserver_request",
            "Number of requests by verb, resource and status code",
            total.clone(),
        );
        registry.register_with_unit(
            "apiserver_request_duration",
            "Request duration",
            Unit::Seconds,
            duration.clone(),
        );
        let now = "Requests in progress, excluding long-running ones";
        registry.register("apiserver_current_inflight_requests", now, in_flight.clone());
        let long = "Long-running requests in progress, such as watches";
        registry.register("apiserver_longrunning_requests", long, long_running.clone());
        registry.register("apiserver_storage_objects", "Number of stored objects", objects.clone());
        registry.register(
            "apiserver_watch_events",
            "Events sent to watchers",
            watch_events.clone(),
        );
        repair.register(registry);
        let JournalMetrics { sync, bytes, batch, failed, writable } = journal.clone();
        let journal = registry.sub_registry_with_prefix("evenkeel_apiserver_journal");
        let about = "Duration of a journal sync to disk";
        journal.register_with_unit("sync_duration", about, Unit::Seconds, sync);
        journal.register("written_bytes", "Bytes written to the journal", bytes);
        journal.register("batch_writes", "Number of writes per journal sync", batch);
        journal.register("failed_batches", "Batches that could not be stored", failed);
        writable.set(1);
        let about = "1 if writes are accepted, 0 if only deletes are because the disk is full";
        journal.register("writable", about, writable);
        let started: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(since.as_secs_f64());
        let about = "Start time of the process in seconds since the Unix epoch";
        registry.register_with_unit("process_start_time", about, Unit::Seconds, started);
    }

    /// The metrics of one resource, to be kept by the caller.
    pub(crate) fn requests(&self, of: Of) -> Arc<Requests> {
        Arc::new(Requests {
            of,
            total: self.total.clone(),
            duration: self.duration.clone(),
            long_running: self.long_running.clone(),
            known: RwLock::default(),
        })
    }

    pub(crate) fn in_flight(&self, change: Change) -> Raised {
        let [mutating, read_only] = &self.changes;
        Raised::new(match change {
            Change::Mutating => mutating.clone(),
            Change::ReadOnly => read_only.clone(),
        })
    }

    /// The number of objects of a resource, to be kept by the caller.
    pub(crate) fn objects(&self, resource: impl Into<Text>) -> Gauge {
        self.objects.get_or_create_owned(&ResourceName { resource: resource.into() })
    }

    /// Events sent, to be kept by the caller.
    pub(crate) fn watch_events(&self, resource: impl Into<Text>) -> Counter {
        self.watch_events.get_or_create_owned(&ResourceName { resource: resource.into() })
    }

    pub(crate) fn task_restarts(&self) -> TaskRestarts {
        self.task_restarts.clone()
    }

    /// All metrics, as in `/metrics`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes all that is written to it");
        let end = text.rfind("# EOF").unwrap_or(text.len());
        text.insert_str(end, &prior::prior(&text));
        text
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

// === impl TaskRestarts ===

impl TaskRestarts {
    /// With 0 it is exported before the first restart.
    pub(crate) fn count(&self, task: &'static str, n: u64) {
        self.0.get_or_create_owned(&TaskName { task }).inc_by(n);
    }
}

// === impl RepairMetrics ===

impl RepairMetrics {
    fn register(&self, registry: &mut Registry) {
        let RepairMetrics { ips, ports, ip_failures, port_failures } = self.clone();
        let about = "Errors detected on cluster IPs by the repair loop, by type";
        registry.register("apiserver_clusterip_repair_ip_errors", about, ips);
        let about = "Errors detected on node ports by the repair loop, by type";
        registry.register("apiserver_nodeport_repair_port_errors", about, ports);
        let about = "Repairs of cluster IPs that did not take place";
        registry.register("apiserver_clusterip_repair_reconcile_errors", about, ip_failures);
        let about = "Repairs of node ports that did not take place";
        registry.register("apiserver_nodeport_repair_reconcile_errors", about, port_failures);
    }

    pub(crate) fn found(&self, pool: Pool, problem: Problem) {
        let errors = match pool {
            Pool::ClusterIps => &self.ips,
            Pool::NodePorts => &self.ports,
        };
        errors.get_or_create_owned(&ErrorType { r#type: problem.label() }).inc();
    }

    /// A finding was outdated when it was to be repaired.
    pub(crate) fn failed(&self, pool: Pool) {
        match pool {
            Pool::ClusterIps => self.ip_failures.inc(),
            Pool::NodePorts => self.port_failures.inc(),
        };
    }
}

// === impl Requests ===

impl Requests {
    /// The metrics of another resource, to be kept by the caller.
    pub(crate) fn for_another(&self, of: Of) -> Arc<Requests> {
        Arc::new(Requests {
            of,
            total: self.total.clone(),
            duration: self.duration.clone(),
            long_running: self.long_running.clone(),
            known: RwLock::default(),
        })
    }

    /// Records a response. `verb` is one of Kubernetes' (`GET`, `LIST`, `WATCH`, `POST`, …).
    pub(crate) fn answered(&self, verb: &'static str, code: u16, dry_run: bool, took: Duration) {
        let key = (verb, code, dry_run);
        let known = self.known.read();
        if let Some((total, duration)) = known.get(&key) {
            return count(total, duration, took);
        }
        drop(known);
        let (total, duration) = self.made(verb, code, dry_run);
        count(&total, &duration, took);
        self.known.write().insert(key, (total, duration));
    }

    /// A long-running request, as long as it runs.
    pub(crate) fn long_running(&self, verb: &'static str) -> Raised {
        Raised::new(self.long_running.get_or_create_owned(&self.timed(verb)))
    }

    fn made(&self, verb: &'static str, code: u16, dry_run: bool) -> (Counter, Histogram) {
        let Of { group, version, resource, subresource, scope } = self.of.clone();
        let dry_run = if dry_run { "All" } else { "" };
        let labels = Counted { verb, group, version, resource, subresource, scope, code, dry_run };
        let total = self.total.get_or_create_owned(&labels);
        (total, self.duration.get_or_create_owned(&self.timed(verb)))
    }

    fn timed(&self, verb: &'static str) -> Timed {
        let Of { group, version, resource, subresource, scope } = self.of.clone();
        Timed { verb, group, version, resource, subresource, scope }
    }
}

fn count(total: &Counter, duration: &Histogram, took: Duration) {
    total.inc();
    duration.observe(took.as_secs_f64());
}

// === impl Raised ===

impl Raised {
    fn new(gauge: Gauge) -> Raised {
        gauge.inc();
        Raised(gauge)
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        self.0.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every metric with at least one sample: families without any are not exported.
    fn filled() -> Metrics {
        let metrics = Metrics::new();
        let pods = metrics.requests(Of { resource: "pods".into(), ..Of::default() });
        pods.answered("GET", 200, false, Duration::ZERO);
        drop(pods.long_running("WATCH"));
        metrics.objects("pods");
        metrics.watch_events("pods");
        metrics.task_restarts().count("housekeeping", 0);
        for pool in [Pool::ClusterIps, Pool::NodePorts] {
            metrics.repair.found(pool, Problem::Leaked);
            metrics.repair.failed(pool);
        }
        metrics.connections.fill();
        metrics
    }

    /// `all.txt` is what `docs/reference/metrics.md` is made from.
    #[test]
    fn all_metrics_are_listed_for_the_reference() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/metrics/all.txt");
        evenkeel_testkit::reference::check_metrics(&filled().text(), file);
    }

    #[test]
    fn requests_are_counted_under_the_names_of_kubernetes() {
        let metrics = Metrics::new();
        let pods = Of {
            version: "v1".into(),
            resource: "pods".into(),
            scope: "namespace",
            ..Of::default()
        };
        let pods = metrics.requests(pods);
        for code in [200, 200, 404] {
            pods.answered("GET", code, false, Duration::from_millis(30));
        }
        pods.answered("POST", 201, true, Duration::ZERO);
        metrics.objects("pods").set(7);
        metrics.watch_events("pods").inc_by(3);
        metrics.journal.sync.observe(0.001);
        metrics.journal.bytes.inc_by(100);
        metrics.task_restarts().count("housekeeping", 2);
        metrics.task_restarts().count("sandbox", 0);
        let watching = pods.long_running("WATCH");
        let writing = metrics.in_flight(Change::Mutating);
        let labels = r#"group="",version="v1",resource="pods",subresource="",scope="namespace""#;
        let expected = [
            "# TYPE apiserver_request counter".to_owned(),
            format!(r#"apiserver_request_total{{verb="GET",{labels},code="200",dry_run=""}} 2"#),
            format!(r#"apiserver_request_total{{verb="GET",{labels},code="404",dry_run=""}} 1"#),
            format!(
                r#"apiserver_request_total{{verb="POST",{labels},code="201",dry_run="All"}} 1"#
            ),
            format!(r#"apiserver_request_duration_seconds_count{{verb="GET",{labels}}} 3"#),
            format!(
                r#"apiserver_request_duration_seconds_bucket{{le="0.025",verb="GET",{labels}}} 0"#
            ),
            format!(
                r#"apiserver_request_duration_seconds_bucket{{le="0.05",verb="GET",{labels}}} 3"#
            ),
            r#"apiserver_current_inflight_requests{request_kind="mutating"} 1"#.to_owned(),
            format!(r#"apiserver_longrunning_requests{{verb="WATCH",{labels}}} 1"#),
            r#"apiserver_storage_objects{resource="pods"} 7"#.to_owned(),
            r#"apiserver_watch_events_total{resource="pods"} 3"#.to_owned(),
            "evenkeel_apiserver_journal_sync_duration_seconds_count 1".to_owned(),
            "evenkeel_apiserver_journal_written_bytes_total 100".to_owned(),
            r#"evenkeel_task_restarts_total{task="housekeeping"} 2"#.to_owned(),
            r#"evenkeel_task_restarts_total{task="sandbox"} 0"#.to_owned(),
            "# TYPE process_start_time_seconds gauge".to_owned(),
        ];
        let text = metrics.text();
        for line in &expected {
            assert!(text.lines().any(|given| given == line), "{line}\nis not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        drop((watching, writing));
        assert!(metrics.text().contains(r#"inflight_requests{request_kind="mutating"} 0"#));
    }
}
