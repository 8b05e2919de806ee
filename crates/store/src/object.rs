//! One version of one object, and one change.

use std::sync::Arc;

use bytes::Bytes;

/// A point in the history of the whole store. The first write has revision 1.
pub type Revision = u64;

/// The collection of an object, by the order in which resources were registered in this process.
/// Means nothing to another process: that knows resources by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub u32);

/// One version of one object. Immutable; shared by the state, the history and all readers.
///
/// The JSON is stored without the parts that differ between uses: `encoded` is the text that
/// follows `{"kind":…,"apiVersion":…,"metadata":{"resourceVersion":"…",`, so single objects, list
/// items (which have no kind) and watch events are written as a short prefix followed by the same
/// bytes, and two versions are equal exactly if their encodings are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// `namespace/name`, or `name` for cluster-scoped objects. Byte order is list order.
    pub key: Box<str>,
    /// The revision of the write that created this version.
    pub revision: Revision,
    /// Sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The values of selectable fields, in the order of the kind's table.
    pub fields: Box<[Box<str>]>,
    pub encoded: Bytes,
}

/// One committed write. Each has its own revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub resource: ResourceId,
    pub revision: Revision,
    pub key: Box<str>,
    /// The new version; `None`: deleted.
    pub object: Option<Arc<Object>>,
}

impl ResourceId {
    /// The id of the resource at a position in the order of registration.
    pub fn from_index(index: usize) -> ResourceId {
        ResourceId(
            u32::try_from(index).expect("memory holds far fewer resources than 4,294,967,296"),
        )
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Object {
    /// The namespace, if the object is namespaced.
    pub fn namespace(&self) -> Option<&str> {
        self.key.split_once('/').map(|(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&self.key, |(_, name)| name)
    }
}
