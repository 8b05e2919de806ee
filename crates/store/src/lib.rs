//! Versioned objects in memory: the state of an API server, without the server.
//!
//! ```text
//! Write ──► Batch (checks, numbers) ──► Journal (the shell's: append, sync) ──► State (publish)
//!                                                                                 │
//!                                               list, watch, get ◄────────────────┘
//! ```
//!
//! Nothing here reads a clock, a file or a socket, or knows what a Pod is: the type information
//! that patches need is passed in as a [`schema`]. HTTP, validation and identity are in
//! `apiserver`.

pub mod batch;
pub mod history;
pub mod journal;
pub mod list;
mod names;
pub mod object;
pub mod patch;
mod queue;
pub mod schema;
pub mod selector;
pub mod state;
mod table;
mod tree;
pub mod view;

pub use crate::{
    batch::{Batch, Expect, NewObject, Outcome, Refused, Requires, Write},
    history::{Compacted, Event, History, Limits},
    journal::{Journal, JournalError, Replayed, Snapshot},
    list::{Listing, Page, Query, Seen, list, seen},
    object::{Change, Object, ResourceId, Revision},
    selector::Selector,
    state::State,
    view::View,
};
