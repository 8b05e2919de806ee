//! The store as the verbs see it: reads from memory, writes through the single writer, and
//! notification of changes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use evenkeel_store::{
    Expect, JournalError, NewObject, Object, Outcome, Refused, ResourceId, Revision, State, View,
    Write,
};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::Notify;

use crate::{
    kinds::Kind,
    registry::{self, Error},
    status::{Failure, Result},
    writer::{OnDecided, WriteError, WriteHandle, WriteRequest},
};

/// How long a read waits for a future revision. Same as Kubernetes.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Storage {
    state: Arc<RwLock<State>>,
    writer: WriteHandle,
    notifier: Arc<ChangeNotifier>,
}

/// The desired content of a key.
#[derive(Debug)]
pub(crate) enum Next {
    Version(NewObject),
    Nothing,
    /// Nothing, after a version that only watchers see.
    NothingAfter(NewObject),
}

/// Wakes those who wait for changes: of one resource, or of any.
#[derive(Debug)]
pub(crate) struct ChangeNotifier {
    each: Vec<Notify>,
    /// How many batches have changed each resource.
    counts: Vec<AtomicU64>,
    any: Notify,
}

impl Storage {
    pub(crate) fn new(
        state: Arc<RwLock<State>>,
        writer: WriteHandle,
        notifier: Arc<ChangeNotifier>,
    ) -> Storage {
        Storage { state, writer, notifier }
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    /// A resource, to be read without the lock.
    pub(crate) fn view(&self, resource: ResourceId) -> View {
        self.state().view(resource)
    }

    pub(crate) fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.state().object(kind.id(), key).cloned()
    }

    pub(crate) fn notify_of(&self, resource: ResourceId) -> &Notify {
        &self.notifier.each[usize::from(resource.0)]
    }

    /// Grows with every change of these resources: as long as it is equal, they are.
    pub(crate) fn n_changes(&self, resources: &[ResourceId]) -> u64 {
        let count = |id: &ResourceId| &self.notifier.counts[usize::from(id.0)];
        resources.iter().map(|id| count(id).load(Ordering::Acquire)).sum()
    }

    pub(crate) fn forget_history(&self) {
        self.state.write().compact();
    }

    /// Waits until a revision is reached, or fails with Kubernetes' timeout.
    pub(crate) async fn reach(&self, revision: Revision) -> Result<()> {
        if self.state().revision() >= revision {
            return Ok(());
        }
        let arrival = async {
            loop {
                let changed = self.notifier.any.notified();
                if self.state().revision() >= revision {
                    return;
                }
                changed.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, arrival).await;
        waited.map_err(|_| Failure::future_version(revision, self.state().revision()))
    }

    /// Writes, and returns the result. `before` is the version that must be present. `on_decided`
    /// is run when the write is decided, even if the caller stops waiting.
    pub(crate) async fn write(
        &self,
        kind: &Kind,
        key: &str,
        before: Option<&Object>,
        next: Next,
        on_decided: Option<OnDecided>,
    ) -> registry::Result<std::result::Result<Outcome, Refused>> {
        let expect = before.map_or(Expect::Absent, |before| Expect::Revision(before.revision));
        let (object, then_delete) = match next {
            Next::Version(object) => (Some(object), false),
            Next::NothingAfter(object) => (Some(object), true),
            Next::Nothing => (None, false),
        };
        let write = Write { resource: kind.id(), key: key.into(), expect, object };
        match self.writer.write(WriteRequest { write, then_delete, on_decided }).await {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(WriteError::Refused(refused)) => Ok(Err(refused)),
            Err(WriteError::Journal(problem @ JournalError::Full { .. })) => {
                Err(Error::NoSpace(problem.to_string()))
            }
            Err(WriteError::Journal(problem)) => Err(Error::Internal(problem.to_string())),
            Err(WriteError::Stopped) => Err(Error::ShuttingDown),
        }
    }

    /// Makes a journal that rejects writes try again, and waits for that.
    pub(crate) async fn probe(&self) {
        self.writer.probe().await;
    }

    /// Notified at the next change of any object.
    pub(crate) fn any_change(&self) -> tokio::sync::futures::Notified<'_> {
        self.notifier.any.notified()
    }
}

impl ChangeNotifier {
    pub(crate) fn new(n_resources: usize) -> ChangeNotifier {
        ChangeNotifier {
            each: (0..n_resources).map(|_| Notify::new()).collect(),
            counts: (0..n_resources).map(|_| AtomicU64::new(0)).collect(),
            any: Notify::new(),
        }
    }

    pub(crate) fn notify(&self, resources: impl Iterator<Item = ResourceId>) {
        for resource in resources {
            let index = usize::from(resource.0);
            self.counts[index].fetch_add(1, Ordering::Release);
            self.each[index].notify_waiters();
        }
        self.any.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
