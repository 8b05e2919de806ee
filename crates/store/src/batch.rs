//! Pending writes. Each is checked against the committed state and the earlier writes of the same
//! batch and gets a revision; nothing is visible until the batch is durable.

use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::{
    object::{Change, Object, ResourceId, Revision},
    state::State,
};

/// A requested write.
#[derive(Clone, Debug)]
pub struct Write {
    pub resource: ResourceId,
    pub key: Box<str>,
    pub expect: Expect,
    /// The new version of the object; `None` deletes it.
    pub object: Option<NewObject>,
}

/// Precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Absent,
    /// Exactly this version exists.
    Revision(Revision),
}

/// What else must hold when a write is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requires {
    #[default]
    Nothing,
    /// This object exists.
    Present(ResourceId, Box<str>),
    /// This resource has no objects.
    Empty(ResourceId),
}

/// A new version, not yet assigned a revision.
#[derive(Clone, Debug)]
pub struct NewObject {
    pub labels: Box<[(Box<str>, Box<str>)]>,
    pub fields: Box<[Box<str>]>,
    pub encoded: Bytes,
}

/// Why a write is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the object already exists")]
    Exists,
    #[error("the object does not exist")]
    Missing,
    #[error("the object is at revision {at}, not {expected}")]
    Changed { at: Revision, expected: Revision },
    #[error("what the write requires does not hold")]
    Unmet,
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Written(Arc<Object>),
    /// The stored version is identical: nothing was written.
    Unchanged(Arc<Object>),
    /// The deleted version, and the revision of the delete.
    Deleted(Arc<Object>, Revision),
}

/// Writes that become durable and visible together.
#[derive(Debug, Default)]
pub struct Batch {
    changes: Vec<Change>,
    /// The staged result per key.
    staged: FxHashMap<(ResourceId, Box<str>), Option<Arc<Object>>>,
}

impl Batch {
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Stages a write. If it is rejected, the batch is unchanged.
    pub fn stage(&mut self, state: &State, write: Write) -> Result<Outcome, Refused> {
        let place = (write.resource, write.key);
        let present = match self.staged.get(&place) {
            Some(staged) => staged.as_ref(),
            None => state.object(place.0, &place.1),
        };
        check(present, write.expect)?;
        let revision = self.changes.last().map_or(state.revision(), |last| last.revision) + 1;
        let Some(new) = write.object else {
            let gone = present.cloned().ok_or(Refused::Missing)?;
            self.push(place, revision, None);
            return Ok(Outcome::Deleted(gone, revision));
        };
        if let Some(same) = present.filter(|present| present.encoded == new.encoded) {
            return Ok(Outcome::Unchanged(same.clone()));
        }
        let NewObject { labels, fields, encoded } = new;
        let object = Arc::new(Object { key: place.1.clone(), revision, labels, fields, encoded });
        self.push(place, revision, Some(object.clone()));
        Ok(Outcome::Written(object))
    }

    /// Whether a requirement holds after the writes staged so far.
    pub fn holds(&self, state: &State, requires: &Requires) -> bool {
        match requires {
            Requires::Nothing => true,
            Requires::Present(resource, key) => match self.staged.get(&(*resource, key.clone())) {
                Some(staged) => staged.is_some(),
                None => state.object(*resource, key).is_some(),
            },
            Requires::Empty(resource) => {
                let staged = self.staged.iter().filter(|((of, _), _)| of == resource);
                let mut left = state.count(*resource);
                for ((_, key), object) in staged {
                    let was_there = state.object(*resource, key).is_some();
                    left = left + usize::from(object.is_some()) - usize::from(was_there);
                }
                left == 0
            }
        }
    }

    /// Stages a version and its deletion: both enter the history, together or not at all.
    pub fn stage_last(&mut self, state: &State, last: Write) -> Result<Outcome, Refused> {
        let (resource, key) = (last.resource, last.key.clone());
        let last = match self.stage(state, last)? {
            Outcome::Written(last) | Outcome::Unchanged(last) => last,
            deleted @ Outcome::Deleted(..) => return Ok(deleted),
        };
        let expect = Expect::Revision(last.revision);
        self.stage(state, Write { resource, key, expect, object: None })
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    pub fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    fn push(
        &mut self,
        place: (ResourceId, Box<str>),
        revision: Revision,
        object: Option<Arc<Object>>,
    ) {
        let (resource, key) = (place.0, place.1.clone());
        self.changes.push(Change { resource, revision, key, object: object.clone() });
        self.staged.insert(place, object);
    }
}

fn check(present: Option<&Arc<Object>>, expect: Expect) -> Result<(), Refused> {
    match (expect, present) {
        (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(Refused::Exists),
        (Expect::Revision(_), None) => Err(Refused::Missing),
        (Expect::Revision(expected), Some(object)) if object.revision != expected => {
            Err(Refused::Changed { at: object.revision, expected })
        }
        (Expect::Revision(_), Some(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Limits;

    fn write(expect: Expect, encoded: &'static str) -> Write {
        let encoded = Bytes::from_static(encoded.as_bytes());
        let object = Some(NewObject { labels: [].into(), fields: [].into(), encoded });
        Write { resource: ResourceId(0), key: "k".into(), expect, object }
    }

    #[test]
    fn a_requirement_sees_what_is_staged() {
        let (widgets, definitions) = (ResourceId(1), ResourceId(0));
        let mut state = State::new(["definitions", "widgets"], Limits::default());
        let mut batch = Batch::new();
        let present = Requires::Present(definitions, "k".into());
        assert!(!batch.holds(&state, &present) && batch.holds(&state, &Requires::Empty(widgets)));
        batch.stage(&state, write(Expect::Absent, "one")).unwrap();
        let widget = Write { resource: widgets, ..write(Expect::Absent, "w") };
        batch.stage(&state, widget).unwrap();
        assert!(batch.holds(&state, &present) && !batch.holds(&state, &Requires::Empty(widgets)));
        state.publish(&batch.into_changes());
        let mut batch = Batch::new();
        assert!(!batch.holds(&state, &Requires::Empty(widgets)));
        let gone = |resource, revision| Write {
            resource,
            object: None,
            ..write(Expect::Revision(revision), "")
        };
        batch.stage(&state, gone(widgets, 2)).unwrap();
        assert!(batch.holds(&state, &Requires::Empty(widgets)));
        batch.stage(&state, gone(definitions, 1)).unwrap();
        assert!(!batch.holds(&state, &present));
    }

    #[test]
    fn a_last_version_and_its_delete_are_staged_together_or_not_at_all() {
        let mut state = State::new(["pods"], Limits::default());
        let mut batch = Batch::new();
        batch.stage(&state, write(Expect::Absent, "one")).unwrap();
        state.publish(&batch.into_changes());
        let mut batch = Batch::new();
        let refused = batch.stage_last(&state, write(Expect::Revision(7), "two"));
        assert_eq!(refused, Err(Refused::Changed { at: 1, expected: 7 }));
        assert!(batch.changes().is_empty());
        let outcome = batch.stage_last(&state, write(Expect::Revision(1), "two")).unwrap();
        let Outcome::Deleted(last, 3) = outcome else { panic!("{outcome:?}") };
        assert_eq!((last.revision, &last.encoded[..]), (2, &b"two"[..]));
        let seen: Vec<_> = batch
            .changes()
            .iter()
            .map(|change| (change.revision, change.object.is_some()))
            .collect();
        assert_eq!(seen, [(2, true), (3, false)]);
        assert_eq!(batch.stage(&state, write(Expect::Revision(2), "x")), Err(Refused::Missing));
    }
}
