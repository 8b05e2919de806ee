//! The store as the verbs see it: reads from memory, writes through the single writer, and
//! notification of changes.

mod notifier;

use std::{sync::Arc, time::Duration};

use evenkeel_store::{
    Expect, JournalError, NewObject, Object, Outcome, Refused, Requires, ResourceId, Revision,
    State, View, Write,
};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::Notify;

use crate::{
    kinds::{CUSTOM_RESOURCE_DEFINITION, Kind, of_id},
    registry::{self, Error},
    status::{Failure, Result},
    writer::{OnDecided, WriteError, WriteHandle, WriteRequest},
};

pub(crate) use self::notifier::ChangeNotifier;

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
        self.notifier.of(resource)
    }

    /// Grows with every change of these resources: as long as it is equal, they are.
    pub(crate) fn n_changes(&self, resources: &[ResourceId]) -> u64 {
        resources.iter().map(|resource| self.notifier.n_changes(*resource)).sum()
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
                let changed = self.notifier.any().notified();
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
        let requires = self.requires(kind, key, &write);
        let request = WriteRequest { write, requires, then_delete, on_decided };
        match self.writer.write(request).await {
            Ok(outcome) => Ok(Ok(outcome)),
            Err(WriteError::Refused(refused)) => Ok(Err(refused)),
            Err(error) => Err(error.into()),
        }
    }

    /// An object of a custom resource is created only as long as its definition is there, and a
    /// definition is removed only when no such object is left, whatever comes at the same time.
    fn requires(&self, kind: &Kind, key: &str, write: &Write) -> Requires {
        let definitions = CUSTOM_RESOURCE_DEFINITION.id();
        match write.expect {
            Expect::Absent if kind.custom.is_some() => {
                Requires::Present(definitions, kind.resource().into())
            }
            Expect::Revision(_) if write.resource == definitions && write.object.is_none() => {
                // A definition that has the name of a built-in resource does not own its objects.
                let defined = self.state().resource(key).filter(|id| of_id(*id).is_none());
                defined.map_or(Requires::Nothing, Requires::Empty)
            }
            _ => Requires::Nothing,
        }
    }

    /// The id of a resource, such as `widgets.example.com`; a new one if the name is new.
    pub(crate) async fn register(&self, name: &str) -> registry::Result<ResourceId> {
        Ok(self.writer.register(name).await?)
    }

    /// Makes a journal that rejects writes try again, and waits for that.
    pub(crate) async fn probe(&self) {
        self.writer.probe().await;
    }

    /// Notified at the next change of any object.
    pub(crate) fn any_change(&self) -> tokio::sync::futures::Notified<'_> {
        self.notifier.any().notified()
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Error {
        match error {
            WriteError::Journal(JournalError::Full { .. }) => Error::NoSpace(error.to_string()),
            WriteError::Stopped => Error::ShuttingDown,
            // A rejected precondition is an answer, which the caller has taken out.
            WriteError::Journal(_)
            | WriteError::TooManyResources { .. }
            | WriteError::Refused(_) => Error::Internal(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
