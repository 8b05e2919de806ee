//! The metadata that matters for housekeeping.

use evenkeel_store::{Object, Revision};
use serde::Deserialize;

pub(super) const FOREGROUND: &str = "foregroundDeletion";
pub(super) const ORPHAN: &str = "orphan";

/// Metadata that can't be read is empty: the object has no owners and can be deleted.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default)]
    pub(super) owner_references: Vec<Owner>,
    #[serde(default)]
    pub(super) finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
    #[serde(skip)]
    pub(super) revision: Revision,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Owner {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    #[serde(default)]
    pub(super) block_owner_deletion: bool,
}

/// Whether there is anything to follow: avoids parsing most objects.
pub(super) fn has_relations(object: &Object) -> bool {
    has(object, b"\"ownerReferences\"") || is_held_or_dying(object)
}

/// Whether a delete may only mark it, or is already marked: avoids parsing most objects.
pub(super) fn is_held_or_dying(object: &Object) -> bool {
    has(object, b"\"deletionTimestamp\"") || has(object, b"\"finalizers\"")
}

// === impl Metadata ===

impl Metadata {
    /// Reads no further than the end of the metadata.
    pub(super) fn of(object: &Object) -> Metadata {
        // The encoding begins inside the metadata, which ends at its closing brace.
        let text = std::io::Read::chain(&b"{"[..], &object.encoded[..]);
        let mut values = serde_json::Deserializer::from_reader(text).into_iter::<Metadata>();
        let read = values.next().and_then(Result::ok).unwrap_or_default();
        Metadata { revision: object.revision, ..read }
    }

    pub(super) fn is_dying(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether it waits until this finalizer is removed.
    pub(super) fn waits_for(&self, finalizer: &str) -> bool {
        self.is_dying() && self.finalizers.iter().any(|name| name == finalizer)
    }
}

fn has(object: &Object, word: &[u8]) -> bool {
    memchr::memmem::find(&object.encoded, word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(encoded: &str) -> Object {
        Object {
            key: "n/a".into(),
            revision: 7,
            labels: [].into(),
            fields: [].into(),
            encoded: encoded.as_bytes().to_vec().into(),
        }
    }

    #[test]
    fn it_is_read_up_to_its_end_and_what_follows_does_not_matter() {
        let owner = r#"{"apiVersion":"v1","kind":"Pod","name":"p","uid":"o"}"#;
        let encoded = format!(r#""name":"a","uid":"u","ownerReferences":[{owner}]}},"spec":"#);
        let read = Metadata::of(&object(&encoded));
        assert_eq!((read.uid.as_str(), read.owner_references.len(), read.revision), ("u", 1, 7));
    }

    #[test]
    fn of_what_cannot_be_read_nothing_is_known() {
        let deep = format!(r#""uid":"u","x":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        for encoded in ["", "}", r#""uid":7}"#, r#""ownerReferences":[{}]}"#, "\u{1}", &deep] {
            let read = Metadata::of(&object(encoded));
            assert!(read.owner_references.is_empty() && !read.is_dying(), "{encoded:?}");
        }
    }
}
