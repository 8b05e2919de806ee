//! The single writer: a thread that takes writes in order of arrival and answers when they are
//! durable.
//!
//! It takes the first write and everything else queued by then, checks each against the committed
//! state plus the batch so far, appends, syncs once, publishes to readers, notifies watchers, and
//! only then answers. So a batch is what arrived during the previous sync: one connection pays for
//! one sync, many share it. If the journal fails, the whole batch is rejected and nothing of it was
//! ever visible, not even in an error. If it fails for lack of space, writes that shrink the state
//! are retried without the others (`reserved`).
//!
//! Resources held by a write until it is decided are passed along (see [`OnDecided`]): the client
//! may be gone by then.

mod commit;
pub(crate) mod probe;
mod reserved;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use evenkeel_store::{
    batch::{Outcome, Refused, Requires, Write},
    journal::{Journal, JournalError},
    object::{Change, ResourceId},
    state::State,
};
use parking_lot::RwLock;
use tokio::sync::{mpsc, oneshot};

pub use self::commit::{Committer, register};

/// Maximum number of writes in a batch. Bounds the time a write waits for others, and the frame.
const BATCH: usize = 512;
/// Approximate number of bytes after which a batch takes no more writes.
const BATCH_BYTES: usize = 8 << 20;
/// Maximum number of queued writes; further senders wait.
const QUEUE: usize = 1024;
/// Maximum number of resources of one process, of which those whose definitions were deleted still
/// count. Bounds what clients can use up by names alone to a few tens of MB.
const RESOURCES: usize = 100_000;

/// Sends writes to the writer. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WriteHandle {
    queue: mpsc::Sender<Pending>,
}

/// The writer's thread. It stops when it or all [`WriteHandle`] are dropped, after processing what
/// was sent.
#[derive(Debug)]
pub struct Writer {
    thread: Option<JoinHandle<()>>,
    queue: mpsc::WeakSender<Pending>,
}

/// Why a write failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("{limit} resources have been registered since the start: restart the server")]
    TooManyResources { limit: usize },
    #[error("the server is shutting down: retry later")]
    Stopped,
}

/// The result of a write.
pub type WriteResult = Result<Outcome, WriteError>;

/// Called once with the result of a write: before readers can see the change, and whether or not
/// the client still waits. Dropped without a call if the write was never processed.
pub type OnDecided = Box<dyn FnOnce(&WriteResult) + Send>;

/// A write with its options.
pub struct WriteRequest {
    pub write: Write,
    pub requires: Requires,
    /// Delete the written version, in the same batch.
    pub then_delete: bool,
    pub on_decided: Option<OnDecided>,
}

#[derive(Debug)]
enum Pending {
    Write(WriteRequest, oneshot::Sender<WriteResult>),
    Register(Box<str>, oneshot::Sender<Result<ResourceId, WriteError>>),
    Probe(oneshot::Sender<()>),
    Stop,
}

impl From<Write> for WriteRequest {
    fn from(write: Write) -> WriteRequest {
        WriteRequest { write, requires: Requires::Nothing, then_delete: false, on_decided: None }
    }
}

impl std::fmt::Debug for WriteRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteRequest").field("write", &self.write).finish_non_exhaustive()
    }
}

impl WriteHandle {
    /// Sends a write, and returns the result once it is durable. Dropping the future does not cancel the
    /// write.
    pub async fn write(&self, request: impl Into<WriteRequest>) -> WriteResult {
        let (answer, answered) = oneshot::channel();
        let sent = self.queue.send(Pending::Write(request.into(), answer)).await;
        sent.map_err(|_| WriteError::Stopped)?;
        answered.await.unwrap_or(Err(WriteError::Stopped))
    }

    /// The id of a resource; a new one if the name is new. It becomes durable with the first object
    /// written to it.
    pub async fn register(&self, name: &str) -> Result<ResourceId, WriteError> {
        let (answer, answered) = oneshot::channel();
        let sent = self.queue.send(Pending::Register(name.into(), answer)).await;
        sent.map_err(|_| WriteError::Stopped)?;
        answered.await.unwrap_or(Err(WriteError::Stopped))
    }

    /// Makes a journal that rejects writes try again, and waits for that.
    pub async fn probe(&self) {
        let (done, is_done) = oneshot::channel();
        if self.queue.send(Pending::Probe(done)).await.is_ok() {
            let _ = is_done.await;
        }
    }

    /// Whether the writer accepts no more writes: it was stopped, or it panicked.
    pub fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

impl Writer {
    /// Starts the thread. `published` is called with newly visible changes, before the answers.
    pub fn start(
        journal: impl Journal + 'static,
        state: Arc<RwLock<State>>,
        published: impl FnMut(&[Change]) + Send + 'static,
    ) -> io::Result<(Writer, WriteHandle)> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let committer = Committer::new(journal, state, published);
        let thread = std::thread::Builder::new().name("writer".to_owned());
        let thread = thread.spawn(move || {
            let _log_panic = LogPanic;
            run(committer, waiting);
        })?;
        let writer = Writer { thread: Some(thread), queue: queue.downgrade() };
        Ok((writer, WriteHandle { queue }))
    }

    /// Rejects new writes, processes those that were sent, and waits for that.
    pub fn stop(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if let Some(queue) = self.queue.upgrade() {
            let mut stop = Pending::Stop;
            // The queue is full only while the thread works on it.
            while let Err(mpsc::error::TrySendError::Full(back)) = queue.try_send(stop) {
                stop = back;
                std::thread::yield_now();
            }
        }
        let _ = thread.join();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Only a replay can tell what a panic left in the journal: the thread is not restarted.
struct LogPanic;

impl Drop for LogPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("writer panicked: writes fail until the process is restarted");
        }
    }
}

fn run(mut committer: Committer<impl Journal>, mut waiting: mpsc::Receiver<Pending>) {
    let (mut requests, mut answers, mut probes) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(first) = waiting.blocking_recv() {
        let mut next = Some(first);
        let mut bytes = 0;
        while let Some(pending) = next {
            match pending {
                Pending::Stop => waiting.close(),
                Pending::Probe(done) => probes.push(done),
                Pending::Register(name, answer) => {
                    let _ = answer.send(committer.register(&name));
                }
                Pending::Write(request, answer) => {
                    bytes += request.write.object.as_ref().map_or(0, |object| object.encoded.len());
                    requests.push(request);
                    answers.push(answer);
                }
            }
            let more = requests.len() < BATCH && bytes < BATCH_BYTES;
            next = more.then(|| waiting.try_recv().ok()).flatten();
        }
        for (answer, outcome) in answers.drain(..).zip(committer.commit(requests.drain(..))) {
            // The client may be gone; the write stands.
            let _ = answer.send(outcome);
        }
        if !probes.is_empty() {
            committer.probe();
        }
        committer.compact();
        for done in probes.drain(..) {
            let _ = done.send(());
        }
    }
}
