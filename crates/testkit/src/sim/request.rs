//! A controller's requests to the store, and the responses.

use std::sync::Arc;

use evenkeel_model::{Condition, SeenSlice, Slice, Version};

use crate::sim::Key;

/// Ids in slices are those of the store's table.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Create {
        key: Key,
        slice: Slice,
        trigger: Option<i64>,
    },
    /// A merge patch: labels that are neither in the slice nor in `gone` are kept.
    Update {
        key: Key,
        slice: Slice,
        version: Version,
        gone: Vec<Arc<str>>,
        trigger: Option<i64>,
    },
    Relabel {
        key: Key,
        version: Version,
        manager: Arc<str>,
    },
    Delete {
        key: Key,
        version: Version,
    },
    Read {
        key: Key,
    },
    /// Of a Service.
    Conditions {
        key: Key,
        uid: Arc<str>,
        set: Vec<Condition>,
        remove: Vec<Arc<str>>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A slice was created or updated; its new content.
    Stored(Box<SeenSlice>),
    /// Conditions were written.
    Done,
    /// Deleted.
    Gone,
    /// 404.
    Missing,
    Found(Box<SeenSlice>),
    /// 409 `AlreadyExists`.
    Exists,
    /// 409 `Conflict`.
    Conflict,
    /// 403 with the cause `NamespaceTerminating`.
    Terminating,
    /// 422, with the field.
    Invalid(&'static str),
}

impl Request {
    pub fn key(&self) -> &Key {
        match self {
            Request::Create { key, .. }
            | Request::Update { key, .. }
            | Request::Relabel { key, .. }
            | Request::Delete { key, .. }
            | Request::Read { key }
            | Request::Conditions { key, .. } => key,
        }
    }
}
