//! The open watches: how many are interested in an object, and which clients don't read.
//!
//! A watcher that is polled for its next chunk detects itself that it is too far behind. One whose
//! client does not read is never polled: a sweep finds it by its cursor and aborts its stream, on
//! HTTP/1 its connection.

mod interest;

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use evenkeel_store::{ResourceId, Revision, State};
use parking_lot::Mutex;

pub(crate) use self::interest::Scope;
use self::interest::{Interest, Interests};
use crate::{
    serve::Kill,
    verbs::watch::{MOST_BEHIND, MOST_BYTES_BEHIND},
};

#[derive(Debug, Default)]
pub(crate) struct Watchers {
    entries: Mutex<Vec<Weak<Entry>>>,
    interests: Arc<Interests>,
}

/// One watcher's entry in the registry, removed when it ends.
#[derive(Debug)]
pub(crate) struct Watcher {
    entry: Arc<Entry>,
    _interest: Interest,
}

#[derive(Debug)]
struct Entry {
    resource: ResourceId,
    cursor: AtomicU64,
    kill: Kill,
}

impl Watchers {
    pub(crate) fn register(&self, scope: Scope<'_>, cursor: Revision, kill: Kill) -> Watcher {
        let entry =
            Arc::new(Entry { resource: scope.resource, cursor: AtomicU64::new(cursor), kill });
        self.entries.lock().push(Arc::downgrade(&entry));
        Watcher { entry, _interest: self.interests.add(scope) }
    }

    /// How many watches are notified when this object changes.
    pub(crate) fn interested(&self, object: Scope<'_>) -> u32 {
        self.interests.count(object)
    }

    /// Aborts stuck watchers: those behind by twice the limit, so that a merely slow one ends in
    /// the orderly way.
    pub(crate) fn sweep(&self, state: &State) {
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.strong_count() > 0);
        for entry in entries.iter().filter_map(Weak::upgrade) {
            if is_stuck(&entry, state) {
                entry.kill.cut();
            }
        }
    }
}

fn is_stuck(entry: &Entry, state: &State) -> bool {
    let cursor = entry.cursor.load(Ordering::Relaxed);
    let Ok(events) = state.history().following(entry.resource, cursor) else { return true };
    if events.len() > 2 * MOST_BEHIND {
        return true;
    }
    let bytes: usize = events
        .filter_map(|event| event.object.as_ref().or(event.before.as_ref()))
        .map(|object| object.encoded.len())
        .sum();
    bytes > 2 * MOST_BYTES_BEHIND
}

impl Watcher {
    pub(crate) fn at(&self, cursor: Revision) {
        self.entry.cursor.store(cursor, Ordering::Relaxed);
    }
}
