//! Health, probed all the time over new connections, and compared with the real state.

use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use std::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::Life;
use crate::hostile::raw;

const BETWEEN: Duration = Duration::from_millis(200);
/// Longer than a response takes on a machine that is busy with the attack itself.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long readiness may take to follow the disk.
const GRACE: Duration = Duration::from_secs(3);
const RECOVERY: Duration = Duration::from_secs(12);

/// The real state of the disk.
#[derive(Debug, Default)]
pub(super) struct Disk(Mutex<State>);

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Fine,
    /// From that moment on every write was rejected.
    Full(Option<Instant>),
    /// Space was freed at this time.
    Recovering(Instant),
}

/// The expected readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    Ready,
    NotReady,
    /// It is changing now.
    Either,
}

impl Disk {
    pub(super) fn is_full(&self) {
        *self.0.lock().unwrap() = State::Full(None);
    }

    pub(super) fn has_space(&self) {
        *self.0.lock().unwrap() = State::Recovering(Instant::now());
    }

    /// A write found no space.
    pub(super) fn refused(&self) {
        if let State::Full(since @ None) = &mut *self.0.lock().unwrap() {
            *since = Some(Instant::now());
        }
    }

    /// A write other than a delete was accepted: the server has freed space, for example by a
    /// snapshot.
    pub(super) fn accepted(&self) {
        if let State::Full(since) = &mut *self.0.lock().unwrap() {
            *since = None;
        }
    }

    fn truth(&self, asked: Instant) -> Truth {
        match *self.0.lock().unwrap() {
            State::Fine => Truth::Ready,
            State::Full(Some(since)) if asked > since + GRACE => Truth::NotReady,
            State::Recovering(since) if asked > since + RECOVERY => Truth::Ready,
            State::Full(_) | State::Recovering(_) => Truth::Either,
        }
    }
}

pub(super) async fn probe(life: &Life, until: Instant) {
    while Instant::now() < until {
        let asked = Instant::now();
        let before = life.disk.truth(asked);
        if let Some(code) = code(life, "/livez").await
            && code != 200
        {
            life.problem(format!("/livez answered {code}"));
        }
        let ready = code(life, "/readyz").await;
        // Only a state that held before and after is compared with the response.
        let truth = match life.disk.truth(asked) {
            after if after == before => after,
            _ => Truth::Either,
        };
        match (truth, ready) {
            (Truth::Ready, Some(code)) if code != 200 => {
                life.problem(format!("/readyz answered {code} and there is space"));
            }
            (Truth::NotReady, Some(200)) => {
                life.problem("/readyz answered 200 on a full disk".into());
            }
            _ => {}
        }
        sleep(BETWEEN).await;
    }
}

async fn code(life: &Life, path: &str) -> Option<u16> {
    life.totals.probes.fetch_add(1, Ordering::Relaxed);
    let head = format!("GET {path} HTTP/1.1");
    match timeout(PATIENCE, raw::try_ask(&life.cluster.server, &head)).await {
        Ok(Ok(code)) => Some(code),
        Ok(Err(problem)) => {
            life.problem(format!("{path}: {problem}"));
            None
        }
        Err(_) => {
            life.problem(format!("{path}: no answer within {PATIENCE:?}"));
            None
        }
    }
}
