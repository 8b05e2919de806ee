//! The three kinds of patch, as Kubernetes applies them.
//!
//! Each function changes a document in place and returns what it passed over in the patch (fields
//! that come twice, unknown parts of an operation), which the caller reports or refuses. The
//! result is then checked against its type: with [`check`](crate::schema::check) after a JSON or
//! merge patch, with [`converted`] after a strategic merge.

mod convert;
mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub use self::{convert::converted, json::json, merge::merge, strategic::strategic};

/// Why a patch was not applied, by the answer it gets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// 400, with these words.
    #[error("{0}")]
    BadRequest(String),
    /// 422, with words that do not say why: "the server rejected our request due to an error in
    /// our request". The reason is kept for the log.
    #[error("{0}")]
    Rejected(String),
    /// 413.
    #[error(
        "The allowed maximum operations in a JSON patch is {}, got {got}",
        PatchError::MOST_OPERATIONS
    )]
    TooManyOperations { got: usize },
    /// 500, with these words.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// Of a JSON patch.
    pub const MOST_OPERATIONS: usize = 10_000;
}

/// The text must be JSON before anything else is looked at.
fn valid(patch: &[u8]) -> Result<(), PatchError> {
    match crate::schema::type_meta(patch) {
        Err(crate::schema::DecodeError::Syntax(_)) => {
            Err(PatchError::BadRequest("invalid JSON patch".to_owned()))
        }
        _ => Ok(()),
    }
}

/// A value as Go's `%v` prints it: `map[spec:map[nope:1]]`. Errors of strategic merges show the
/// patch so.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(shown).collect();
            format!("[{}]", elements.join(" "))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}:{}", shown(value)));
            format!("map[{}]", members.collect::<Vec<_>>().join(" "))
        }
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests;
