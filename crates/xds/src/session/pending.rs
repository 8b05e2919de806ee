//! What may have to be sent: names to look at, and the changes that they come from.

use std::{collections::BTreeSet, sync::Arc};

/// From the oldest to the newest change that one response carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes {
    pub oldest: u64,
    pub newest: u64,
}

/// Names to compare with the source.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// All names that the client has or wants.
    pub(super) all: bool,
    pub(super) names: BTreeSet<Arc<str>>,
    pub(super) changes: Option<Changes>,
}

// === impl Changes ===

impl Changes {
    pub(super) fn one(change: u64) -> Self {
        Self { oldest: change, newest: change }
    }

    /// The span of both.
    pub(super) fn join(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(a), Some(b)) => {
                Some(Self { oldest: a.oldest.min(b.oldest), newest: a.newest.max(b.newest) })
            }
            (one, other) => one.or(other),
        }
    }
}

// === impl Pending ===

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        !self.all && self.names.is_empty()
    }

    pub(super) fn add(&mut self, name: Arc<str>, change: Option<u64>) {
        self.names.insert(name);
        self.changes = Changes::join(self.changes, change.map(Changes::one));
    }

    pub(super) fn add_all(&mut self, change: Option<u64>) {
        self.all = true;
        self.names.clear();
        self.changes = Changes::join(self.changes, change.map(Changes::one));
    }
}
