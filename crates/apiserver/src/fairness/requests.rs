//! The requests that wait and run, with what only the server knows of them, for dumps.

use std::{hash::BuildHasher as _, sync::Arc};

use evenkeel_fairness::queues::Ticket;
use http::{Method, Uri};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use tower_fairness::Destination;

use super::Asked;
use crate::identity::{Attributes, On, User};

/// Few enough that a dump is quick, enough that two threads rarely meet.
const SHARDS: usize = 1 << 4;
const SHIFT: u32 = 64 - 4;

/// A level, and a request in it.
type Key = (usize, Ticket);

#[derive(Debug, Default)]
pub(super) struct InFlight {
    shards: [Mutex<FxHashMap<Key, Detail>>; SHARDS],
}

#[derive(Clone, Debug)]
pub(super) struct Detail {
    pub(super) user: Arc<User>,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// Parsed again for a dump.
    Http(Method, Uri),
    /// Of one of the server's own actors.
    Own { verb: Box<str>, group: Box<str>, resource: Box<str>, namespace: Box<str>, name: Box<str> },
}

/// Removed when this is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    of: Arc<InFlight>,
    key: Key,
}

impl Detail {
    pub(super) fn of(asked: &Asked<'_>) -> Detail {
        let what = match asked.http {
            Some(http) => What::Http(http.method.clone(), http.uri.clone()),
            None => own(asked.attributes),
        };
        Detail { user: asked.user.clone(), what }
    }
}

fn own(attributes: &Attributes<'_>) -> What {
    let (group, resource, namespace, name) = match attributes.on {
        On::Path(_) => ("", "", "", ""),
        On::Resource { group, resource, namespace, name, .. } => (group, resource, namespace, name),
    };
    What::Own {
        verb: attributes.verb.into(),
        group: group.into(),
        resource: resource.into(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

impl InFlight {
    pub(super) fn enter(
        self: &Arc<Self>,
        to: Option<&Arc<Destination>>,
        ticket: Option<Ticket>,
        detail: Detail,
    ) -> Option<Entry> {
        let key = (level_id(&to?.level), ticket?);
        self.shard(key).lock().insert(key, detail);
        Some(Entry { of: self.clone(), key })
    }

    pub(super) fn find(&self, level: usize, ticket: Ticket) -> Option<Detail> {
        let key = (level, ticket);
        self.shard(key).lock().get(&key).cloned()
    }

    fn shard(&self, key: Key) -> &Mutex<FxHashMap<Key, Detail>> {
        // The high bits: the map itself uses the low ones.
        &self.shards[(FxBuildHasher.hash_one(key) >> SHIFT) as usize]
    }
}

/// A level is known by its address while requests hold it.
pub(super) fn level_id<T>(level: &Arc<T>) -> usize {
    Arc::as_ptr(level) as usize
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.of.shard(self.key).lock().remove(&self.key);
    }
}
