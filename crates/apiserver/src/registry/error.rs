//! Why a write is refused. `status` turns these into the protocol.

use serde_json::{Value, json};

use crate::{
    document::Unreadable,
    identity::{Attributes, On},
    invalid::Errors,
    kinds::KindRef,
    status::Failure,
};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Error {
    NotFound {
        kind: KindRef,
        name: String,
    },
    AlreadyExists {
        kind: KindRef,
        name: String,
        terminating: bool,
    },
    /// All names tried for `generateName` exist already.
    NoUniqueName {
        kind: KindRef,
        name: String,
    },
    /// The required version is not the present one, or too many other writes came first.
    Modified {
        kind: KindRef,
        name: String,
    },
    /// The write contradicts the present object.
    Conflict {
        kind: KindRef,
        name: String,
        why: String,
    },
    /// The same about a subresource.
    ConflictOn {
        part: &'static str,
        name: String,
        why: String,
    },
    /// The object is not the one that a delete requires.
    Precondition {
        kind: KindRef,
        name: String,
        why: String,
    },
    Invalid {
        kind: KindRef,
        name: String,
        errors: Errors,
    },
    /// A replacement must name the version that it replaces.
    VersionRequired {
        kind: KindRef,
        name: String,
    },
    /// Admission refuses the object.
    Forbidden {
        kind: KindRef,
        name: String,
        why: String,
    },
    NamespaceTerminating {
        kind: KindRef,
        name: String,
        namespace: String,
    },
    /// The caller is not authorized: the message and the details of the response.
    Denied {
        message: String,
        details: Value,
    },
    BadRequest(String),
    /// Refused for a reason that Kubernetes reports as an error of the server.
    Refused(String),
    /// An error of the server.
    Internal(String),
    /// The disk is full.
    NoSpace(String),
    /// There was no seat for the operation, however often it was tried.
    TooManyRequests {
        /// In seconds.
        retry_after: u32,
    },
    ShuttingDown,
}

// === impl Error ===

impl Error {
    pub(crate) fn not_found(kind: &KindRef, name: &str) -> Error {
        Error::NotFound { kind: kind.clone(), name: name.to_owned() }
    }

    pub(crate) fn modified(kind: &KindRef, name: &str) -> Error {
        Error::Modified { kind: kind.clone(), name: name.to_owned() }
    }

    /// The caller is not authorized to do this; the details say what it is about.
    pub(crate) fn denied(message: String, attributes: &Attributes<'_>) -> Error {
        let details = match attributes.on {
            On::Path(_) => json!({}),
            On::Resource { group, resource, name, .. } => details(group, resource, name),
        };
        Error::Denied { message, details }
    }

    /// Another write came first, or the object is gone: to be decided again.
    pub(crate) fn is_overtaken(&self) -> bool {
        use Error as E;
        matches!(
            self,
            E::NotFound { .. }
                | E::AlreadyExists { .. }
                | E::NoUniqueName { .. }
                | E::Modified { .. }
                | E::Conflict { .. }
                | E::ConflictOn { .. }
                | E::Precondition { .. }
                | E::NamespaceTerminating { .. }
        )
    }
}

/// The details of a refusal: what it is about, without empty fields.
pub(crate) fn details(group: &str, kind: &str, name: &str) -> Value {
    let pairs = [("name", name), ("group", group), ("kind", kind)];
    pairs
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect()
}

/// As the response would say it.
impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(Failure::from(self.clone()).message())
    }
}

impl From<Unreadable> for Error {
    fn from(problem: Unreadable) -> Error {
        Error::Internal(problem.to_string())
    }
}
