//! The task that owns the engine.
//!
//! It waits for the first of: a batch of a watch, the end of a write, a change of leadership, the
//! time that the engine set. Then it takes what else has arrived, and only then polls the engine, so
//! that a hundred changes of one Service are one plan.

use std::{sync::Arc, time::Duration};

use evenkeel_k8s::watch::Received;
use evenkeel_model::ServiceKey;
use jiff::Timestamp;
use rustc_hash::FxHashMap;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::{
    engine::{Effect, Engine, Outcome, Report, SyncResult},
    health::Vitals,
    intake::Intake,
    metrics::Metrics,
    recorder::Recorder,
    writes::{Answer, Ended, Verb, Writes},
};

/// The interval of the heartbeat and of totals.
const BEAT: Duration = Duration::from_secs(1);

/// Batches and results of writes that are taken before the engine is polled, so that many of them
/// do not starve it.
const TAKEN: usize = 64;

/// Effects that are executed before inputs are taken.
const CARRIED_OUT: usize = 256;

/// The minimum time between two polls of the engine.
const PAUSE: Duration = Duration::from_millis(1);

/// How long shutdown waits for writes in flight.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) engine: Engine,
    pub(crate) intake: Intake,
    pub(crate) writes: Writes,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) vitals: Arc<Vitals>,
    /// The engine's times are since then.
    pub(crate) start: Instant,
    /// Signalled once, when caches are synced.
    pub(crate) synced: Option<oneshot::Sender<()>>,
    /// Services left to kube-controller-manager, as last logged.
    pub(crate) n_withdrawn: usize,
    /// The spans of the syncs that have writes in flight.
    pub(crate) syncs: FxHashMap<ServiceKey, Span>,
}

/// The inputs of the task.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) batches: mpsc::Receiver<Received>,
    pub(crate) leading: Leading,
    pub(crate) stop: CancellationToken,
}

/// Whether this process may write.
#[derive(Debug)]
pub(crate) enum Leading {
    /// There is no leader election.
    Always,
    Elected(watch::Receiver<bool>),
    /// Leader election has ended, so a lost lease would not be noticed: better none than two.
    Never,
}

// === impl Owner ===

impl Owner {
    pub(crate) async fn run(mut self, mut inputs: Inputs) {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.lead(inputs.leading.now());
        loop {
            let has_more = self.carry_out();
            let due = self.due();
            tokio::select! {
                () = inputs.stop.cancelled() => break,
                Some(batch) = inputs.batches.recv() => self.take_in(batch),
                Some(ended) = self.writes.next() => self.ended(ended),
                leading = inputs.leading.changed() => self.lead(leading),
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                _ = beat.tick() => self.beat(),
                () = tokio::task::yield_now(), if has_more => {}
            }
            self.take(&mut inputs.batches);
            self.tell_synced();
        }
        self.finish().await;
    }

    /// Takes the inputs that have arrived, up to a limit.
    fn take(&mut self, batches: &mut mpsc::Receiver<Received>) {
        for _ in 0..TAKEN {
            let Ok(batch) = batches.try_recv() else { break };
            self.take_in(batch);
        }
        for _ in 0..TAKEN {
            let Some(ended) = self.writes.try_next() else { break };
            self.ended(ended);
        }
    }

    fn take_in(&mut self, Received { batch, .. }: Received) {
        let wall = Timestamp::now().as_second();
        self.intake.take(&mut self.engine, batch, wall);
    }

    /// Returns whether there may be more effects.
    fn carry_out(&mut self) -> bool {
        for _ in 0..CARRIED_OUT {
            match self.engine.poll(self.now()) {
                None => return false,
                Some(Effect::Write(write)) => {
                    let span = self.syncs.entry(write.service.clone());
                    let span = span.or_insert_with_key(sync_span).clone();
                    let (writes, topology) = (&mut self.writes, self.engine.topology());
                    span.in_scope(|| writes.start(&write, topology, Timestamp::now()));
                }
                Some(Effect::Event(event)) => self.recorder.record(event),
                Some(Effect::Synced(report)) => {
                    self.metrics.synced(&report);
                    let span = self.syncs.remove(&report.service);
                    let span = span.unwrap_or_else(|| sync_span(&report.service));
                    span.in_scope(|| log(&report));
                }
            }
        }
        true
    }

    fn ended(&mut self, ended: Ended) {
        let Ended { ticket, verb, answer, took, trigger } = ended;
        let outcome = match answer {
            Answer::Told(outcome) => outcome,
            Answer::Slice(slice) => match slice.seen(self.engine.topology_mut()) {
                Ok(seen) if verb == Verb::Read => Outcome::Read(Box::new(seen)),
                Ok(seen) => Outcome::Stored(Box::new(seen)),
                Err(error) => {
                    let message = format!("invalid EndpointSlice in the answer: {error}");
                    Outcome::Refused { code: 422, message }
                }
            },
        };
        self.metrics.wrote(verb, &outcome, took);
        if let (Outcome::Stored(_), Some(trigger)) = (&outcome, trigger) {
            let since = Timestamp::from_second(trigger).unwrap_or(Timestamp::MAX);
            let after = Timestamp::now().duration_since(since);
            self.metrics.slice_written(after.try_into().unwrap_or_default());
        }
        let now = self.now();
        self.engine.done(now, ticket, outcome);
    }

    fn lead(&mut self, leading: bool) {
        self.metrics.leader(leading);
        self.engine.lead(leading);
        tracing::debug!(leading, "leadership changed");
    }

    fn tell_synced(&mut self) {
        if self.synced.is_none() || !self.engine.is_synced() {
            return;
        }
        self.vitals.synced();
        self.beat();
        tracing::info!("caches synced");
        // The receiver may be gone.
        let _ = self.synced.take().map(|synced| synced.send(()));
    }

    fn beat(&mut self) {
        self.vitals.beat(Instant::now());
        let totals = self.engine.totals();
        if totals.withdrawn != self.n_withdrawn {
            self.n_withdrawn = totals.withdrawn;
            let services = totals.withdrawn;
            tracing::info!(services, "Services left to kube-controller-manager changed");
        }
        self.metrics.totals(totals);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn due(&self) -> Option<Instant> {
        let due = self.start + self.engine.next_due()?;
        Some(due.max(Instant::now() + PAUSE))
    }

    /// Starts no sync, and waits for writes in flight.
    async fn finish(mut self) {
        self.lead(false);
        let deadline = Instant::now() + PATIENCE;
        while let Ok(Some(ended)) = timeout_at(deadline, self.writes.next()).await {
            self.ended(ended);
            self.carry_out();
        }
        if self.writes.len() > 0 {
            tracing::warn!(writes = self.writes.len(), "shutting down with unanswered writes");
        }
    }
}

// === impl Leading ===

impl Leading {
    fn now(&mut self) -> bool {
        match self {
            Leading::Always => true,
            Leading::Elected(leading) => *leading.borrow_and_update(),
            Leading::Never => false,
        }
    }

    /// The new value, when it changes. Cancel safe.
    async fn changed(&mut self) -> bool {
        let Leading::Elected(leading) = self else { return std::future::pending().await };
        if leading.changed().await.is_err() {
            *self = Leading::Never;
        }
        self.now()
    }
}

/// Enabled also where only warnings are logged, which are to name the Service.
fn sync_span(service: &ServiceKey) -> Span {
    tracing::error_span!("sync", %service)
}

fn log(report: &Report) {
    let Report { result, policy, hints_changed, hints_reason, took, .. } = report;
    let Report { slices_created, slices_updated, slices_deleted, .. } = report;
    if let Some(slice) = &report.altered {
        tracing::warn!(%slice, "API server stored an EndpointSlice differently from what was sent");
    }
    let retry_in = report.retry_in.unwrap_or_default();
    match result {
        SyncResult::Success if *hints_changed > 0 => {
            let slices = slices_created + slices_updated + slices_deleted;
            let (endpoints, reason) = (hints_changed, hints_reason);
            tracing::info!(?policy, reason, endpoints, slices, ?took, "hints changed");
        }
        SyncResult::Success if report.shares_changed > 0 => {
            let slices = slices_created + slices_updated + slices_deleted;
            tracing::info!(?policy, slices, ?took, "zone shares changed");
        }
        SyncResult::Success => {
            tracing::debug!(
                ?policy,
                slices_created,
                slices_updated,
                slices_deleted,
                ?took,
                "synced"
            );
        }
        SyncResult::Stale => tracing::debug!("cache is stale, retrying"),
        SyncResult::Throttled => {
            tracing::debug!("API server is busy, retrying in {retry_in:?}");
        }
        SyncResult::Error => {
            let error = report.problem.as_deref().unwrap_or_default();
            match report.retry_in {
                Some(pause) => {
                    tracing::warn!(error, ?took, "sync failed, retrying in {pause:?}");
                }
                // There is nothing to retry until the Service changes, and it was logged on arrival.
                None => tracing::debug!(error, "Service is invalid"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
