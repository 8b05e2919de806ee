//! Objects from a running cluster, read once.
//!
//! Lists are read in pages, so that a large cluster neither overloads its API server nor keeps
//! people waiting without a sign. Nothing is written and nothing is watched. For those
//! who do, there is a client that notices lost connections.

mod client;
mod error;
mod list;
mod raw;
mod transport;

pub use self::{
    client::{client, controller_client},
    error::{LiveError, innermost, is_unreachable},
    list::{Scope, objects},
    raw::raw_services,
    transport::{Timeouts, long_lived},
};
