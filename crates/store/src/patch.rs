//! The three kinds of patch, as Kubernetes applies them.
//!
//! Each function changes a document in place and returns what it passed over in the patch (fields
//! that come twice, unknown parts of an operation), which the caller reports or refuses. The
//! result is then checked against its type: with [`check`](crate::schema::check) after a JSON or
//! merge patch, with [`converted`] after a strategic merge. Work is near-linear in the document and
//! the patch; where a patch could ask for more, by operations that touch the same large list again
//! and again, it is refused.

mod convert;
mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub use self::{
    convert::{converted, converted_within},
    json::json,
    merge::merge,
    strategic::strategic,
};

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
    let mut out = String::new();
    show(&mut out, value);
    out
}

fn show(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { " " });
                show(out, element);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push_str("map[");
            for (at, (key, value)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { " " });
                out.push_str(key);
                out.push(':');
                show(out, value);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests;
