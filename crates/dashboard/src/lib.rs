//! The dashboard: what a cluster's traffic does and why, as pages in a browser.
//!
//! ```text
//!   watches ──► live: read when something changed ──► Feed ──► server ──► page
//!                 └─► topology: explain, whatif, analyze ──► view: sentences, numbers, geometry
//!   dumps, metrics ──► fairness: read while somebody looks ──► its own Feed
//!   admin pages of a mesh ──► mesh ──► view ──► Feed
//! ```
//!
//! [`view`] is a function of a snapshot: no clock, no I/O. The page's own files (`assets`) only create
//! elements for what `view` says. Not here: decisions, which are `topology`'s, and any request to the
//! cluster that is not a read.

mod counters;
mod error;
mod fairness;
mod feed;
mod live;
mod mesh;
mod run;
mod server;
mod tls;
pub mod view;

pub use crate::{
    error::Error,
    run::{Ready, Settings, run},
    tls::Tls,
};
