//! The API server with more load than it has seats for: who is served, and who waits.
//!
//! The bad scenarios and the tests that the proposal of priority and fairness suggests, against the
//! real binary over real sockets, with a journal that is synced. Requests are quick, so seats are few:
//! who waits behind the guilty waits many times longer than who does not. Bounds are ratios between
//! clients of one run, because a slow machine slows all of them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod alone;
mod concurrency;
mod config;
mod dashboard;
mod dialect;
mod h2;
mod hostile;
mod rig;
mod scenario;
mod scenarios;
mod seats;
mod tenants;
mod thrash;
