//! The session of one stream: tables of the protocol's traps, hostile clients, and random runs against a
//! model of Envoy.

mod agreement;
mod delta;
mod envoy;
mod hostile;
mod order;
mod sotw;
mod world;
