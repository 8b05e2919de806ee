//! Runs leader election against an API server.

use std::{error::Error, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{Answer, Election, Settings, Step, record};

/// Of all failures, at most one warning in this time.
const QUIET: Duration = Duration::from_secs(60);

/// Takes part in an election until `stop`, then releases the Lease if it holds it. `leading` is
/// true while this process leads, and false when this returns or is dropped.
///
/// Returns at once when the settings are not valid: see [`Settings::validate`].
pub async fn run(
    client: Client,
    settings: Settings,
    leading: watch::Sender<bool>,
    stop: CancellationToken,
) {
    let leading = Leading { send: leading, identity: settings.identity.clone() };
    leading.report(false);
    if let Err(problem) = settings.validate() {
        tracing::error!(error = %problem, "invalid leader election settings");
        return;
    }
    let mut election = Election::new(&settings);
    let mut shell = Shell::new(client, settings);
    let mut is_stopping = false;
    loop {
        let step = election.next(shell.now(), rand::random());
        leading.report(election.is_leading(shell.now()));
        let done = match step {
            Step::Done => return,
            Step::StandDown => continue,
            Step::Wait { until } => {
                let stopped = stop.run_until_cancelled(sleep_until(shell.at(until))).await;
                stopped.map(|()| None)
            }
            _ if is_stopping => Some(Some(shell.carry_out(step, election.answer_by()).await)),
            _ => {
                let by = election.answer_by();
                stop.run_until_cancelled(shell.carry_out(step, by)).await.map(Some)
            }
        };
        match done {
            Some(Some(answer)) => election.answer(shell.now(), answer),
            Some(None) => {}
            None => {
                is_stopping = true;
                election.stop(shell.now());
            }
        }
    }
}

struct Shell {
    api: Api<Lease>,
    settings: Settings,
    start: Instant,
    /// As last read or written.
    lease: Option<Lease>,
    /// When a failure was last logged as a warning.
    logged: Option<Instant>,
}

/// Reports false when it is dropped.
struct Leading {
    send: watch::Sender<bool>,
    identity: String,
}

// === impl Shell ===

impl Shell {
    fn new(client: Client, settings: Settings) -> Shell {
        let api = Api::namespaced(client, &settings.namespace);
        Shell { api, settings, start: Instant::now(), lease: None, logged: None }
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn at(&self, moment: Duration) -> Instant {
        self.start + moment
    }

    async fn carry_out(&mut self, step: Step, by: Duration) -> Answer {
        let by = self.at(by);
        let Ok(answer) = timeout_at(by, self.ask(step)).await else {
            self.failed(step, "timed out");
            return Answer::Failed;
        };
        match answer {
            Ok(lease) => {
                self.lease = lease;
                Answer::Lease(self.lease.as_ref().map(record::seen))
            }
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                let error = status.message;
                tracing::debug!(?step, error, "lease was changed by another process");
                Answer::Conflict
            }
            Err(problem) => {
                self.failed(step, &reason(&problem));
                Answer::Failed
            }
        }
    }

    async fn ask(&self, step: Step) -> kube::Result<Option<Lease>> {
        let Settings { name, .. } = &self.settings;
        let (api, post) = (&self.api, PostParams::default());
        if step == Step::Read {
            return api.get_opt(name).await;
        }
        let current = self.lease.as_ref().filter(|_| step != Step::Create);
        let lease = record::written(step, current, &self.settings, Timestamp::now());
        match step {
            Step::Create => api.create(&post, &lease).await.map(Some),
            _ => api.replace(name, &post, &lease).await.map(Some),
        }
    }

    fn failed(&mut self, step: Step, error: &str) {
        let (now, pause) = (Instant::now(), self.settings.retry);
        if self.logged.is_some_and(|logged| now - logged < QUIET) {
            tracing::debug!(?step, error, "lease request failed, retrying in {pause:?}");
            return;
        }
        self.logged = Some(now);
        tracing::warn!(?step, error, "lease request failed, retrying in {pause:?}");
    }
}

/// The innermost cause: kube's own text leaves it out.
fn reason(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return format!("{} ({})", status.message, status.code);
    }
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

// === impl Leading ===

impl Leading {
    fn report(&self, is_leading: bool) {
        let has_changed = self.send.send_if_modified(|last| {
            let has_changed = *last != is_leading;
            *last = is_leading;
            has_changed
        });
        let identity = &self.identity;
        match (has_changed, is_leading) {
            (true, true) => tracing::info!(identity, "became leader"),
            (true, false) => tracing::info!(identity, "lost leadership"),
            (false, _) => {}
        }
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.report(false);
    }
}
