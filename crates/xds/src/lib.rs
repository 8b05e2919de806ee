//! What Envoy is served over xDS, as values: resources, responses, and the session of one stream.
//!
//! ```text
//!   model::mesh ──► encode ──► Resource (named, versioned by content, encoded once, shared)
//!        │                        │
//!        └─► snapshot::check      ▼
//!                              Source ──► Session::poll ──► Response ──► bytes
//!                                           ▲
//!                     requests, changes ────┘
//! ```
//!
//! - [`encode`]: clusters, load assignments, listeners and routes of `evenkeel_model::mesh` as messages.
//! - [`Resource`]: one of them; [`Version`] is the hash of its content, the same in every replica.
//! - [`session`]: both variants of the protocol as state machines: [`SotwSession`], [`DeltaSession`].
//! - [`Response`]: what a session sends; writing it copies encoded resources and encodes nothing again.
//! - [`snapshot`]: whether what one proxy is sent fits together.
//! - [`bootstrap`]: the file with which an Envoy starts.
//!
//! Not here: sockets, tasks, clocks, who is connected, which resources a proxy gets.

pub mod bootstrap;
pub mod encode;
mod resource;
mod response;
pub mod session;
pub mod snapshot;
mod wire;

pub use self::{
    resource::{Head, NotAVersion, Resource, ResourceType, Version},
    response::{Nonce, Response, Variant},
    session::{Delta, DeltaSession, Outcome, Session, Sotw, SotwSession, Source},
};
