//! The whole server in one process: requests go through the chain, and the sandbox runs.

mod endings;
mod lives;
mod server;
mod workloads;
