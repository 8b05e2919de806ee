//! What a real Envoy does, against what `locality` predicts and what was recorded.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod accepts;
mod bootstrap;
mod kit;
mod shares;
