//! A cluster's API server in plain values and virtual time, for tests of controllers under faults.
//!
//! ```text
//!   script ──► Store ──log──► Cursor ──Watched──► controller
//!                ▲                                    │
//!                └── Request ◄── Fate: by chance ◄────┘      all of it from one Agenda
//! ```
//!
//! Everything is drawn from one [`Rng`], so that a seed determines a run. What is *not* here: the
//! controller, and the expected results; the tests provide both.

mod agenda;
mod fate;
mod lease;
mod request;
mod rng;
mod shelf;
mod store;
mod translate;
mod watch;

pub use self::{
    agenda::Agenda,
    fate::{Fate, Rates, Refusal, TIMEOUT},
    lease::{Handover, Lease},
    request::{Answer, Request},
    rng::Rng,
    shelf::{Change, Entry, Key, Shelf},
    store::{Admission, Store},
    translate::Translation,
    watch::Cursor,
};
