//! Priority and fairness for the requests to a server, as a library: which level, flow and queue a
//! request belongs to, and when it is its turn.

pub mod classify;
pub mod collisions;
pub mod config;
pub mod dialect;
pub mod dispatcher;
pub mod flow;
pub mod limits;
pub mod queues;
mod request;
pub mod retry_after;
mod seats;
mod settings;
pub mod shard;
pub mod simulate;
mod time;
pub mod top_flows;
pub mod width;

pub use crate::{
    request::{Groups, Request},
    seats::Width,
    settings::{Pick, Settings},
    time::Time,
};
