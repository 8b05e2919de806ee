//! Objects from a running cluster, read once.
//!
//! Lists are read in pages, so that a large cluster neither overloads its API server nor keeps
//! people waiting without a sign. Nothing is written and nothing is watched.

mod client;
mod error;
mod list;

pub use self::{
    client::{client, client_without_retries},
    error::{LiveError, innermost},
    list::{Scope, objects},
};
