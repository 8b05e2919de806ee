//! The controller's shell against the embedded API server, in this process.

#![expect(clippy::unwrap_used, reason = "tests")]

mod handover;
mod run;
mod server;
