//! The whole of it in one process: requests go through the chain, the parts play.

mod endings;
mod lives;
mod server;
mod workloads;
