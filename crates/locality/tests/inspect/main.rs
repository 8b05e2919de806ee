//! What a proxy is told, shown; and what other resources would change.

#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "the tests of the view use the rest")]
#[path = "../view/setup.rs"]
mod setup;

mod diff;
mod inspect;
mod lint;
