//! An index over some resources that is brought up to date when it is read.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_authorization::rbac::{Binding, Policy, Role};
use evenkeel_store::{Object, ResourceId};
use parking_lot::{RwLock, RwLockReadGuard};
use serde_json::Value;

use crate::{
    document,
    follow::{Follower, News},
    kinds::{self, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING},
    storage::Storage,
};

/// Something that follows from the objects of some resources.
pub(crate) trait Index: Default {
    fn resources() -> Vec<ResourceId>;

    fn take(&mut self, news: &News);
}

#[derive(Debug)]
pub(crate) struct Followed<I> {
    inner: RwLock<Inner<I>>,
    resources: Vec<ResourceId>,
    /// `Storage::n_changes` that the index includes, plus one; 0 before the first list.
    seen: AtomicU64,
}

#[derive(Debug)]
struct Inner<I> {
    follower: Follower,
    index: I,
}

// === impl Followed ===

impl<I: Index> Default for Followed<I> {
    fn default() -> Followed<I> {
        let resources = I::resources();
        let follower = Follower::new(resources.iter().copied());
        let inner = RwLock::new(Inner { follower, index: I::default() });
        Followed { inner, resources, seen: AtomicU64::new(0) }
    }
}

impl<I: Index> Followed<I> {
    /// The index with all changes that were published before this call.
    pub(crate) fn read(&self, storage: &Storage) -> parking_lot::MappedRwLockReadGuard<'_, I> {
        let current = storage.n_changes(&self.resources) + 1;
        if self.seen.load(Ordering::Acquire) != current {
            self.catch_up(storage);
        }
        RwLockReadGuard::map(self.inner.read(), |inner| &inner.index)
    }

    fn catch_up(&self, storage: &Storage) {
        let mut inner = self.inner.write();
        // Counted before the state is read: a change in between is read again at most.
        let current = storage.n_changes(&self.resources) + 1;
        let Inner { follower, index } = &mut *inner;
        loop {
            let chunk = follower.next(&storage.state());
            if chunk.restarted {
                *index = I::default();
            }
            chunk.news.iter().for_each(|news| index.take(news));
            if !chunk.more {
                break;
            }
        }
        self.seen.store(current, Ordering::Release);
    }
}

// === impl Policy ===

impl Index for Policy {
    fn resources() -> Vec<ResourceId> {
        [&ROLE, &CLUSTER_ROLE, &ROLE_BINDING, &CLUSTER_ROLE_BINDING].map(|kind| kind.id()).into()
    }

    fn take(&mut self, news: &News) {
        let Some(of) = news.after.as_ref().or(news.before.as_ref()) else { return };
        let (scope, name) = match of.key.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, &*of.key),
        };
        let after = news.after.as_deref().and_then(|object| value(news.resource, object));
        if [&ROLE, &CLUSTER_ROLE].iter().any(|kind| kind.id() == news.resource) {
            self.set_role(scope, name, after.as_ref().map(Role::of));
        } else {
            self.set_binding(scope, name, after.as_ref().map(Binding::of));
        }
    }
}

/// An object that can't be read grants nothing.
fn value(resource: ResourceId, object: &Object) -> Option<Value> {
    document::value(kinds::of_id(resource)?, object).ok()
}
