//! What can be wrong with the JSON of an object.

use std::str::Utf8Error;

use super::Named;
use crate::{FieldError, excerpt};

/// Shows at most a few dozen characters of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlimError {
    /// Not JSON, or cut off.
    #[error("not JSON: {message} at line {line}, column {column}")]
    Syntax { line: usize, column: usize, message: String },
    /// A field holds a value of another type than Kubernetes' schema says, or the object is of
    /// another kind. The path of the whole is `.`.
    #[error(transparent)]
    WrongType(FieldError),
    /// A field holds a value of the right type that makes no sense.
    #[error("{}", .0.object)]
    WrongValue(Named<FieldError>),
}

// === impl SlimError ===

impl SlimError {
    /// The path of the field that is wrong, if the text is JSON.
    pub fn field(&self) -> Option<&str> {
        match self {
            SlimError::Syntax { .. } => None,
            SlimError::WrongType(error) => Some(&error.field),
            SlimError::WrongValue(named) => Some(&named.object.field),
        }
    }

    pub(super) fn syntax(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        SlimError::Syntax { line, column, message: message(error) }
    }

    pub(super) fn not_utf8(json: &[u8], error: Utf8Error) -> Self {
        let right = &json[..error.valid_up_to()];
        let last = right.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = 1 + right.iter().filter(|&&byte| byte == b'\n').count();
        SlimError::Syntax { line, column: last.len() + 1, message: "invalid UTF-8".to_owned() }
    }

    pub(super) fn wrong_type(path: &str, error: &serde_json::Error) -> Self {
        let problem = message(error).replace("expected i32", "expected a whole number");
        SlimError::WrongType(FieldError::new(excerpt::name(path), problem))
    }
}

/// Without the place, which is told apart from it or is of no use beside a path.
fn message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    excerpt::message(&message[..end])
}
