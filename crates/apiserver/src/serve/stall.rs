//! Responses that their client does not read.
//!
//! A body is polled for its next chunk once the previous one has been accepted: by the windows of
//! HTTP/2, by the socket buffer on HTTP/1. A task that writes responses is aborted when a chunk has
//! waited longer than the limit, or on request ([`Kill`]). On HTTP/2 each stream has its own task,
//! and aborting it resets the stream, whatever the client's windows; on HTTP/1 it is that of the
//! connection.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use hyper::rt::Executor;
use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};

use super::metrics::ConnectionMetrics;

tokio::task_local! {
    static PROGRESS: Progress;
}

/// Whether the client of a task reads its responses.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// Since when a chunk has been waiting.
    since: Mutex<Option<Instant>>,
    cut: Notify,
}

/// Aborts a response that is not read: its stream, on HTTP/1 its connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kill(Progress);

/// Runs the streams of HTTP/2 connections.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    pub(super) limit: Duration,
    pub(super) metrics: ConnectionMetrics,
}

/// Runs a task that writes responses, until its client stops reading.
pub(super) async fn guarded(
    task: impl Future<Output = ()>,
    limit: Duration,
    metrics: &ConnectionMetrics,
) {
    let progress = Progress::default();
    let mut task = pin!(PROGRESS.scope(progress.clone(), task));
    let mut cut = pin!(progress.0.cut.notified());
    let mut timer = pin!(sleep(limit));
    let is_stalled = poll_fn(|context| {
        if task.as_mut().poll(context).is_ready() {
            return Poll::Ready(false);
        }
        if cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(true);
        }
        let Some(since) = progress.waiting_since() else { return Poll::Pending };
        if timer.deadline() != since + limit {
            timer.as_mut().reset(since + limit);
        }
        timer.as_mut().poll(context).map(|()| true)
    });
    if is_stalled.await {
        metrics.stalled.inc();
        tracing::debug!("client does not read, aborting its response");
    }
}

// === impl Progress ===

impl Progress {
    /// That of the current task.
    pub(super) fn current() -> Progress {
        PROGRESS.try_with(Progress::clone).unwrap_or_default()
    }

    /// A chunk is waiting.
    pub(super) fn waits(&self) {
        *self.0.since.lock() = Some(Instant::now());
    }

    /// The chunk was accepted.
    pub(super) fn moves(&self) {
        *self.0.since.lock() = None;
    }

    pub(super) fn kill(&self) -> Kill {
        Kill(self.clone())
    }

    fn waiting_since(&self) -> Option<Instant> {
        *self.0.since.lock()
    }
}

// === impl Kill ===

impl Kill {
    pub(crate) fn cut(&self) {
        self.0.0.cut.notify_one();
    }
}

// === impl Streams ===

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let Streams { limit, metrics } = self.clone();
        tokio::spawn(async move { guarded(stream, limit, &metrics).await });
    }
}
