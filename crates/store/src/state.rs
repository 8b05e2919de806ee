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
    names::Names,
    object::{Change, Object, ResourceId, Revision},
    table::Table,
    tree::{Entry, SortKey, Tree},
    view::View,
};

/// All objects of all resources at one revision, with the recent history.
///
/// A clone shares everything with the original and is cheap, so a reader of the whole state clones
/// it under the lock and reads outside.
#[derive(Clone, Debug)]
pub struct State {
    names: Arc<Names>,
    collections: Table<Collection>,
    revision: Revision,
    history: History,
}

/// The objects of one resource.
#[derive(Clone, Debug, Default)]
struct Collection {
    objects: Tree<Arc<Object>>,
    /// Their total encoded size.
    bytes: usize,
}

impl State {
    /// `names` has the resources in the order of their ids, each once.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>, limits: Limits) -> State {
        let mut state = State {
            names: Arc::default(),
            collections: Table::default(),
            revision: 0,
            history: History::new(limits),
        };
        for name in names {
            state.register(name.as_ref());
        }
        state
    }

    /// The id of a resource; a new one if the name is new.
    pub fn register(&mut self, name: &str) -> ResourceId {
        if let Some(known) = self.resource(name) {
            return known;
        }
        self.collections.push(Collection::default());
        self.history.add_resource();
        Arc::make_mut(&mut self.names).add(name)
    }

    pub fn resource(&self, name: &str) -> Option<ResourceId> {
        self.names.id(name)
    }

    pub fn name_of(&self, resource: ResourceId) -> Option<&Arc<str>> {
        self.names.name(resource)
    }

    /// All resources, in the order of their ids.
    pub fn resources(&self) -> impl Iterator<Item = (ResourceId, &Arc<str>)> {
        self.names.iter()
    }

    pub fn n_resources(&self) -> usize {
        self.names.len()
    }

    /// The revision of the last write.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Total encoded size of all objects.
    pub fn bytes(&self) -> usize {
        self.collections.iter().map(|collection| collection.bytes).sum()
    }

    /// Total encoded size of the objects of a resource.
    pub fn bytes_of(&self, resource: ResourceId) -> usize {
        self.collections.get(resource).map_or(0, |collection| collection.bytes)
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
        self.collections.iter().map(|collection| collection.objects.len()).sum()
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
            Replayed::Registered(resource, name) => {
                let own = self.register(&name);
                debug_assert_eq!(own, resource, "the journal was opened with the same names");
            }
            Replayed::Object(resource, object) => {
                if let Some(collection) = self.collections.get_mut(resource) {
                    collection.bytes += object.encoded.len();
                    collection.objects.insert(Arc::new(object));
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
        for (resource, _) in self.resources() {
            let view = self.view(resource);
            let there = view.walk(base, |_| false).filter(|(_, was_there)| *was_there);
            objects.extend(there.map(|(object, _)| (resource, object.clone())));
        }
        Snapshot { base, objects, changes: self.history.changes() }
    }

    /// Applies a change and returns the history's entry; `None` if there was nothing to delete.
    fn apply(&mut self, change: &Change) -> Option<Event> {
        let Collection { objects, bytes } = self.collections.get_mut(change.resource)?;
        let before = match &change.object {
            Some(object) => {
                *bytes += object.encoded.len();
                objects.insert(object.clone())
            }
            None => Some(objects.remove((&change.key, 0))?),
        };
        if let Some(gone) = &before {
            *bytes -= gone.encoded.len();
        }
        Some(Event { revision: change.revision, object: change.object.clone(), before })
    }

    fn collection(&self, resource: ResourceId) -> Option<&Tree<Arc<Object>>> {
        self.collections.get(resource).map(|collection| &collection.objects)
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
        let mut state = State::new(["pods"], Limits::default());
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

    /// Resources that clients register cost a copy as little as objects do.
    #[test]
    fn a_copy_of_twenty_thousand_resources_allocates_next_to_nothing() {
        let names: Vec<String> = (0..20_000).map(|n| format!("kind{n}.example.com")).collect();
        let mut state = State::new(&names, Limits::default());
        for (revision, resource) in (1..).zip((0..20_000).map(ResourceId)) {
            let new = Arc::new(object(1, revision));
            let key = new.key.clone();
            state.publish(&[Change { resource, revision, key, object: Some(new) }]);
        }
        let copy = allocation_counter::measure(|| drop(state.clone()));
        assert!(copy.count_total < 20 && copy.bytes_total < 20_000, "{copy:?}");
        let copy = state.clone();
        let new = Arc::new(object(2, 20_001));
        let (resource, key) = (ResourceId(9_000), new.key.clone());
        let change = Change { resource, revision: 20_001, key, object: Some(new) };
        let write = allocation_counter::measure(|| state.publish(&[change]));
        assert!(write.bytes_total < 50_000, "{write:?}");
        assert_eq!((copy.count(resource), state.count(resource)), (1, 2));
    }

    #[test]
    fn a_name_keeps_its_id_and_a_new_one_has_a_collection_and_a_history() {
        let mut state = State::new(["pods"], Limits::default());
        let copy = state.clone();
        let widgets = state.register("widgets.example.com");
        assert_eq!((widgets, state.register("widgets.example.com")), (ResourceId(1), widgets));
        assert_eq!(state.register("pods"), ResourceId(0));
        let change = |object: Option<Object>, revision| {
            let key = "default/000001".into();
            Change { resource: widgets, revision, key, object: object.map(Arc::new) }
        };
        state.publish(&[change(Some(object(1, 1)), 1), change(None, 2)]);
        assert_eq!(state.history().since(widgets, 0).unwrap().len(), 2);
        assert_eq!(state.name_of(widgets).map(|name| &**name), Some("widgets.example.com"));
        let names: Vec<&str> = state.resources().map(|(_, name)| &**name).collect();
        assert_eq!(names, ["pods", "widgets.example.com"]);
        assert_eq!((copy.resource("widgets.example.com"), copy.n_resources()), (None, 1));
    }

    #[test]
    fn a_resource_that_nobody_registered_is_empty_and_takes_nothing() {
        let mut state = State::new(["pods"], Limits::default());
        let unknown = ResourceId(u32::MAX);
        let new = Arc::new(object(1, 1));
        let change = Change { resource: unknown, revision: 1, key: "k".into(), object: Some(new) };
        state.publish(&[change]);
        state.replay(Replayed::Object(unknown, object(1, 1)));
        assert_eq!((state.count(unknown), state.bytes_of(unknown), state.len()), (0, 0, 0));
        assert_eq!(state.history().following(unknown, 0).unwrap().len(), 0);
        assert!(state.object(unknown, "k").is_none() && state.name_of(unknown).is_none());
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
