//! What the verbs see of the store: reads from memory, writes through the one writer, and a bell
//! for those who wait for changes.

use std::{sync::Arc, time::Duration};

use evenkeel_store::{
    Expect, JournalError, NewObject, Object, Outcome, Refused, ResourceId, Revision, State, View,
    Write,
};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::Notify;

use crate::{
    kinds::Kind,
    status::{Failure, Result},
    writer::{WriteError, Writes},
};

/// How long a read waits for a revision that has not come yet. As Kubernetes does.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(crate) struct Storage {
    state: Arc<RwLock<State>>,
    writer: Writes,
    bells: Arc<Bells>,
}

/// One bell a resource, and one for all.
#[derive(Debug)]
pub(crate) struct Bells {
    each: Vec<Notify>,
    any: Notify,
}

impl Storage {
    pub(crate) fn new(state: Arc<RwLock<State>>, writer: Writes, bells: Arc<Bells>) -> Storage {
        Storage { state, writer, bells }
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    /// What a resource has, to be read without the lock.
    pub(crate) fn view(&self, resource: ResourceId) -> View {
        self.state().view(resource)
    }

    pub(crate) fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.state().object(kind.id(), key).cloned()
    }

    pub(crate) fn bell(&self, resource: ResourceId) -> &Notify {
        &self.bells.each[usize::from(resource.0)]
    }

    pub(crate) fn forget_history(&self) {
        self.state.write().compact();
    }

    /// Waits until a revision is there, or answers with Kubernetes' time-out.
    pub(crate) async fn reach(&self, revision: Revision) -> Result<()> {
        if self.state().revision() >= revision {
            return Ok(());
        }
        let arrival = async {
            loop {
                let rung = self.bells.any.notified();
                if self.state().revision() >= revision {
                    return;
                }
                rung.await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, arrival).await;
        waited.map_err(|_| Failure::future_version(revision, self.state().revision()))
    }

    /// Writes, and says what is there now.
    pub(crate) async fn write(
        &self,
        kind: &Kind,
        key: &str,
        expect: Expect,
        object: Option<NewObject>,
    ) -> Result<std::result::Result<Outcome, Refused>> {
        let write = Write { resource: kind.id(), key: key.into(), expect, object };
        match self.writer.write(write).await {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(WriteError::Refused(refused)) => Ok(Err(refused)),
            Err(WriteError::Journal(problem @ JournalError::Full { .. })) => {
                Err(Failure::no_space(problem.to_string()))
            }
            Err(WriteError::Journal(problem)) => Err(Failure::internal_error(&problem.to_string())),
            Err(WriteError::Stopped) => Err(Failure::unavailable("the server is shutting down")),
        }
    }

    /// Has a journal that refuses writes try again, and waits for that.
    pub(crate) async fn probe(&self) {
        self.writer.probe().await;
    }

    /// Rings at the next change of anything.
    pub(crate) fn any_change(&self) -> tokio::sync::futures::Notified<'_> {
        self.bells.any.notified()
    }
}

impl Bells {
    pub(crate) fn new(n_resources: usize) -> Bells {
        Bells { each: (0..n_resources).map(|_| Notify::new()).collect(), any: Notify::new() }
    }

    pub(crate) fn ring(&self, resources: impl Iterator<Item = ResourceId>) {
        for resource in resources {
            self.each[usize::from(resource.0)].notify_waiters();
        }
        self.any.notify_waiters();
    }
}
