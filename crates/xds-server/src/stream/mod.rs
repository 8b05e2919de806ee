//! Aggregated discovery (ADS) over gRPC: who connects, and one task for each stream.
//!
//! ```text
//!   client ─h2─► Streaming ─► Conversation (Session) ─► channel of 1 ─► AdsBody ─h2─► client
//!                                  ▲ mailbox
//!   engine: a change ──────────────┘
//! ```
//!
//! Requests are read with tonic; responses are written by [`body`], which says why. A stream polls its session
//! only when the transport has taken the last response, so that a client that does not read is owed one response and
//! the names that changed since, and its own requests wait in its own window.

mod body;
mod budget;
mod conversation;
mod identity;
mod mailbox;
mod outstanding;
mod request;
mod server;

pub use self::server::StreamLimits;
pub(crate) use self::{
    identity::Identity,
    mailbox::{Mailbox, Notice},
    server::Server,
};
