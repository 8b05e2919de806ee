//! The controller against a real API server, in one process.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod bad_input;
mod consumer;
mod harness;
mod kep_2433;
mod logged;
mod privileges;
mod replay;
mod tape;
mod terminating;
