//! The task that owns the engine.
//!
//! It waits for whatever comes first: what the watches saw, the end of a write, the lease won or
//! lost, the time that the engine named. Then it takes all else that has come, and only then asks
//! the engine what to do: so that a hundred changes of one Service are one plan.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{Effect, Engine, Outcome, Report, SyncResult},
    health::Vitals,
    intake::Intake,
    metrics::Metrics,
    recorder::Recorder,
    watches::Batch,
    writes::{Answer, Ended, Verb, Writes},
};

/// How often signs of life and totals are given.
const BEAT: Duration = Duration::from_secs(1);

/// Batches and ends of writes that are taken before the engine is asked, so that a flood of them
/// does not keep it from working.
const TAKEN: usize = 64;

/// Effects that are carried out before looking at what has come.
const CARRIED_OUT: usize = 256;

/// An engine that names a time that has passed is not asked more often than this.
const PAUSE: Duration = Duration::from_millis(1);

/// How long writes under way are waited for at the end.
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
    /// Told once, when the first lists are in.
    pub(crate) synced: Option<oneshot::Sender<()>>,
    /// Services left to Kubernetes' own controller, as last told.
    pub(crate) n_withdrawn: usize,
}

/// What comes from outside.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) batches: mpsc::Receiver<Batch>,
    pub(crate) leading: Leading,
    pub(crate) stop: CancellationToken,
}

/// Who says whether this process may write.
#[derive(Debug)]
pub(crate) enum Leading {
    /// It is alone.
    Always,
    Elected(watch::Receiver<bool>),
    /// Nobody is left who could say that the lease is lost: better none than two.
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
                Some(batch) = inputs.batches.recv() => self.intake.take(&mut self.engine, batch),
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

    /// What has come already, up to a bound.
    fn take(&mut self, batches: &mut mpsc::Receiver<Batch>) {
        for _ in 0..TAKEN {
            let Ok(batch) = batches.try_recv() else { break };
            self.intake.take(&mut self.engine, batch);
        }
        for _ in 0..TAKEN {
            let Some(ended) = self.writes.try_next() else { break };
            self.ended(ended);
        }
    }

    /// Whether there may be more to do at once.
    fn carry_out(&mut self) -> bool {
        for _ in 0..CARRIED_OUT {
            match self.engine.poll(self.now()) {
                None => return false,
                Some(Effect::Write(write)) => {
                    self.writes.start(&write, self.engine.topology(), Timestamp::now());
                }
                Some(Effect::Event(event)) => self.recorder.record(event),
                Some(Effect::Synced(report)) => {
                    self.metrics.synced(&report);
                    log(&report);
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
        // Whoever waited may have gone.
        let _ = self.synced.take().map(|synced| synced.send(()));
    }

    fn beat(&mut self) {
        self.vitals.beat(Instant::now());
        let totals = self.engine.totals();
        if totals.withdrawn != self.n_withdrawn {
            self.n_withdrawn = totals.withdrawn;
            let services = totals.withdrawn;
            tracing::info!(services, "Services left to kube-controller-manager");
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

    /// Plans nothing more, and waits for what is under way.
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

    /// What holds from now on, when it changes. May be dropped and called again.
    async fn changed(&mut self) -> bool {
        let Leading::Elected(leading) = self else { return std::future::pending().await };
        if leading.changed().await.is_err() {
            *self = Leading::Never;
        }
        self.now()
    }
}

fn log(report: &Report) {
    let Report { service, result, policy, hints_changed, hints_reason, took, .. } = report;
    let Report { slices_created, slices_updated, slices_deleted, .. } = report;
    if let Some(slice) = &report.altered {
        tracing::warn!(%service, %slice, "API server stored an EndpointSlice differently from what was sent");
    }
    let retry_in = report.retry_in.unwrap_or_default();
    match result {
        SyncResult::Success if *hints_changed > 0 => {
            tracing::info!(%service, ?policy, endpoints = hints_changed, reason = hints_reason, ?took, "hints changed");
        }
        SyncResult::Success => {
            tracing::debug!(%service, ?policy, slices_created, slices_updated, slices_deleted, ?took, "synced");
        }
        SyncResult::Stale => tracing::debug!(%service, "cache is behind, retrying"),
        SyncResult::Throttled => {
            tracing::debug!(%service, "API server is busy, retrying in {retry_in:?}");
        }
        SyncResult::Error => {
            let problem = report.problem.as_deref().unwrap_or_default();
            match report.retry_in {
                Some(pause) => {
                    tracing::warn!(%service, problem, "sync failed, retrying in {pause:?}");
                }
                // Nothing to retry until the Service changes, and it was told where it came in.
                None => tracing::debug!(%service, problem, "Service is invalid"),
            }
        }
    }
}

#[cfg(test)]
mod tests;
