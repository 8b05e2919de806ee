//! Reports up to which revisions this node's rules are in force, in a Lease of its own.
//!
//! ```text
//!  owner of the rules ── InForce, after each commit ──► watch channel ──► run: Schedule ──► Lease
//! ```
//!
//! Only the newest value counts, so nobody waits for a report, and one that fails disturbs no rule.
//! `schedule` says when to write: at most once in max(1 s, nodes/100 s), when something changed or a
//! heartbeat is due. The number of nodes is taken from the Leases themselves: a list of one object
//! says how many more there are, and costs about as much as a get. It is asked for every ten minutes.
//!
//! The Lease is owned by the Node, so that it goes with it. It is not deleted when the proxy stops:
//! the rules stay in force. Nobody believes it for longer than its duration, which is a few
//! heartbeats.

mod schedule;

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::{
    convert::{report_lease, report_lease_name, report_patch},
    live::in_short,
    watched,
};
use evenkeel_model::{ProxyException, ProxyReport, Revision};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use self::schedule::Schedule;

/// Exceptions that are listed; of the others their number is told.
const LISTED: usize = 50;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the nodes are counted.
const RECOUNT: Duration = Duration::from_secs(600);

/// Of all failures, at most one warning in this time.
const QUIET: Duration = Duration::from_secs(60);

/// Where the reports of a node are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSettings {
    /// The name of the node.
    pub node: Arc<str>,
    /// The namespace of the Leases of all proxies, which exists.
    pub namespace: String,
}

/// What is in force on this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// All Services up to this state: see [`Watermark`](evenkeel_model::Watermark).
    pub services: Option<Revision>,
    /// All EndpointSlices up to this state.
    pub slices: Option<Revision>,
    /// Services that are not in force although their state is covered, in any order.
    pub exceptions: Vec<ProxyException>,
    /// The uid of this node's Node, which is to own the Lease.
    pub node_uid: Option<Arc<str>>,
}

/// Writes reports until `stop`, or until nobody can change `in_force` any more. `None`: no rules have
/// been committed by this process yet; what an earlier one reported stays.
pub async fn run(
    client: Client,
    settings: ReportSettings,
    mut in_force: watch::Receiver<Option<InForce>>,
    stop: CancellationToken,
) {
    let mut shell = Shell::new(client, settings);
    in_force.mark_changed();
    loop {
        let due = shell.schedule.due().map(|due| shell.start + due);
        tokio::select! {
            () = stop.cancelled() => return,
            changed = in_force.changed() => {
                if changed.is_err() {
                    return;
                }
                let given = in_force.borrow_and_update().clone();
                shell.given(given);
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                if stop.run_until_cancelled(shell.write()).await.is_none() {
                    return;
                }
            }
        }
    }
}

struct Shell {
    api: Api<Lease>,
    slim: Api<watched::Lease>,
    settings: ReportSettings,
    schedule: Schedule,
    /// The schedule's times are since then.
    start: Instant,
    /// What is to be reported.
    now_in_force: Option<InForce>,
    /// What was last written.
    written: Option<InForce>,
    counted: Option<Instant>,
    /// When a failure was last logged as a warning.
    logged: Option<Instant>,
}

/// The report of a node. Exceptions beyond the limit are counted, the last ones by name.
fn report(node: &Arc<str>, in_force: &InForce) -> ProxyReport {
    let InForce { services, slices, exceptions, node_uid: _ } = in_force;
    let mut exceptions = exceptions.clone();
    exceptions.sort();
    exceptions.dedup_by(|a, b| a.service == b.service);
    let left_out = exceptions.len().saturating_sub(LISTED);
    exceptions.truncate(LISTED);
    let (services, slices) = (services.clone(), slices.clone());
    ProxyReport { node: Arc::clone(node), services, slices, exceptions, left_out }
}

// === impl Shell ===

impl Shell {
    fn new(client: Client, settings: ReportSettings) -> Shell {
        Shell {
            api: Api::namespaced(client.clone(), &settings.namespace),
            slim: Api::namespaced(client, &settings.namespace),
            settings,
            schedule: Schedule::default(),
            start: Instant::now(),
            now_in_force: None,
            written: None,
            counted: None,
            logged: None,
        }
    }

    fn given(&mut self, in_force: Option<InForce>) {
        self.now_in_force = in_force;
        if self.now_in_force.is_some() && self.now_in_force != self.written {
            self.schedule.changed(self.start.elapsed(), rand::random());
        }
    }

    async fn write(&mut self) {
        let Some(in_force) = self.now_in_force.clone() else { return };
        if self.counted.is_none_or(|counted| counted.elapsed() >= RECOUNT) {
            self.count().await;
        }
        let now = self.start.elapsed();
        if !self.schedule.begin(now, rand::random()) {
            return;
        }
        let report = report(&self.settings.node, &in_force);
        let answer = timeout(PATIENCE, self.send(&report, in_force.node_uid.as_deref())).await;
        let now = self.start.elapsed();
        match answer {
            Ok(Ok(())) => {
                self.written = Some(in_force);
                self.schedule.done(now, rand::random());
            }
            Ok(Err(error)) => self.failed(&error),
            Err(_) => self.retry(&format!("timed out after {PATIENCE:?}"), None),
        }
    }

    /// The Lease is there but for the first time.
    async fn send(&self, report: &ProxyReport, owner: Option<&str>) -> kube::Result<()> {
        let (name, valid_for) = (report_lease_name(&report.node), self.schedule.valid_for());
        let patch = Patch::Merge(report_patch(report, Timestamp::now(), valid_for));
        match self.slim.patch(&name, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            answer => return answer.map(|_| ()),
        }
        let namespace = &self.settings.namespace;
        let lease = report_lease(report, owner, namespace, Timestamp::now(), valid_for);
        self.api.create(&PostParams::default(), &lease).await.map(|_| ())
    }

    /// The nodes that report, and a few Leases of others in the namespace.
    async fn count(&mut self) {
        let params = ListParams::default().limit(1);
        let listed = timeout(PATIENCE, self.slim.list(&params)).await;
        self.counted = Some(Instant::now());
        match listed {
            Ok(Ok(list)) => {
                let more = list.metadata.remaining_item_count.unwrap_or_default();
                let more = usize::try_from(more).unwrap_or_default();
                self.schedule.nodes(list.items.len() + more);
            }
            Ok(Err(error)) => tracing::debug!(error = in_short(&error), "cannot count Leases"),
            Err(_) => tracing::debug!("cannot count Leases: timed out"),
        }
    }

    fn failed(&mut self, error: &kube::Error) {
        let after = match error {
            kube::Error::Api(status) => status.details.as_ref().map(|it| it.retry_after_seconds),
            _ => None,
        };
        let after = after.filter(|seconds| *seconds > 0);
        self.retry(&in_short(error), after.map(|seconds| Duration::from_secs(seconds.into())));
    }

    fn retry(&mut self, error: &str, after: Option<Duration>) {
        let now = Instant::now();
        let pause = self.schedule.failed(self.start.elapsed(), after, rand::random());
        if self.logged.is_some_and(|logged| now - logged < QUIET) {
            tracing::debug!(error, "cannot report rules in force, retrying in {pause:.1?}");
            return;
        }
        self.logged = Some(now);
        tracing::warn!(error, "cannot report rules in force, retrying in {pause:.1?}");
    }
}

#[cfg(test)]
mod tests;
