//! `evenkeel up` as a person runs it, asked with the real `kubectl`.

#![expect(clippy::unwrap_used, reason = "tests")]

mod completion;
mod dashboard;
mod drill;
mod flow_control;
mod handover;
mod identity;
mod mesh;
mod migrate;
mod plan;
mod process;
mod proxy;
mod refusals;
mod restarts;
mod sample;
