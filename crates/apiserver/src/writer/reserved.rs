//! The part of a batch that is accepted on a full disk: writes that shrink the state.

use std::collections::HashSet;

use bytes::Buf;
use evenkeel_store::{
    batch::{Batch, Expect, NewObject, Outcome, Write},
    journal::JournalError,
    object::{Change, Object},
    state::State,
};
use serde::{Deserialize, de::IgnoredAny};

use super::{WriteError, WriteResult};

/// Stages again, without the others, the writes of a batch that shrink the state. The others are
/// rejected, and so are later writes to the same objects.
pub(super) fn stage(
    state: &State,
    answers: Vec<WriteResult>,
    changes: Vec<Change>,
    full: &JournalError,
) -> (Vec<WriteResult>, Vec<Change>) {
    let mut batch = Batch::new();
    let mut touched = HashSet::new();
    let mut changes = changes.into_iter();
    let mut again = |answer: WriteResult| {
        let revision = match answer {
            Ok(Outcome::Written(object)) => object.revision,
            Ok(Outcome::Deleted(_, revision)) => revision,
            // These may depend on a write that is now rejected.
            Ok(Outcome::Unchanged(_)) | Err(_) => return None,
        };
        // A delete may follow the last version of its object: that version is skipped.
        let change = changes.find(|change| change.revision == revision)?;
        let present = state.object(change.resource, &change.key);
        if !touched.insert((change.resource, change.key.clone())) {
            return None;
        }
        let present = present.filter(|present| is_smaller(present, change.object.as_deref()))?;
        let write = Write {
            resource: change.resource,
            key: change.key,
            // No earlier write of the batch changed it, so this is what was expected.
            expect: Expect::Revision(present.revision),
            object: change.object.as_deref().map(|Object { labels, fields, encoded, .. }| {
                NewObject {
                    labels: labels.clone(),
                    fields: fields.clone(),
                    encoded: encoded.clone(),
                }
            }),
        };
        batch.stage(state, write).ok()
    };
    let answers = answers
        .into_iter()
        .map(|answer| again(answer).ok_or_else(|| WriteError::Journal(full.clone())));
    (answers.collect(), batch.into_changes())
}

/// Whether a write shrinks the state: a delete, a deletion mark, or a removal from a marked object,
/// such as of a finalizer.
fn is_smaller(present: &Object, new: Option<&Object>) -> bool {
    let Some(new) = new else { return true };
    is_ending(new) && (!is_ending(present) || new.encoded.len() < present.encoded.len())
}

/// Whether `metadata.deletionTimestamp` is set. Only the metadata is read: the text begins in it.
fn is_ending(object: &Object) -> bool {
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(rename = "deletionTimestamp")]
        deleted: Option<IgnoredAny>,
    }
    let text = b"{".chain(&*object.encoded).reader();
    let metadata = serde_json::Deserializer::from_reader(text).into_iter::<Metadata>().next();
    metadata.and_then(Result::ok).is_some_and(|metadata| metadata.deleted.is_some())
}

#[cfg(test)]
mod tests {
    use evenkeel_store::{history::Limits, journal::Replayed, object::ResourceId};

    use super::*;

    const PODS: ResourceId = ResourceId(0);

    fn object(encoded: &str) -> NewObject {
        NewObject {
            labels: [].into(),
            fields: [].into(),
            encoded: encoded.as_bytes().to_vec().into(),
        }
    }

    fn plain(name: &str) -> String {
        format!(r#""name":"{name}","labels":{{"deletionTimestamp":"no"}}}},"spec":{{}}}}"#)
    }

    fn marked(name: &str, finalizers: &str) -> String {
        format!(r#""name":"{name}","deletionTimestamp":"now","finalizers":[{finalizers}]}}}}"#)
    }

    fn state() -> State {
        let mut state = State::new(["pods"], Limits::default());
        state.replay(Replayed::Base(10));
        for (revision, (name, encoded)) in [
            ("plain", plain("plain")),
            ("other", plain("other")),
            ("marked", marked("marked", r#""a","b""#)),
        ]
        .into_iter()
        .enumerate()
        {
            let NewObject { labels, fields, encoded } = object(&encoded);
            let (key, revision) = (name.into(), revision as u64 + 1);
            state.replay(Replayed::Object(PODS, Object { key, revision, labels, fields, encoded }));
        }
        state
    }

    /// Which of some writes are accepted on a full disk.
    fn taken(writes: &[(&str, u64, Option<&str>)]) -> Vec<bool> {
        let (state, mut batch) = (state(), Batch::new());
        let answers: Vec<WriteResult> = writes
            .iter()
            .map(|(name, revision, encoded)| {
                let expect =
                    if *revision == 0 { Expect::Absent } else { Expect::Revision(*revision) };
                let object = encoded.map(object);
                let write = Write { resource: PODS, key: (*name).into(), expect, object };
                Ok(batch.stage(&state, write)?)
            })
            .collect();
        let full = JournalError::Full { path: String::new() };
        let (answers, changes) = stage(&state, answers, batch.into_changes(), &full);
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), changes.len());
        let revisions: Vec<u64> = changes.iter().map(|change| change.revision).collect();
        assert_eq!(revisions, (11..11 + changes.len() as u64).collect::<Vec<_>>());
        answers.iter().map(Result::is_ok).collect()
    }

    #[test]
    fn deletes_are_accepted_and_other_writes_rejected() {
        let new = plain("new");
        let changed = format!("{}      ", plain("plain"));
        let writes = [
            ("new", 0, Some(new.as_str())),
            ("other", 2, None),
            ("plain", 1, Some(&changed)),
            ("marked", 3, None),
            ("nobody", 1, None),
        ];
        assert_eq!(taken(&writes), [false, true, false, true, false]);
    }

    #[test]
    fn a_delete_of_what_the_batch_has_made_is_refused_with_it() {
        let new = plain("new");
        assert_eq!(taken(&[("new", 0, Some(&new)), ("new", 11, None)]), [false, false]);
        let changed = format!("{} ", plain("plain"));
        assert_eq!(taken(&[("plain", 1, Some(&changed)), ("plain", 11, None)]), [false, false]);
    }

    #[test]
    fn an_object_may_be_marked_once_and_then_shrink() {
        let marked_now = marked("plain", r#""a""#);
        assert_eq!(taken(&[("plain", 1, Some(&marked_now))]), [true]);
        let (fewer, more) = (marked("marked", r#""a""#), marked("marked", r#""a","b","c""#));
        assert_eq!(taken(&[("marked", 3, Some(&fewer))]), [true]);
        assert_eq!(taken(&[("marked", 3, Some(&more))]), [false]);
    }
}
