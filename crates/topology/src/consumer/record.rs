//! What changed since the changes were last asked for.
//!
//! Each change of an endpoint is written down once, as it happens. When asked for, changes are sorted
//! by port and endpoint, and those of one endpoint become one, from the first state to the last. The
//! same is done before, when there are many, so that a consumer that never asks costs no more than
//! a change for each endpoint.

use evenkeel_model::{Candidate, PortId};

use super::{Backend, port::Port, slab::Slab};

/// An endpoint of a Service port that changed. `None`: it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointChange {
    pub backend: Backend,
    pub before: Option<Candidate>,
    pub after: Option<Candidate>,
    /// In the order in which changes happened.
    nth: u32,
    port: PortId,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub endpoints: Vec<EndpointChange>,
    /// Ports that changed in any way, each once.
    pub ports: Vec<PortId>,
    /// Ports that were there when changes were last asked for, and are gone.
    pub removed: Vec<PortId>,
    /// At this number of changes they are put together.
    limit: usize,
}

/// Fewer changes than this are never put together before they are asked for.
const FEW: usize = 4096;

// === impl Log ===

impl Log {
    pub(super) fn endpoint(
        &mut self,
        port: PortId,
        backend: Backend,
        before: Option<Candidate>,
        after: Option<Candidate>,
    ) {
        let nth = u32::try_from(self.endpoints.len()).expect("put together long before");
        self.endpoints.push(EndpointChange { backend, before, after, nth, port });
    }

    /// Many changes have been written down since they were last put together.
    pub(super) fn is_long(&self) -> bool {
        self.endpoints.len() > self.limit.max(FEW)
    }

    /// Makes the changes of one endpoint one, and forgets those of ports that are gone.
    pub(super) fn squash(&mut self, ports: &Slab<PortId, Port>) {
        let changes = &mut self.endpoints;
        if changes.len() > 1 {
            changes.sort_unstable_by_key(|change| (change.port, change.backend, change.nth));
            changes.dedup_by(|later, first| {
                let same = (later.port, later.backend) == (first.port, first.backend);
                if same {
                    first.after = later.after.take();
                }
                same
            });
        }
        // Equal states stay: something else of the endpoint has changed, or may have.
        changes.retain(|change| {
            let is_there = change.before.is_some() || change.after.is_some();
            is_there && ports.get(change.port).is_some_and(|port| !port.is_new)
        });
        for (nth, change) in (0..).zip(changes.iter_mut()) {
            change.nth = nth;
        }
        self.limit = 2 * changes.len();
    }

    /// The changes of one port, once they are put together.
    pub(super) fn of_port(&self, port: PortId) -> &[EndpointChange] {
        let start = self.endpoints.partition_point(|change| change.port < port);
        let rest = &self.endpoints[start..];
        &rest[..rest.partition_point(|change| change.port == port)]
    }

    pub(super) fn clear(&mut self) {
        self.endpoints.clear();
        self.ports.clear();
        self.removed.clear();
        self.limit = 0;
    }
}
