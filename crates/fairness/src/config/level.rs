//! A priority level as configured.

use std::sync::Arc;

/// A priority level: its pool of seats, and how requests wait for them.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub name: Arc<str>,
    /// The object's UID; empty if it is implied.
    pub uid: Arc<str>,
    /// Of the server's seats, in proportion to those of all levels.
    pub shares: u32,
    /// How much of the nominal seats others may borrow while they are idle.
    pub lendable_percent: u32,
    /// How much more than the nominal seats may be borrowed; none: no limit.
    pub borrowing_limit_percent: Option<u32>,
    pub handling: Handling,
    /// Implied, not configured: it exists so that every request has a level.
    pub implied: bool,
}

/// What happens to requests beyond the seats.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Handling {
    /// No limit: every request is dispatched at once.
    Exempt,
    /// They are rejected.
    Reject,
    /// They wait.
    Queue(Queuing),
}

/// Invariant: `1 <= hand_size <= queues`, and hands of this size can be dealt from one hash.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Queuing {
    pub queues: u32,
    pub hand_size: u32,
    pub queue_length_limit: u32,
}

impl Handling {
    /// `exempt`, `reject` or `queue`.
    pub fn name(self) -> &'static str {
        match self {
            Handling::Exempt => "exempt",
            Handling::Reject => "reject",
            Handling::Queue(_) => "queue",
        }
    }
}

impl Level {
    /// With one queue, or none, all flows are one: no distinguisher is computed.
    pub fn tells_flows_apart(&self) -> bool {
        matches!(self.handling, Handling::Queue(queuing) if queuing.queues > 1)
    }
}
