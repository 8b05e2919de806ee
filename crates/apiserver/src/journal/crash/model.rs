//! The sequential model of the store: the effect of each write, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use evenkeel_store::{
    batch::{Expect, Outcome, Refused, Write},
    object::{Change, Object, ResourceId, Revision},
    state::State,
};

use crate::writer::{WriteError, WriteResult};

/// The resources that the rounds write to.
const RESOURCES: [ResourceId; 2] = [ResourceId(0), ResourceId(1)];

type Objects = BTreeMap<(ResourceId, Box<str>), Arc<Object>>;

/// Everything that was answered, and what may have survived besides.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Consecutive, from revision 1.
    changes: Vec<Change>,
    objects: Objects,
    /// Batches that failed or got no answer since the last answered one. One of them may have
    /// survived a crash, as a whole.
    unanswered: Vec<Vec<Change>>,
    /// On a full disk history may be dropped for space; it then begins after this.
    was_full: bool,
    forgotten: Revision,
}

impl Model {
    /// Checks the answers to a batch, and applies it.
    pub(super) fn answered(
        &mut self,
        writes: &[Write],
        answers: &[WriteResult],
    ) -> Result<(), String> {
        let before = self.changes.len();
        for (write, answer) in writes.iter().zip(answers) {
            let expected = apply(&mut self.changes, &mut self.objects, write);
            let answer = answer.clone().map_err(|error| match error {
                WriteError::Refused(refused) => Ok(refused),
                other => Err(other.to_string()),
            });
            let same = match (&expected, &answer) {
                (Ok(expected), Ok(answer)) => expected == answer,
                (Err(expected), Err(Ok(refused))) => expected == refused,
                _ => false,
            };
            if !same {
                return Err(format!("{write:?} was answered {answer:?}, not {expected:?}"));
            }
        }
        if self.changes.len() > before {
            self.unanswered.clear();
        }
        Ok(())
    }

    pub(super) fn may_forget(&mut self) {
        self.was_full = true;
    }

    pub(super) fn unanswered(&mut self, writes: &[Write]) {
        let (mut changes, mut objects) = (self.changes.clone(), self.objects.clone());
        for write in writes {
            let _ = apply(&mut changes, &mut objects, write);
        }
        self.unanswered.push(changes.split_off(self.changes.len()));
    }

    /// Like `unanswered`, for its deletes alone, which are retried when there is no space for the
    /// whole batch: those of objects not changed by an earlier write of the batch.
    pub(super) fn unanswered_deletes(&mut self, writes: &[Write]) {
        let (mut changes, mut objects) = (self.changes.clone(), self.objects.clone());
        let (mut deletes, mut left) = (self.changes.clone(), self.objects.clone());
        let mut touched = BTreeSet::new();
        for write in writes {
            if matches!(
                apply(&mut changes, &mut objects, write),
                Err(_) | Ok(Outcome::Unchanged(_))
            ) {
                continue;
            }
            if touched.insert((write.resource, write.key.clone())) && write.object.is_none() {
                let _ = apply(&mut deletes, &mut left, write);
            }
        }
        self.unanswered.push(deletes.split_off(self.changes.len()));
    }

    /// Checks the recovered state. Returns true if it contains an unanswered batch.
    pub(super) fn recovered(&mut self, state: &State, retained: usize) -> Result<bool, String> {
        let answered = self.changes.len() as Revision;
        if state.revision() < answered {
            return Err(format!("revision {answered} was answered, {} is there", state.revision()));
        }
        let kept = state.revision() > answered;
        if kept {
            self.adopt(state)?;
        }
        self.unanswered.clear();
        if self.was_full {
            self.forgotten = state.history().oldest().min(state.revision());
        }
        self.same(state, retained)?;
        for revision in state.history().oldest()..=state.revision() {
            if since(state, revision).as_deref() != Some(&self.changes[revision as usize..]) {
                return Err(format!("a watch cannot resume after {revision}"));
            }
        }
        Ok(kept)
    }

    /// Whether less history was recovered than was retained.
    pub(super) fn has_forgotten(&self, retained: usize) -> bool {
        self.forgotten > self.last().saturating_sub(retained as Revision)
    }

    fn last(&self) -> Revision {
        self.changes.len() as Revision
    }

    /// Checks that the state equals what was answered.
    pub(super) fn same(&self, state: &State, retained: usize) -> Result<(), String> {
        let last = self.changes.len() as Revision;
        let base = last.saturating_sub(retained as Revision).max(self.forgotten);
        let there = (state.history().oldest(), state.revision());
        if there != (base, last) {
            return Err(format!("changes are there from and to {there:?}, not {:?}", (base, last)));
        }
        let there = RESOURCES.into_iter().flat_map(|resource| {
            state.range(resource, Bound::Unbounded).map(move |object| (resource, object))
        });
        let expected = self.objects.iter().map(|((resource, _), object)| (*resource, object));
        if there.eq(expected) { Ok(()) } else { Err("other objects are there".to_owned()) }
    }

    fn adopt(&mut self, state: &State) -> Result<(), String> {
        let n = self.changes.len();
        let there = since(state, n as Revision).ok_or("more is there than was written")?;
        if !self.unanswered.contains(&there) {
            return Err(format!("after revision {n} are {} changes of no batch", there.len()));
        }
        for change in there {
            let key = (change.resource, change.key.clone());
            match &change.object {
                Some(object) => self.objects.insert(key, object.clone()),
                None => self.objects.remove(&key),
            };
            self.changes.push(change);
        }
        Ok(())
    }
}

/// The changes of all resources after a revision, if all of them are retained.
fn since(state: &State, revision: Revision) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    for resource in RESOURCES {
        let events = state.history().since(resource, revision).ok()?;
        changes.extend(events.map(|event| Change {
            resource,
            revision: event.revision,
            key: event.key().into(),
            object: event.object.clone(),
        }));
    }
    changes.sort_unstable_by_key(|change| change.revision);
    Some(changes)
}

fn apply(
    changes: &mut Vec<Change>,
    objects: &mut Objects,
    write: &Write,
) -> Result<Outcome, Refused> {
    let key = (write.resource, write.key.clone());
    let current = objects.get(&key).cloned();
    match (write.expect, &current) {
        (Expect::Absent, Some(_)) => return Err(Refused::Exists),
        (Expect::Revision(_), None) => return Err(Refused::Missing),
        (Expect::Revision(revision), Some(current)) if current.revision != revision => {
            return Err(Refused::Changed { at: current.revision, expected: revision });
        }
        _ => {}
    }
    let revision = changes.len() as Revision + 1;
    let (object, outcome) = match (&write.object, current) {
        (None, None) => return Err(Refused::Missing),
        (None, Some(last)) => (None, Outcome::Deleted(last, revision)),
        (Some(new), Some(same)) if same.encoded == new.encoded => {
            return Ok(Outcome::Unchanged(same));
        }
        (Some(new), _) => {
            let (labels, fields) = (new.labels.clone(), new.fields.clone());
            let (key, encoded) = (write.key.clone(), new.encoded.clone());
            let object = Arc::new(Object { key, revision, labels, fields, encoded });
            (Some(object.clone()), Outcome::Written(object))
        }
    };
    match &object {
        Some(object) => objects.insert(key, object.clone()),
        None => objects.remove(&key),
    };
    changes.push(Change { resource: write.resource, revision, key: write.key.clone(), object });
    Ok(outcome)
}
