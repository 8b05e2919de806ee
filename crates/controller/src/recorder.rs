//! Events on Services, as Kubernetes' own recorder makes them.
//!
//! [`correlator`] decides what becomes of an Event; a task carries it out. The engine never waits for
//! it: what does not fit into the queue is dropped and counted.

mod correlator;
mod event;

use std::{sync::Arc, time::Duration};

use evenkeel_admin::supervisor::caught;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::{
    Client, Resource,
    api::{Patch, PatchParams, PostParams},
    core::request::{Error, Request},
};
use serde::de::IgnoredAny;
use tokio::sync::mpsc;

use self::correlator::{Correlator, Decision, Record};
use crate::{
    ask::{Built, Failure, ask},
    engine::ServiceEvent,
    metrics::{EventEnd, Metrics},
};

/// Events that wait to be written.
const WAITING: usize = 4096;

/// The pauses after which an Event is tried again.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Where the engine's Events go.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    send: mpsc::Sender<ServiceEvent>,
    metrics: Arc<Metrics>,
}

/// The recorder, and what writes its Events until it and all its clones are gone.
pub(crate) fn recorder(
    client: Client,
    metrics: Arc<Metrics>,
) -> (Recorder, impl Future<Output = ()>) {
    let (send, receive) = mpsc::channel(WAITING);
    let recorder = Recorder { send, metrics: Arc::clone(&metrics) };
    (recorder, write_all(client, receive, metrics))
}

// === impl Recorder ===

impl Recorder {
    /// Never waits.
    pub(crate) fn record(&self, event: ServiceEvent) {
        if self.send.try_send(event).is_err() {
            self.metrics.event(EventEnd::Dropped);
        }
    }
}

async fn write_all(
    client: Client,
    mut receive: mpsc::Receiver<ServiceEvent>,
    metrics: Arc<Metrics>,
) {
    let mut correlator = Correlator::default();
    while let Some(event) = receive.recv().await {
        // A panic costs this Event and no other.
        let end = caught(async {
            let decision = correlator.decide(&event, Timestamp::now());
            write(&client, &event, &decision).await
        });
        metrics.event(end.await.unwrap_or(EventEnd::Failed));
    }
}

async fn write(client: &Client, event: &ServiceEvent, decision: &Decision) -> EventEnd {
    let (written, end) = match decision {
        Decision::Drop => return EventEnd::Dropped,
        Decision::Create(record) => (create(client, event, record).await, EventEnd::Created),
        Decision::Patch(record) => match patch(client, event, record).await {
            // Somebody deleted it, or it is older than the API server keeps Events.
            Err(failure) if failure.code() == Some(404) => {
                (create(client, event, record).await, EventEnd::Created)
            }
            written => (written, EventEnd::Patched),
        },
    };
    match written {
        Ok(()) => end,
        // An earlier try of ours was carried out after all.
        Err(failure) if failure.code() == Some(409) => end,
        Err(failure) => {
            let ServiceEvent { service, reason, .. } = event;
            tracing::debug!(%service, reason, error = %failure, "writing an Event failed");
            EventEnd::Failed
        }
    }
}

async fn create(client: &Client, event: &ServiceEvent, record: &Record) -> Result<(), Failure> {
    let body = event::object(event, record);
    send(client, || {
        let body = serde_json::to_vec(&body).map_err(Error::SerializeBody)?;
        path(event).create(&PostParams::default(), body)
    })
    .await
}

async fn patch(client: &Client, event: &ServiceEvent, record: &Record) -> Result<(), Failure> {
    let patch = Patch::Merge(event::again(record));
    send(client, || path(event).patch(&record.name, &PatchParams::default(), &patch)).await
}

fn path(event: &ServiceEvent) -> Request {
    Request::new(Event::url_path(&(), Some(event::namespace(event))))
}

/// Tries a few times if the API server is away or busy.
async fn send(client: &Client, build: impl Fn() -> Built) -> Result<(), Failure> {
    for pause in PAUSES {
        match ask::<IgnoredAny>(client, build()).await {
            Err(failure) if failure.may_pass() => tokio::time::sleep(pause).await,
            asked => return asked.map(drop),
        }
    }
    ask::<IgnoredAny>(client, build()).await.map(drop)
}

#[cfg(test)]
mod tests;
