//! The form of a reason: a code, its parameters, and one sentence.
//!
//! Reasons are enums with fields, in the crate that decides. They serialise with the tag `code`
//! beside their fields; codes and field names are API, sentences are not. [`Said`] is what leaves
//! the system: all three together.

use std::fmt::Display;

use serde::Serialize;

/// A reason for a decision. `Display` is its sentence: short, without a full stop.
pub trait Reason: Display + Serialize {}

/// A reason with its sentence, as `-o json`, conditions and the dashboard show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said<R> {
    #[serde(flatten)]
    pub reason: R,
    pub message: String,
}

impl<R: Reason> From<R> for Said<R> {
    fn from(reason: R) -> Self {
        let message = reason.to_string();
        Said { reason, message }
    }
}
