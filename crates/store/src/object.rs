//! One version of one object, and one change.

use std::sync::Arc;

use bytes::Bytes;

/// A point in the history of the whole store. The first write has revision 1.
pub type Revision = u64;

/// Which collection an object is in: an index into the server's table of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub u16);

/// One version of one object. Immutable; shared by the state, the history and all readers.
///
/// The JSON is kept without what differs between its uses: `tail` is the text that follows
/// `{"kind":…,"apiVersion":…,"metadata":{"resourceVersion":"…",`, so single objects, list items
/// (which have no kind) and watch events are written by putting a short prefix before the same
/// bytes, and two versions are equal exactly when their tails are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// `namespace/name`, or `name` where there is no namespace. Byte order is list order.
    pub key: Box<str>,
    /// The write that made this version.
    pub revision: Revision,
    /// Sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// What field selectors may ask for, in the order the kind's table has.
    pub fields: Box<[Box<str>]>,
    pub tail: Bytes,
}

/// One write, as it happened. Each has a revision of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub resource: ResourceId,
    pub revision: Revision,
    pub key: Box<str>,
    /// The object from then on; `None`: it was deleted.
    pub object: Option<Arc<Object>>,
}

impl Object {
    /// Where it is, if in a namespace.
    pub fn namespace(&self) -> Option<&str> {
        self.key.split_once('/').map(|(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(_, name)| name)
    }
}
