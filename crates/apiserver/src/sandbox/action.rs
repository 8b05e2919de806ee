//! The actions of a part, as values. `carry_out` executes them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::world::{key_of, uid_of};
use crate::kinds::KindRef;

/// The result of examining one key.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Step {
    /// Executed concurrently. Until all are done and observed, the key is not examined again.
    pub(crate) actions: Vec<Action>,
    /// When to examine the key again even if nothing changes.
    pub(crate) again: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Create {
        kind: &'static KindRef,
        namespace: Option<String>,
        object: Value,
    },
    /// A JSON merge patch of the whole object (metadata, spec, status), only if the uid is this
    /// one. With a `metadata.resourceVersion` in it, only of that version.
    Patch {
        kind: &'static KindRef,
        key: String,
        uid: String,
        patch: Value,
    },
    Delete {
        kind: &'static KindRef,
        key: String,
        uid: String,
        grace_seconds: Option<i64>,
    },
    /// Like `pods/binding`.
    Bind {
        key: String,
        uid: String,
        node: String,
    },
    /// Records an Event about an object.
    Event {
        kind: &'static KindRef,
        key: String,
        uid: String,
        warning: bool,
        reason: &'static str,
        message: String,
    },
}

// === impl Action ===

impl Action {
    pub(crate) fn patch(kind: &'static KindRef, of: &ObjectMeta, patch: Value) -> Action {
        Action::Patch { kind, key: key_of(of), uid: uid_of(of).to_owned(), patch }
    }

    /// `None`: with the object's own grace period.
    pub(crate) fn delete(
        kind: &'static KindRef,
        of: &ObjectMeta,
        grace_seconds: Option<i64>,
    ) -> Action {
        Action::Delete { kind, key: key_of(of), uid: uid_of(of).to_owned(), grace_seconds }
    }

    pub(crate) fn tell(
        kind: &'static KindRef,
        of: &ObjectMeta,
        reason: &'static str,
        message: String,
    ) -> Action {
        event(kind, of, false, reason, message)
    }

    pub(crate) fn warn(
        kind: &'static KindRef,
        of: &ObjectMeta,
        reason: &'static str,
        message: String,
    ) -> Action {
        event(kind, of, true, reason, message)
    }
}

fn event(
    kind: &'static KindRef,
    of: &ObjectMeta,
    warning: bool,
    reason: &'static str,
    message: String,
) -> Action {
    let (key, uid) = (key_of(of), uid_of(of).to_owned());
    Action::Event { kind, key, uid, warning, reason, message }
}

// === impl Step ===

impl Step {
    pub(crate) fn nothing() -> Step {
        Step::default()
    }

    pub(crate) fn act(actions: Vec<Action>) -> Step {
        Step { actions, again: None }
    }

    /// Examines again at the earlier of the two times.
    pub(crate) fn again(mut self, at: Timestamp) -> Step {
        self.again = Some(self.again.map_or(at, |known| known.min(at)));
        self
    }
}
