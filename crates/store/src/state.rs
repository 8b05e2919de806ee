//! The committed state, as readers see it.
//!
//! Each resource is an ordered set of objects; the history keeps the most recent changes with the
//! versions they replaced, so that a watch can resume from a past revision and a list can show one.
//! A read never sees part of a batch: the shell holds a lock around [`State::publish`] and around
//! each read. A long read takes a [`View`] under the lock, which is cheap, and reads that without
//! the lock.

use std::{ops::Bound, sync::Arc};

use crate::{
    history::{Event, History, Limits},
    journal::{Replayed, Snapshot},
    object::{Change, Object, ResourceId, Revision},
    tree::{Entry, SortKey, Tree},
    view::View,
};

/// All objects of all resources at one revision, with the recent history.
///
/// A clone shares everything with the original and is cheap, so a reader of the whole state clones
/// it under the lock and reads outside.
#[derive(Clone, Debug)]
pub struct State {
    collections: Vec<Tree<Arc<Object>>>,
    revision: Revision,
    history: History,
    /// Total encoded size of the objects of each resource.
    bytes: Vec<usize>,
}

impl State {
    pub fn new(n_resources: usize, limits: Limits) -> State {
        State {
            collections: vec![Tree::default(); n_resources],
            revision: 0,
            history: History::new(n_resources, limits),
            bytes: vec![0; n_resources],
        }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Total encoded size of all objects.
    pub fn bytes(&self) -> usize {
        self.bytes.iter().sum()
    }

    /// Total encoded size of the objects of a resource.
    pub fn bytes_of(&self, resource: ResourceId) -> usize {
        self.bytes.get(usize::from(resource.0)).copied().unwrap_or_default()
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn object(&self, resource: ResourceId, key: &str) -> Option<&Arc<Object>> {
        self.collection(resource)?.get((key, 0))
    }

    /// The number of objects of a resource.
    pub fn count(&self, resource: ResourceId) -> usize {
        self.collection(resource).map_or(0, Tree::len)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.collections.iter().map(Tree::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects of a resource from `from` on, in key order.
    pub fn range<'a>(
        &'a self,
        resource: ResourceId,
        from: Bound<&str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        let before = |(key, _): SortKey<'_>| match from {
            Bound::Included(from) => key < from,
            Bound::Excluded(from) => key <= from,
            Bound::Unbounded => false,
        };
        self.collection(resource).map(|objects| objects.walk(before)).into_iter().flatten()
    }

    /// The present and past of a resource, which can be read while the state changes.
    pub fn view(&self, resource: ResourceId) -> View {
        let present = self.collection(resource).cloned().unwrap_or_default();
        let past = self.history.past(resource);
        View::new(present, past, self.revision, self.history.oldest())
    }

    /// Makes a whole batch visible. The changes continue the revision.
    pub fn publish(&mut self, batch: &[Change]) {
        for change in batch {
            debug_assert!(change.revision > self.revision, "revisions rise");
            self.revision = change.revision;
            let Some(before) = self.apply(change) else { continue };
            self.history.push(change.resource, before);
        }
    }

    /// Drops the whole history.
    pub fn compact(&mut self) {
        self.history.forget_up_to(self.revision);
    }

    /// Applies an item of a journal's replay, in order.
    pub fn replay(&mut self, item: Replayed) {
        match item {
            Replayed::Base(revision) => {
                self.revision = revision;
                self.history.forget_up_to(revision);
            }
            Replayed::Object(resource, object) => {
                let index = usize::from(resource.0);
                if let Some(objects) = self.collections.get_mut(index) {
                    self.bytes[index] += object.encoded.len();
                    objects.insert(Arc::new(object));
                }
            }
            Replayed::Change(change) => self.publish(&[change]),
        }
    }

    /// The whole state as a list. Takes time proportional to its size: call it on a copy, outside
    /// any lock.
    pub fn snapshot(&self) -> Snapshot {
        let base = self.history.oldest();
        let mut objects = Vec::new();
        for index in 0..self.collections.len() {
            let resource = ResourceId(u16::try_from(index).expect("fewer kinds than 65,536"));
            let view = self.view(resource);
            let there = view.walk(base, |_| false).filter(|(_, was_there)| *was_there);
            objects.extend(there.map(|(object, _)| (resource, object.clone())));
        }
        Snapshot { base, objects, changes: self.history.changes() }
    }

    /// Applies a change and returns the history's entry; `None` if there was nothing to delete.
    fn apply(&mut self, change: &Change) -> Option<Event> {
        let index = usize::from(change.resource.0);
        let objects = self.collections.get_mut(index)?;
        let before = match &change.object {
            Some(object) => {
                self.bytes[index] += object.encoded.len();
                objects.insert(object.clone())
            }
            None => Some(objects.remove((&change.key, 0))?),
        };
        if let Some(gone) = &before {
            self.bytes[index] -= gone.encoded.len();
        }
        Some(Event { revision: change.revision, object: change.object.clone(), before })
    }

    fn collection(&self, resource: ResourceId) -> Option<&Tree<Arc<Object>>> {
        self.collections.get(usize::from(resource.0))
    }
}

impl Entry for Arc<Object> {
    fn sort_key(&self) -> SortKey<'_> {
        (&self.key, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 100_000;

    fn object(number: u64, revision: Revision) -> Object {
        let (labels, fields) = ([].into(), [].into());
        let encoded = bytes::Bytes::from_static(b"text");
        Object { key: format!("default/{number:06}").into(), revision, labels, fields, encoded }
    }

    fn large() -> State {
        let mut state = State::new(1, Limits::default());
        state.replay(Replayed::Base(0));
        for number in 0..N {
            state.replay(Replayed::Object(ResourceId(0), object(number, 0)));
        }
        for revision in 1..=N / 2 {
            let new = Arc::new(object(revision * 2 % N, revision));
            let change = Change {
                resource: ResourceId(0),
                revision,
                key: new.key.clone(),
                object: Some(new),
            };
            state.publish(&[change]);
        }
        state
    }

    /// What a snapshot costs the writer and everyone waiting for it does not depend on the number
    /// of objects. Measured in allocations, which are the same on every machine.
    #[test]
    fn a_copy_allocates_next_to_nothing_and_a_list_all_objects() {
        let state = large();
        let copy = allocation_counter::measure(|| drop(state.clone()));
        let list = allocation_counter::measure(|| drop(state.snapshot()));
        assert!(list.bytes_total > N * 8, "{list:?}");
        assert!(copy.bytes_total * 50 < list.bytes_total, "copy {copy:?}, list {list:?}");
        assert!(copy.count_total < 100, "{copy:?}");
    }

    #[test]
    fn a_copy_does_not_change() {
        let mut state = large();
        let copy = state.clone();
        for revision in state.revision() + 1..state.revision() + 1000 {
            let key = format!("default/{:06}", revision % 500).into();
            state.publish(&[Change { resource: ResourceId(0), revision, key, object: None }]);
        }
        let (then, now) = (copy.snapshot(), large().snapshot());
        assert_eq!((then.base, then.objects, then.changes), (now.base, now.objects, now.changes));
        assert_eq!((copy.len() as u64, state.len() as u64), (N, N - 500));
    }
}
