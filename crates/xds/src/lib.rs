//! What Envoy is served over xDS, and the protocol session, as plain values.

pub mod encode;
pub mod resource;
pub mod response;
pub mod session;
mod wire;
