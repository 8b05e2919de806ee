//! The session of one stream: tables of the protocol's traps, hostile clients, and random runs against a
//! model of Envoy.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod agreement;
mod delta;
mod envoy;
mod hostile;
mod order;
mod sotw;
mod world;
