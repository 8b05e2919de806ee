//! The committed state: what readers see.
//!
//! Objects lie in one ordered set a resource; the history keeps the last changes with what they
//! replaced, so that a watch can go on from a past revision and a list can show one. A read never
//! sees part of a batch: the shell holds a lock around [`State::publish`] and around each read. A
//! long one takes a [`View`] under the lock, which costs nothing, and reads that without it.

use std::{ops::Bound, sync::Arc};

use crate::{
    history::{Event, History, Limits},
    journal::{Replayed, Snapshot},
    object::{Change, Object, ResourceId, Revision},
    tree::{Entry, Place, Tree},
    view::View,
};

/// All objects of all resources at one revision, and the way there.
#[derive(Debug)]
pub struct State {
    collections: Vec<Tree<Arc<Object>>>,
    revision: Revision,
    history: History,
    /// The sum of the tails of all objects.
    bytes: usize,
}

impl State {
    pub fn new(n_resources: usize, limits: Limits) -> State {
        State {
            collections: vec![Tree::default(); n_resources],
            revision: 0,
            history: History::new(n_resources, limits),
            bytes: 0,
        }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The sum of the texts of all objects.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn object(&self, resource: ResourceId, key: &str) -> Option<&Arc<Object>> {
        self.collection(resource)?.get((key, 0))
    }

    /// How many objects a resource has.
    pub fn count(&self, resource: ResourceId) -> usize {
        self.collection(resource).map_or(0, Tree::len)
    }

    /// The objects of a resource from `from` on, in order of their keys.
    pub fn range<'a>(
        &'a self,
        resource: ResourceId,
        from: Bound<&str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        let before = |(key, _): Place<'_>| match from {
            Bound::Included(from) => key < from,
            Bound::Excluded(from) => key <= from,
            Bound::Unbounded => false,
        };
        self.collection(resource).map(|objects| objects.walk(before)).into_iter().flatten()
    }

    /// A resource as it is now and as it was, to be read when the state has gone on.
    pub fn view(&self, resource: ResourceId) -> View {
        let present = self.collection(resource).cloned().unwrap_or_default();
        let past = self.history.past(resource);
        View::new(present, past, self.revision, self.history.oldest())
    }

    /// Makes a batch visible, all of it. The changes continue the revision.
    pub fn publish(&mut self, batch: &[Change]) {
        for change in batch {
            debug_assert!(change.revision > self.revision, "revisions rise");
            self.revision = change.revision;
            let Some(before) = self.apply(change) else { continue };
            self.history.push(change.resource, before);
        }
    }

    /// Forgets all history up to now.
    pub fn compact(&mut self) {
        self.history.forget_up_to(self.revision);
    }

    /// Takes what a journal kept, in its order.
    pub fn replay(&mut self, item: Replayed) {
        match item {
            Replayed::Base(revision) => {
                self.revision = revision;
                self.history.forget_up_to(revision);
            }
            Replayed::Object(resource, object) => {
                self.bytes += object.tail.len();
                if let Some(objects) = self.collections.get_mut(usize::from(resource.0)) {
                    objects.insert(Arc::new(object));
                }
            }
            Replayed::Change(change) => self.publish(&[change]),
        }
    }

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

    /// Carries a change out and returns what the history keeps of it; `None`: nothing was there
    /// to delete.
    fn apply(&mut self, change: &Change) -> Option<Event> {
        let objects = self.collections.get_mut(usize::from(change.resource.0))?;
        let before = match &change.object {
            Some(object) => {
                self.bytes += object.tail.len();
                objects.insert(object.clone())
            }
            None => Some(objects.remove((&change.key, 0))?),
        };
        if let Some(gone) = &before {
            self.bytes -= gone.tail.len();
        }
        Some(Event { revision: change.revision, object: change.object.clone(), before })
    }

    fn collection(&self, resource: ResourceId) -> Option<&Tree<Arc<Object>>> {
        self.collections.get(usize::from(resource.0))
    }
}

impl Entry for Arc<Object> {
    fn place(&self) -> Place<'_> {
        (&self.key, 0)
    }
}
