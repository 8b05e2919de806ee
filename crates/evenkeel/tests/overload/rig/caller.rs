//! Callers that load a server from a core of their own, and callers that are measured meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    client::Client,
    server::{Server, Target},
    tally::Tally,
    users::User,
    work::{Work, Worker},
};

/// A user with one connection.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: User,
    work: Work,
    /// Not sooner after the start of the last one; otherwise when that is answered.
    period: Duration,
}

#[derive(Debug)]
struct Connected {
    caller: Caller,
    worker: Worker,
}

/// Callers that run in a thread of their own until they are stopped.
#[derive(Debug)]
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    tallies: oneshot::Receiver<Vec<Tally>>,
}

impl Caller {
    pub(crate) fn new(user: User, work: Work) -> Caller {
        Caller { user, work, period: Duration::ZERO }
    }

    pub(crate) fn every(self, period: Duration) -> Caller {
        Caller { period, ..self }
    }

    /// Holds its seat for a while: see [`Work::slowly`].
    pub(crate) fn slowly(self, hold: Duration) -> Caller {
        Caller { work: self.work.slowly(hold), ..self }
    }

    /// So many connections of it.
    pub(crate) fn times(self, n: usize) -> Vec<Caller> {
        vec![self; n]
    }

    async fn connect(self, target: &Target) -> Connected {
        let client = Client::connect(target, &self.user).await;
        let worker = Worker { client, tally: Tally::default(), last: Value::Null };
        Connected { caller: self, worker }
    }
}

impl Connected {
    async fn run(mut self, until: impl Fn() -> bool) -> Tally {
        while !until() {
            let next = Instant::now() + self.caller.period;
            self.worker.round(&self.caller.work).await;
            tokio::time::sleep_until(next.into()).await;
        }
        self.worker.tally
    }
}

/// So many callers of a load are measured among the others, so that a slow client slows both alike.
pub(crate) const PROBES: usize = 4;

/// One tally for each caller, in their order. All begin when all are connected. Takes that time even
/// if there is none.
pub(crate) async fn run(server: &Server, callers: Vec<Caller>, time: Duration) -> Vec<Tally> {
    let connected =
        join_all(callers.into_iter().map(|caller| caller.connect(&server.target))).await;
    let until = Instant::now() + time;
    let tallies = together(connected, move || Instant::now() >= until).await;
    tokio::time::sleep_until(until.into()).await;
    tallies
}

async fn together(
    callers: Vec<Connected>,
    until: impl Fn() -> bool + Clone + Send + 'static,
) -> Vec<Tally> {
    let running = callers.into_iter().map(|caller| tokio::spawn(caller.run(until.clone())));
    let running: Vec<_> = running.collect();
    join_all(running).await.into_iter().map(|ended| ended.expect("callers don't panic")).collect()
}

/// Starts a load, and returns when all its callers are connected. It comes from one thread: however
/// many callers there are, the server has the other cores, and those who are measured don't wait for
/// their client.
pub(crate) async fn load(server: &Server, callers: Vec<Caller>) -> Load {
    let (report, tallies) = oneshot::channel();
    let (ready, started) = oneshot::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let (target, stopped) = (server.target.clone(), stop.clone());
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = report.send(runtime.block_on(async {
            let connecting = callers.into_iter().map(|caller| caller.connect(&target));
            let connected = join_all(connecting).await;
            let _ = ready.send(());
            together(connected, move || stopped.load(Ordering::Relaxed)).await
        }));
    });
    started.await.expect("callers connect");
    Load { stop, tallies }
}

// === impl Load ===

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Load {
    /// All of them together.
    pub(crate) async fn stop(mut self) -> Tally {
        self.stop.store(true, Ordering::Relaxed);
        let tallies = (&mut self.tallies).await.expect("callers don't panic");
        tallies.into_iter().collect()
    }
}
