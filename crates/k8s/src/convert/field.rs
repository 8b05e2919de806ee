//! What fields of several kinds have in common, and how they go wrong.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::Protocol;

use crate::excerpt;

/// A field that does not hold what it should. What an API server has accepted is never one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct FieldError {
    /// The path from the object's root, such as `spec.ports[0].port`.
    pub field: String,
    /// What was found and what was expected.
    pub problem: String,
}

// === impl FieldError ===

impl FieldError {
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        FieldError { field: field.into(), problem: problem.into() }
    }

    /// The text `found` where `expected` should be.
    pub(super) fn unexpected(field: impl Into<String>, found: &str, expected: &str) -> Self {
        let problem = format!("{} is not {expected}", excerpt::quoted(found));
        FieldError::new(field, problem)
    }
}

/// A port of a container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortFacts<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) number: Option<i64>,
    pub(crate) protocol: Option<&'a str>,
}

/// A condition of a Pod or a Node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionFacts<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
}

impl ConditionFacts<'_> {
    pub(crate) fn is_true(self) -> bool {
        self.status == TRUE
    }
}

/// The type of the condition that says whether a Pod or a Node is ready.
pub(crate) const READY: &str = "Ready";
pub(crate) const TRUE: &str = "True";

/// The first condition of a type counts, as in Kubernetes; there should be one of each.
pub(super) fn is_ready<'a>(mut conditions: impl Iterator<Item = ConditionFacts<'a>>) -> bool {
    let ready = conditions.find(|condition| condition.kind == READY);
    ready.is_some_and(ConditionFacts::is_true)
}

/// `path` is only called to tell of a problem, so that good input builds no paths.
pub(super) fn port(number: i64, path: impl FnOnce() -> String) -> Result<u16, FieldError> {
    match u16::try_from(number) {
        Ok(port) if port != 0 => Ok(port),
        _ => {
            let problem = format!("{number} is not a port; expected a number from 1 to 65535");
            Err(FieldError::new(path(), problem))
        }
    }
}

pub(super) fn protocol(
    name: Option<&str>,
    path: impl FnOnce() -> String,
) -> Result<Protocol, FieldError> {
    match name {
        None | Some("" | "TCP") => Ok(Protocol::Tcp),
        Some("UDP") => Ok(Protocol::Udp),
        Some("SCTP") => Ok(Protocol::Sctp),
        Some(other) => {
            let expected = "a protocol; expected TCP, UDP or SCTP";
            Err(FieldError::unexpected(path(), other, expected))
        }
    }
}

pub(crate) fn text(text: Option<&str>) -> Arc<str> {
    text.unwrap_or_default().into()
}

/// `None` for an empty text too, where Kubernetes makes no difference.
pub(super) fn non_empty(text: Option<&str>) -> Option<Arc<str>> {
    text.filter(|text| !text.is_empty()).map(Into::into)
}

pub(super) fn labels(labels: Option<&BTreeMap<String, String>>) -> BTreeMap<Arc<str>, Arc<str>> {
    let labels = labels.into_iter().flatten();
    labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}
