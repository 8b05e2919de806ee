//! Where a validation puts its errors.

use crate::error::{Errors, FieldError};

/// Errors, and how many there would be if they were not bounded.
#[derive(Debug, Default)]
pub(super) struct Sink {
    pub(super) errors: Errors,
    failures: usize,
    /// Whether errors are counted only.
    pub(super) quiet: bool,
}

/// A moment in a validation.
#[derive(Debug)]
pub(super) struct Mark {
    errors: usize,
    failures: usize,
}

impl Sink {
    pub(super) fn fail(&mut self, error: impl FnOnce() -> FieldError) {
        self.failures += 1;
        if !self.quiet {
            self.errors.add(error);
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { errors: self.errors.len(), failures: self.failures }
    }

    pub(super) fn failed_since(&self, mark: &Mark) -> bool {
        self.failures > mark.failures
    }

    /// Drops the errors since a mark.
    pub(super) fn reset(&mut self, mark: &Mark) {
        self.errors.truncate(mark.errors);
        self.failures = mark.failures;
    }

    /// An empty one for an alternative.
    pub(super) fn branch(&self) -> Sink {
        Sink { quiet: self.quiet, ..Sink::default() }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failures > 0
    }

    /// Adds the errors of an alternative.
    pub(super) fn merge(&mut self, other: Sink) {
        self.failures += other.failures;
        self.errors.append(other.errors);
    }
}
