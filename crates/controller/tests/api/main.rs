//! The controller's shell against the embedded API server, in this process.

#![expect(clippy::unwrap_used, reason = "tests")]

mod cluster;
mod half_open;
mod handover;
mod outage;
mod proxy;
mod reports;
mod run;
mod server;
