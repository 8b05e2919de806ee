//! Priority and fairness for the requests to a server, as a library: which level, flow and queue a
//! request belongs to, and when it is its turn.

pub mod config;
mod request;
mod settings;
mod time;

pub use crate::{
    request::{Groups, Request},
    settings::{Pick, Settings},
    time::Time,
};
