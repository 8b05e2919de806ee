//! The endpoints of a cluster at one place, encoded once for all proxies there.

use std::{fmt, sync::Arc};

use evenkeel_locality::view::AssignmentKey;
use evenkeel_xds::Resource;
use parking_lot::RwLock;

/// What the endpoints of one cluster, under one name, depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cause {
    pub(super) name: Arc<str>,
    pub(super) key: Arc<AssignmentKey>,
}

/// An assignment in its newest form. Whoever holds it sees each new one without being told.
pub struct Assignment {
    pub(super) id: AssignmentId,
    pub(super) cause: Cause,
    current: RwLock<Arc<Resource>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct AssignmentId(pub(super) u64);

// === impl Assignment ===

impl Assignment {
    pub(super) fn new(id: AssignmentId, cause: Cause, resource: Arc<Resource>) -> Self {
        Self { id, cause, current: RwLock::new(resource) }
    }

    pub fn name(&self) -> &Arc<str> {
        &self.cause.name
    }

    pub fn key(&self) -> &AssignmentKey {
        &self.cause.key
    }

    pub fn current(&self) -> Arc<Resource> {
        Arc::clone(&self.current.read())
    }

    /// Returns whether it differs from the one before.
    pub(super) fn replace(&self, resource: Arc<Resource>) -> bool {
        let mut current = self.current.write();
        let differs = current.version() != resource.version();
        if differs {
            *current = resource;
        }
        differs
    }
}

impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Assignment").field(self.name()).field(&self.current().version()).finish()
    }
}
