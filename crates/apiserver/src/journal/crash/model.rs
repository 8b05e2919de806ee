//! The sequential model of the store: the effect of each write, one after the other.
//!
//! It knows resources by name: their ids may be others after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use evenkeel_store::{
    batch::{Expect, Outcome, Refused, Write},
    object::{Object, ResourceId, Revision},
    state::State,
};

use crate::writer::{WriteError, WriteResult};

/// The name of a resource.
pub(super) type Name = &'static str;

/// A write, with the name of its resource.
pub(super) type Named = (Name, Write);

type Objects = BTreeMap<(Name, Box<str>), Arc<Object>>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    name: Name,
    revision: Revision,
    key: Box<str>,
    object: Option<Arc<Object>>,
}

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
    /// The ids that resources had last.
    ids: BTreeMap<Name, ResourceId>,
}

impl Model {
    /// Checks the answers to a batch, and applies it.
    pub(super) fn answered(
        &mut self,
        writes: &[Named],
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

    pub(super) fn unanswered(&mut self, writes: &[Named]) {
        let (mut changes, mut objects) = (self.changes.clone(), self.objects.clone());
        for write in writes {
            let _ = apply(&mut changes, &mut objects, write);
        }
        self.unanswered.push(changes.split_off(self.changes.len()));
    }

    /// Like `unanswered`, for its deletes alone, which are retried when there is no space for the
    /// whole batch: those of objects not changed by an earlier write of the batch.
    pub(super) fn unanswered_deletes(&mut self, writes: &[Named]) {
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
            if touched.insert((write.0, write.1.key.clone())) && write.1.object.is_none() {
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
        self.only_written_names(state)?;
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

    /// Whether a change of the resource was ever answered or recovered.
    pub(super) fn has_written(&self, name: &str) -> bool {
        self.changes.iter().any(|change| change.name == name)
    }

    /// The number of resources that have another id than before. Call once per start.
    pub(super) fn n_renumbered(&mut self, state: &State) -> u64 {
        let now = state.resources().filter_map(|(id, name)| Some((known(name)?, id)));
        let mut n_renumbered = 0;
        for (name, id) in now {
            let before = self.ids.insert(name, id);
            n_renumbered += u64::from(before.is_some_and(|before| before != id));
        }
        n_renumbered
    }

    /// A registration without a change leaves no trace.
    fn only_written_names(&self, state: &State) -> Result<(), String> {
        let mut names = state.resources().skip(super::BUILT_IN.len());
        match names.find(|(_, name)| !self.has_written(name)) {
            None => Ok(()),
            Some((_, name)) => Err(format!("{name} is there, of which nothing was written")),
        }
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
        let mut there = BTreeMap::new();
        for (resource, name) in state.resources() {
            let objects = state.range(resource, Bound::Unbounded);
            there.extend(objects.map(|object| ((&**name, &*object.key), object)));
        }
        let expected = self.objects.iter().map(|((name, key), object)| ((*name, &**key), object));
        let same = there.into_iter().eq(expected);
        if same { Ok(()) } else { Err("other objects are there".to_owned()) }
    }

    fn adopt(&mut self, state: &State) -> Result<(), String> {
        let n = self.changes.len();
        let there = since(state, n as Revision).ok_or("more is there than was written")?;
        if !self.unanswered.contains(&there) {
            return Err(format!("after revision {n} are {} changes of no batch", there.len()));
        }
        for change in there {
            let key = (change.name, change.key.clone());
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
    for (resource, name) in state.resources() {
        let name = known(name)?;
        let events = state.history().since(resource, revision).ok()?;
        changes.extend(events.map(|event| Change {
            name,
            revision: event.revision,
            key: event.key().into(),
            object: event.object.clone(),
        }));
    }
    changes.sort_unstable_by_key(|change| change.revision);
    Some(changes)
}

fn known(name: &str) -> Option<Name> {
    super::BUILT_IN.into_iter().chain(super::CUSTOM).find(|known| *known == name)
}

fn apply(
    changes: &mut Vec<Change>,
    objects: &mut Objects,
    (name, write): &Named,
) -> Result<Outcome, Refused> {
    let key = (*name, write.key.clone());
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
    changes.push(Change { name, revision, key: write.key.clone(), object });
    Ok(outcome)
}
