//! The three patch types, as Kubernetes applies them.
//!
//! Each function changes a document in place and returns what it ignored in the patch (duplicate
//! fields, unknown parts of an operation), which the caller reports or rejects. The result is then
//! checked against its type: with [`check`](crate::schema::check) after a JSON or merge patch, with
//! [`converted`] after a strategic merge. Work is near-linear in the document and the patch;
//! patches that would cost more, by operations that touch the same large list repeatedly, are
//! rejected.

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

/// Why a patch was not applied, by the resulting HTTP status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// 400, with this message.
    #[error("{0}")]
    BadRequest(String),
    /// 422, with a message that gives no cause: "the server rejected our request due to an error in
    /// our request". The cause is kept for the log.
    #[error("{0}")]
    Rejected(String),
    /// 413.
    #[error(
        "The allowed maximum operations in a JSON patch is {}, got {got}",
        PatchError::MOST_OPERATIONS
    )]
    TooManyOperations { got: usize },
    /// 500, with this message.
    #[error("{0}")]
    Internal(String),
}

impl PatchError {
    /// Maximum number of operations in a JSON patch.
    pub const MOST_OPERATIONS: usize = 10_000;
}

/// The text must be valid JSON before anything else is checked.
fn valid(patch: &[u8]) -> Result<(), PatchError> {
    match crate::schema::type_meta(patch) {
        Err(crate::schema::DecodeError::Syntax(_)) => {
            Err(PatchError::BadRequest("invalid JSON patch".to_owned()))
        }
        _ => Ok(()),
    }
}

/// A value as Go's `%v` prints it: `map[spec:map[nope:1]]`. Errors of strategic merges print the
/// patch this way.
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
