//! Requests from the Nodes that are left, at a constant rate, whatever becomes of them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use evenkeel_proxy::NetworkNamespace;
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    recording::{Recent, Recording},
    schedule::Schedule,
    subject::{Drilled, Subject},
};
use crate::{
    curl::{Failure, Requests},
    error::Error,
    network::Record,
};

/// To wait for a connection, and then for the answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// What the progress line is about.
const RECENT: Duration = Duration::from_secs(3);

/// Each waiting request has a socket, of which a process has 1,024 by default.
const MOST_WAITING: usize = 500;

/// Requests that are being sent, until it is stopped.
#[derive(Debug)]
pub(super) struct Traffic {
    begun: Instant,
    recording: Arc<Mutex<Recording>>,
    stop: CancellationToken,
    sender: JoinHandle<()>,
}

/// Who sends to whom: by client, then by Service.
type Pairs = Vec<Vec<Arc<Requests>>>;

impl Traffic {
    /// `rate`: requests a second.
    pub(super) fn start(subject: &Subject, record: &Record, rate: u32) -> Result<Traffic, Error> {
        let pairs = pairs(subject, record)?;
        let weights = subject.clients.iter().map(|client| client.weight).collect();
        let schedule = Schedule::new(weights, subject.services.len());
        let (begun, recording) = (Instant::now(), Arc::<Mutex<Recording>>::default());
        let stop = CancellationToken::new();
        let sender = send(pairs, schedule, rate, begun, recording.clone(), stop.clone());
        Ok(Traffic { begun, recording, stop, sender: tokio::spawn(sender) })
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Of the last seconds. Answers to the newest requests are missing.
    pub(super) fn recent(&self) -> Recent {
        let from = self.elapsed().saturating_sub(RECENT);
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).since(from)
    }

    /// Waits for the outcome of every request.
    pub(super) async fn stop(self) -> Recording {
        self.stop.cancel();
        // A sender that panicked has recorded what it sent.
        let _ = self.sender.await;
        std::mem::take(&mut *self.recording.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn pairs(subject: &Subject, record: &Record) -> Result<Pairs, Error> {
    let of_client = |client: &super::subject::Client| {
        let netns = record.nodes.get(&*client.node).map_or("", String::as_str);
        let namespace = NetworkNamespace::named(netns)
            .map_err(|error| Error::Network { problem: format!("{}: {error}", client.node) })?;
        let to = subject.services.iter().filter_map(|one| requests(one, &namespace));
        Ok(to.map(Arc::new).collect())
    };
    subject.clients.iter().map(of_client).collect()
}

fn requests(service: &Drilled, namespace: &NetworkNamespace) -> Option<Requests> {
    let frontend = service.frontend?;
    Some(Requests {
        namespace: namespace.clone(),
        source: None,
        to: frontend.address,
        protocol: frontend.protocol,
        host: format!("{}.{}", service.key.name, service.key.namespace),
        path: "/".to_owned(),
        timeout: TIMEOUT,
    })
}

async fn send(
    pairs: Pairs,
    mut schedule: Schedule,
    rate: u32,
    begun: Instant,
    recording: Arc<Mutex<Recording>>,
    stop: CancellationToken,
) {
    let (waiting, tasks) = (Arc::new(Semaphore::new(MOST_WAITING)), TaskTracker::new());
    let mut due = interval(Duration::from_secs(1) / rate.max(1));
    // After a stall the rate is as before, and fewer requests are counted.
    due.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            _ = due.tick() => {}
        }
        let (client, service) = schedule.next();
        let Some(requests) = pairs.get(client).and_then(|of| of.get(service)).cloned() else {
            continue;
        };
        let recording = Arc::clone(&recording);
        let Ok(permit) = Arc::clone(&waiting).try_acquire_owned() else {
            recording.lock().unwrap_or_else(PoisonError::into_inner).unsent += 1;
            continue;
        };
        tasks.spawn(async move {
            let sent = begun.elapsed();
            let outcome: Result<_, Failure> = requests.send().await;
            drop(permit);
            let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            recording.record((client, service), sent, outcome);
        });
    }
    tasks.close();
    tasks.wait().await;
}
