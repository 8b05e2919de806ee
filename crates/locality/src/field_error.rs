//! Errors that name a field, and the paths they name.

use std::fmt;

use serde::Serialize;

/// What is wrong with one field of a policy, a route or a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// Such as `spec.to[0].targetRef.kind`.
    pub path: String,
    pub message: String,
}

/// A path to a field, built while walking down; it costs nothing until it is shown.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'p> {
    parent: Option<&'p FieldPath<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    Field(&'p str),
    Index(usize),
}

/// Errors found so far. Their number is bounded, whatever the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    found: Vec<FieldError>,
    /// Found after the list was full.
    more: usize,
}

/// The longest part of a foreign text that a message or a path repeats, in characters.
const LONGEST_QUOTE: usize = 80;

// === impl FieldPath ===

impl<'p> FieldPath<'p> {
    /// The first field, such as `spec`.
    pub const fn root(name: &'p str) -> Self {
        FieldPath { parent: None, step: Step::Field(name) }
    }

    pub const fn field(&'p self, name: &'p str) -> Self {
        FieldPath { parent: Some(self), step: Step::Field(name) }
    }

    pub const fn index(&'p self, index: usize) -> Self {
        FieldPath { parent: Some(self), step: Step::Index(index) }
    }

    pub fn error(&self, message: impl Into<String>) -> FieldError {
        FieldError { path: self.to_string(), message: message.into() }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths are as deep as a schema, never as deep as an input.
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Field(name) if self.parent.is_none() => f.write_str(&quoted(name)),
            Step::Field(name) => write!(f, ".{}", quoted(name)),
        }
    }
}

// === impl Errors ===

impl Errors {
    /// The most errors that are kept.
    pub const MOST: usize = 100;

    pub fn push(&mut self, path: &FieldPath<'_>, message: impl Into<String>) {
        if self.found.len() < Self::MOST {
            self.found.push(path.error(message));
        } else {
            self.more += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The value if nothing is wrong with it.
    pub fn or<T>(self, value: T) -> Result<T, Vec<FieldError>> {
        if self.is_empty() { Ok(value) } else { Err(self.into_vec()) }
    }

    /// The errors in the order they were found; the last one says how many were left out.
    pub fn into_vec(self) -> Vec<FieldError> {
        let Errors { mut found, more } = self;
        if more > 0 {
            let message = format!("{more} more errors are not shown");
            found.push(FieldError { path: String::new(), message });
        }
        found
    }
}

/// A foreign text, short enough and harmless for a message.
pub(crate) fn quoted(text: &str) -> String {
    let short = match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    evenkeel_model::harmless(&short).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_in_kuma() {
        let root = FieldPath::root("spec");
        let to = root.field("to");
        let first = to.index(0);
        let kind = first.field("targetRef");
        assert_eq!(kind.to_string(), "spec.to[0].targetRef");
        assert_eq!(kind.error("no").to_string(), "spec.to[0].targetRef: no");
    }

    #[test]
    fn the_number_and_the_length_of_errors_are_bounded() {
        let long = "x".repeat(1_000_000);
        let root = FieldPath::root("spec");
        let mut errors = Errors::default();
        for _ in 0..1000 {
            errors.push(&root.field(&long), "unknown");
        }
        let errors = errors.into_vec();
        assert_eq!(errors.len(), Errors::MOST + 1);
        assert_eq!(errors[100].message, "900 more errors are not shown");
        assert!(errors[0].path.len() < 100);
    }
}
