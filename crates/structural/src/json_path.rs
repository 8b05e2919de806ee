//! JSONPath as Kubernetes has it, for the columns, `scale` and `selectableFields` of definitions.
//!
//! Sources: `k8s.io/client-go/util/jsonpath` for the language, `tableconvertor.go` of
//! `apiextensions-apiserver` for cells, `apis/apiextensions/validation/validation.go` for which paths
//! a definition may have.
//!
//! # Bound
//! Parsing is linear in the path; filters nest at most 16 deep. Evaluation
//! visits at most a million values of an object, which is enough for one pass over any object, and
//! fails beyond that: `..` after `..` visits the same values again and again.
//!
//! # What differs from client-go
//! Fields of a map come in the order of their names, not in a random one. `range` and `end` are
//! errors: a column starts with a dot and shows one value.

mod cell;
mod find;
mod parse;
#[cfg(test)]
mod tests;

pub use self::cell::Cell;
use crate::{
    error::{Errors, FieldError},
    path::Path,
};

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// `[start:end:step]`.
    Slice(Slice),
    Wildcard,
    /// `..`.
    Recursive,
    Union(Vec<Vec<Step>>),
    Filter(Box<Filter>),
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A word that is none of these: an error when it is evaluated.
    Identifier(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    /// Whether it is a single index, so that the end is the start and one more.
    is_index: bool,
    step: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    operator: Operator,
    right: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operator {
    Exists,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// An error when it is evaluated.
    Unknown(String),
}

/// Checks a path that must be simple: one of a column, or of `scale`. Kubernetes asks for no more
/// than a dot at its start.
pub fn check_simple(text: &str, path: &Path<'_>) -> Errors {
    let mut errors = Errors::new();
    if text.is_empty() {
        errors.push(FieldError::invalid_text(path, text, "must not be empty"));
    } else if !text.starts_with('.') {
        let words = "must be a simple json path starting with .";
        errors.push(FieldError::invalid_text(path, text, words));
    }
    errors
}

/// The names of a simple path, as `scale` uses them: `.spec.replicas`.
pub fn names(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}
