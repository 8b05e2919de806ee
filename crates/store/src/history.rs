//! The most recent changes, each with the version it replaced.
//!
//! Each resource has its own queue, so that a watch pays only for its own kind; one order over all
//! queues lets the oldest change be dropped first. Bounded by the number of changes and by the
//! bytes held only by the history. Replaced versions are also indexed by key, so that a key range
//! can be read at a past revision without reading its neighbours. A push is O(log n); resuming from
//! a revision is a binary search.

use std::sync::Arc;

use crate::{
    object::{Change, Object, ResourceId, Revision},
    queue::{Clear, Queue},
    table::Table,
    tree::{Entry, SortKey, Tree},
};

/// Retention limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub changes: usize,
    /// Bytes of versions that are no longer current.
    pub bytes: usize,
}

/// One change of one object.
#[derive(Clone, Debug)]
pub struct Event {
    pub revision: Revision,
    /// The version after the change; `None`: deleted.
    pub object: Option<Arc<Object>>,
    /// The version before the change; `None`: created.
    pub before: Option<Arc<Object>>,
}

/// A revision older than the retained history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {asked} is too old: the history begins after {oldest}")]
pub struct Compacted {
    pub asked: Revision,
    pub oldest: Revision,
}

/// A version that existed from its own revision until another.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) object: Arc<Object>,
    pub(crate) until: Revision,
}

/// Cheap to clone: see `queue`, `table` and `tree`.
#[derive(Clone, Debug)]
pub struct History {
    tracks: Table<Track>,
    order: Queue<ResourceId>,
    /// Changes up to this revision are dropped; the state at this revision can still be read.
    oldest: Revision,
    bytes: usize,
    limits: Limits,
}

/// The changes of one resource.
#[derive(Clone, Debug, Default)]
struct Track {
    events: Queue<Event>,
    /// The versions replaced by the events.
    past: Tree<Past>,
    /// The revision of the last dropped change.
    forgotten: Revision,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { changes: 100_000, bytes: 32 << 20 }
    }
}

impl Event {
    /// The key of the changed object.
    pub fn key(&self) -> &str {
        self.object.as_ref().or(self.before.as_ref()).map_or("", |object| &object.key)
    }

    fn bytes(&self) -> usize {
        self.before.as_ref().map_or(0, |object| object.encoded.len())
    }
}

impl Clear for Event {
    /// The revision stays: the queue is searched by it.
    fn clear(&mut self) {
        (self.object, self.before) = (None, None);
    }
}

impl Clear for ResourceId {
    fn clear(&mut self) {}
}

impl History {
    pub(crate) fn new(limits: Limits) -> History {
        let (tracks, order) = (Table::default(), Queue::default());
        History { tracks, order, oldest: 0, bytes: 0, limits }
    }

    /// Adds the next resource.
    pub(crate) fn add_resource(&mut self) {
        self.tracks.push(Track::default());
    }

    /// The oldest revision that can be listed and from which a watch can resume.
    pub fn oldest(&self) -> Revision {
        self.oldest
    }

    pub(crate) fn push(&mut self, resource: ResourceId, event: Event) {
        let Some(track) = self.tracks.get_mut(resource) else { return };
        self.bytes += event.bytes();
        if let Some(before) = &event.before {
            track.past.insert(Past { object: before.clone(), until: event.revision });
        }
        track.events.push_back(event);
        self.order.push_back(resource);
        while self.order.len() > self.limits.changes || self.bytes > self.limits.bytes {
            self.forget_one();
        }
    }

    /// The changes of a resource after a revision, oldest first.
    pub fn since(
        &self,
        resource: ResourceId,
        revision: Revision,
    ) -> Result<impl ExactSizeIterator<Item = &Event> + DoubleEndedIterator, Compacted> {
        if revision < self.oldest {
            return Err(Compacted { asked: revision, oldest: self.oldest });
        }
        Ok(self.after(resource, revision))
    }

    /// The resources of the last `n` changes, at most once each; `None` if fewer are retained. Costs
    /// the number of changes.
    pub fn last_changed(&self, n: usize) -> Option<Vec<ResourceId>> {
        let from_end = self.order.after(|_| false).rev();
        let mut changed: Vec<ResourceId> = from_end.take(n).copied().collect();
        if changed.len() < n {
            return None;
        }
        changed.sort_unstable();
        changed.dedup();
        Some(changed)
    }

    /// Like `since`, for a reader that has seen every change of the resource up to `revision`,
    /// however old: fails only if a change it has not seen was dropped.
    pub fn following(
        &self,
        resource: ResourceId,
        revision: Revision,
    ) -> Result<impl ExactSizeIterator<Item = &Event> + DoubleEndedIterator, Compacted> {
        let oldest = self.tracks.get(resource).map_or(0, |track| track.forgotten);
        if revision < oldest {
            return Err(Compacted { asked: revision, oldest });
        }
        Ok(self.after(resource, revision))
    }

    fn after(
        &self,
        resource: ResourceId,
        revision: Revision,
    ) -> impl ExactSizeIterator<Item = &Event> + DoubleEndedIterator {
        static NONE: Queue<Event> = Queue::new();
        let events = self.tracks.get(resource).map_or(&NONE, |track| &track.events);
        events.after(move |event| event.revision <= revision)
    }

    /// The replaced versions.
    pub(crate) fn past(&self, resource: ResourceId) -> Tree<Past> {
        self.tracks.get(resource).map(|track| track.past.clone()).unwrap_or_default()
    }

    /// All retained changes, as written.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let mut events: Vec<_> =
            self.tracks.iter().map(|track| track.events.after(|_| false)).collect();
        let mut changes = Vec::with_capacity(self.order.len());
        for resource in self.order.after(|_| false) {
            let Some(event) = events[resource.index()].next() else { continue };
            changes.push(Change {
                resource: *resource,
                revision: event.revision,
                key: event.key().into(),
                object: event.object.clone(),
            });
        }
        changes
    }

    pub(crate) fn forget_up_to(&mut self, revision: Revision) {
        while self.next().is_some_and(|next| next <= revision) {
            self.forget_one();
        }
        self.oldest = self.oldest.max(revision);
    }

    fn next(&self) -> Option<Revision> {
        let track = self.tracks.get(*self.order.front()?)?;
        track.events.front().map(|event| event.revision)
    }

    fn forget_one(&mut self) {
        let Some(resource) = self.order.pop_front() else { return };
        let Some(track) = self.tracks.get_mut(resource) else { return };
        let Some(event) = track.events.pop_front() else { return };
        if let Some(before) = &event.before {
            track.past.remove((&before.key, event.revision));
        }
        track.forgotten = event.revision;
        self.bytes -= event.bytes();
        self.oldest = event.revision;
    }
}

impl Entry for Past {
    fn sort_key(&self) -> SortKey<'_> {
        (&self.object.key, self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(revision: Revision) -> Event {
        let object = Object {
            key: "k".into(),
            revision,
            labels: [].into(),
            fields: [].into(),
            encoded: bytes::Bytes::new(),
        };
        Event { revision, object: Some(Arc::new(object)), before: None }
    }

    #[test]
    fn who_follows_a_quiet_resource_loses_nothing_to_a_busy_one() {
        let (quiet, busy) = (ResourceId(0), ResourceId(1));
        let mut history = History::new(Limits { changes: 3, bytes: usize::MAX });
        (0..2).for_each(|_| history.add_resource());
        history.push(quiet, event(1));
        for revision in 2..=9 {
            history.push(busy, event(revision));
        }
        assert_eq!(history.oldest(), 6);
        assert!(history.since(quiet, 1).is_err(), "a new watch cannot know what it missed");
        assert_eq!(history.following(quiet, 1).unwrap().len(), 0);
        let missed = history.following(quiet, 0).err();
        assert_eq!(missed, Some(Compacted { asked: 0, oldest: 1 }));
        assert_eq!(history.last_changed(2), Some(vec![busy]));
        assert_eq!((history.last_changed(0), history.last_changed(4)), (Some(vec![]), None));
        assert_eq!(history.following(busy, 6).unwrap().len(), 3);
        assert!(history.following(busy, 5).is_err());
    }
}
