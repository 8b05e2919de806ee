//! What an operator sees of a stream.

use std::{sync::Arc, time::Duration};

use crate::resource::{ResourceType, Version};

/// The state of one type on one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeStatus {
    pub kind: ResourceType,
    pub state: SyncState,
    /// Of all resources of this type, when the client last accepted a response.
    pub acked: Option<Version>,
    pub acked_at: Option<Duration>,
    /// Resources that the client holds.
    pub n_resources: usize,
    /// Names that it subscribed to.
    pub n_subscribed: usize,
}

/// How the client stands to what it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncState {
    /// The client did not ask for this type.
    NotRequested,
    Synced,
    /// Something was sent, or waits to be, that is not acknowledged.
    Stale {
        since: Duration,
    },
    Nacked(Rejection),
}

/// What the client rejected, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub at: Duration,
    /// The client's own words, cut to a few kilobytes.
    pub message: Arc<str>,
    /// The resources it may be about, in order. Except for clusters and listeners as state of the world,
    /// those that are not at fault leave the list with the next few responses.
    pub names: Vec<Arc<str>>,
}
