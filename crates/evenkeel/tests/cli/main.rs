//! The real binary, as a person runs it.

#![expect(clippy::unwrap_used, reason = "tests")]

mod analyze;
mod apiserver;
mod bad_input;
mod completion;
mod controller;
mod drill;
mod explain;
mod fairness;
mod kubeconfig;
mod kubectl;
mod mesh;
mod migrate;
mod plan;
mod proxy;
mod run;
mod status;
