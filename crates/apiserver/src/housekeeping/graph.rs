//! The ownership graph, and the pending work: an index that follows the changes.
//!
//! The index maps each owner's uid to its dependents, and records which objects wait for their
//! dependents. A change costs the owners it names; the deletion of an owner costs its dependents,
//! which are queued to be examined one by one. Examining an object yields at most one action; any
//! change caused by that queues the object again. Source of the rules:
//! `k8s.io/kubernetes/pkg/controller/garbagecollector`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_store::{Object, ResourceId, Revision};
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::metadata::{FOREGROUND, Metadata, ORPHAN, Owner, has_relations};
use crate::{api, kinds::NAMESPACE, registry::Propagation};

/// The resource and key of an object.
pub(super) type At = (ResourceId, Box<str>);

/// A reference to an object, with its uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectRef {
    pub(super) resource: ResourceId,
    pub(super) key: Box<str>,
    pub(super) uid: String,
}

/// An action on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GcAction {
    /// `Propagation`: `None` follows the existing finalizers.
    Delete(ObjectRef, Revision, Option<Propagation>),
    /// These owners are gone or orphan it; others remain.
    DropOwners(ObjectRef, Vec<String>),
    DropFinalizer(ObjectRef, &'static str),
}

/// An item to examine.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkItem {
    /// Because of the owner with this uid, or on its own.
    Object(Box<str>, At),
    /// A terminating namespace has changed.
    Ending(Box<str>),
    /// Something in a terminating namespace has changed.
    Inside(Box<str>),
    /// Something is new in a namespace, or the namespace is gone: objects in a missing namespace
    /// came too late, and are deleted.
    Doubtful(Box<str>),
}

/// The newest version of an object.
pub(super) trait Objects {
    fn object(&self, resource: ResourceId, key: &str) -> Option<Arc<Object>>;

    /// The resource of a kind, and whether it is namespaced.
    fn kind(&self, api_version: &str, kind: &str) -> Option<(ResourceId, bool)>;
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    dependents: FxHashMap<Box<str>, Dependents>,
    /// Objects that wait until their dependents are deleted or orphaned, by uid.
    waiting: FxHashMap<String, Waiting>,
    /// Terminating namespaces.
    ending: BTreeSet<Box<str>>,
    queued: Vec<WorkItem>,
}

#[derive(Debug, Default)]
struct Dependents {
    /// And whether it blocks its owner's deletion.
    refs: BTreeMap<ObjectRef, bool>,
    n_blocking: usize,
}

#[derive(Debug)]
struct Waiting {
    at: At,
    finalizer: &'static str,
}

impl Graph {
    /// The items queued since the last call, in order.
    pub(super) fn take_queued(&mut self) -> Vec<WorkItem> {
        std::mem::take(&mut self.queued)
    }

    /// Takes in a change.
    pub(super) fn changed(
        &mut self,
        resource: ResourceId,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        let Some(object) = after.or(before) else { return };
        let old = before.filter(|old| after.is_none() || has_relations(old)).map(Metadata::of);
        let new = after.filter(|new| has_relations(new)).map(Metadata::of);
        if let Some(old) = &old {
            let object_ref = ObjectRef { resource, key: object.key.clone(), uid: old.uid.clone() };
            for owner in &old.owner_references {
                self.unlink(&owner.uid, &object_ref);
                self.let_go(owner, new.as_ref());
            }
        }
        match (new, after) {
            (Some(new), _) => self.present(resource, &object.key, &new),
            (None, Some(_)) => {}
            (None, None) => self.gone(resource, &object.key, &old.unwrap_or_default()),
        }
        let Some(namespace) = object.namespace() else { return };
        if self.ending.contains(namespace) {
            self.queued.push(WorkItem::Inside(namespace.into()));
        }
        let is_same =
            |last: &WorkItem| matches!(last, WorkItem::Doubtful(name) if **name == *namespace);
        if before.is_none() && !self.queued.last().is_some_and(is_same) {
            self.queued.push(WorkItem::Doubtful(namespace.into()));
        }
    }

    fn present(&mut self, resource: ResourceId, key: &str, new: &Metadata) {
        let object_ref = ObjectRef { resource, key: key.into(), uid: new.uid.clone() };
        for owner in &new.owner_references {
            let dependents = self.dependents.entry(owner.uid.as_str().into()).or_default();
            dependents.link(object_ref.clone(), owner.block_owner_deletion);
        }
        self.await_dependents(&object_ref, new);
        if resource == NAMESPACE.id() && new.is_dying() {
            self.ending.insert(key.into());
            self.queued.push(WorkItem::Ending(key.into()));
        }
        let owner = new.owner_references.first().map(|owner| owner.uid.as_str());
        if owner.is_some() || new.waits_for(ORPHAN) || new.waits_for(FOREGROUND) {
            self.open(owner.unwrap_or_default(), &(resource, key.into()));
        }
    }

    /// When an object begins to wait for its dependents, those that block its deletion are queued.
    fn await_dependents(&mut self, object_ref: &ObjectRef, new: &Metadata) {
        let finalizer = [ORPHAN, FOREGROUND].into_iter().find(|name| new.waits_for(name));
        let Some(finalizer) = finalizer else {
            self.waiting.remove(&new.uid);
            return;
        };
        let waiting = Waiting { at: (object_ref.resource, object_ref.key.clone()), finalizer };
        let before = self.waiting.insert(new.uid.clone(), waiting);
        if before.is_none_or(|before| before.finalizer != finalizer) {
            self.open_dependents(&new.uid, |blocks| finalizer == ORPHAN || blocks);
        }
    }

    fn gone(&mut self, resource: ResourceId, key: &str, old: &Metadata) {
        if resource == NAMESPACE.id() {
            self.ending.remove(key);
            self.queued.push(WorkItem::Doubtful(key.into()));
        }
        self.waiting.remove(&old.uid);
        self.open_dependents(&old.uid, |_| true);
    }

    /// An owner that waits for its dependents is queued again when one no longer blocks it.
    fn let_go(&mut self, owner: &Owner, new: Option<&Metadata>) {
        let holds = |now: &Owner| {
            now.uid == owner.uid && now.block_owner_deletion == owner.block_owner_deletion
        };
        if new.is_some_and(|new| new.owner_references.iter().any(holds)) {
            return;
        }
        let waiting = self.waiting.get(&owner.uid);
        let free = waiting.filter(|waiting| self.is_free(&owner.uid, waiting.finalizer));
        if let Some(at) = free.map(|waiting| waiting.at.clone()) {
            self.open(&owner.uid, &at);
        }
    }

    /// Whether nothing is left that this finalizer waits for.
    fn is_free(&self, uid: &str, finalizer: &str) -> bool {
        self.dependents.get(uid).is_none_or(|dependents| match finalizer {
            ORPHAN => dependents.refs.is_empty(),
            _ => dependents.n_blocking == 0,
        })
    }

    fn unlink(&mut self, owner: &str, object_ref: &ObjectRef) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.unlink(object_ref);
            if dependents.refs.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    fn open(&mut self, source: &str, at: &At) {
        self.queued.push(WorkItem::Object(source.into(), at.clone()));
    }

    fn open_dependents(&mut self, owner: &str, which: impl Fn(bool) -> bool) {
        let Some(dependents) = self.dependents.get(owner) else { return };
        let chosen = dependents.refs.iter().filter(|(_, blocks)| which(**blocks));
        let queued = chosen.map(|(object_ref, _)| {
            WorkItem::Object(owner.into(), (object_ref.resource, object_ref.key.clone()))
        });
        self.queued.extend(queued);
    }

    /// The pending action for an object.
    pub(super) fn look(&self, objects: &impl Objects, at: &At) -> Option<GcAction> {
        let (resource, key) = at;
        let metadata = Metadata::of(&*objects.object(*resource, key)?);
        let object_ref =
            ObjectRef { resource: *resource, key: key.clone(), uid: metadata.uid.clone() };
        for finalizer in [ORPHAN, FOREGROUND] {
            if metadata.waits_for(finalizer) && self.is_free(&metadata.uid, finalizer) {
                return Some(GcAction::DropFinalizer(object_ref, finalizer));
            }
        }
        // An object that waits for its dependents handles them before its own owners.
        match metadata.waits_for(FOREGROUND) {
            true => None,
            false => self.for_owners(objects, object_ref, &metadata),
        }
    }

    /// An object whose owners are all gone is deleted.
    fn for_owners(
        &self,
        objects: &impl Objects,
        object_ref: ObjectRef,
        metadata: &Metadata,
    ) -> Option<GcAction> {
        let namespace = object_ref.key.split_once('/').map(|(namespace, _)| namespace);
        let (mut gone, mut free) = (Vec::new(), Vec::new());
        let mut awaited = false;
        for owner in &metadata.owner_references {
            match owner.found(objects, namespace)? {
                None => gone.push(owner.uid.clone()),
                // An owner deleted in the foreground deletes its dependents.
                Some(there) if there.waits_for(FOREGROUND) => {
                    awaited = true;
                    gone.push(owner.uid.clone());
                }
                Some(there) if there.waits_for(ORPHAN) => free.push(owner.uid.clone()),
                Some(_) => {}
            }
        }
        // The others are handled after this.
        if !free.is_empty() {
            return Some(GcAction::DropOwners(object_ref, free));
        }
        match gone.len() {
            0 => None,
            n if n < metadata.owner_references.len() => {
                Some(GcAction::DropOwners(object_ref, gone))
            }
            _ if metadata.is_dying() => None,
            _ => {
                let how =
                    (awaited && self.can_wait(&object_ref.uid)).then_some(Propagation::Foreground);
                Some(GcAction::Delete(object_ref, metadata.revision, how))
            }
        }
    }

    /// It has dependents to wait for, and none of them waits for it in turn.
    fn can_wait(&self, uid: &str) -> bool {
        let waits = |object_ref: &ObjectRef| {
            self.waiting.get(&object_ref.uid).is_some_and(|waiting| waiting.finalizer == FOREGROUND)
        };
        self.dependents.get(uid).is_some_and(|dependents| !dependents.refs.keys().any(waits))
    }
}

// === impl Dependents ===

impl Dependents {
    fn link(&mut self, object_ref: ObjectRef, blocks: bool) {
        // If an owner is named twice, one blocking reference is enough.
        let blocks = blocks || self.refs.get(&object_ref).copied().unwrap_or_default();
        self.unlink(&object_ref);
        self.n_blocking += usize::from(blocks);
        self.refs.insert(object_ref, blocks);
    }

    fn unlink(&mut self, object_ref: &ObjectRef) {
        if self.refs.remove(object_ref).unwrap_or_default() {
            self.n_blocking -= 1;
        }
    }
}

// === impl Owner ===

impl Owner {
    /// `None`: the location is unknown. That includes a namespaced owner of a cluster-scoped
    /// dependent.
    fn location(
        &self,
        objects: &impl Objects,
        namespace: Option<&str>,
    ) -> Option<(ResourceId, String)> {
        let (resource, namespaced) = objects.kind(&self.api_version, &self.kind)?;
        match (namespaced, namespace) {
            (true, None) => None,
            (true, namespace) => Some((resource, api::key(namespace, &self.name))),
            (false, _) => Some((resource, self.name.clone())),
        }
    }

    /// `None`: the location is unknown; `Some(None)`: it is gone.
    fn found(&self, objects: &impl Objects, namespace: Option<&str>) -> Option<Option<Metadata>> {
        let (resource, key) = self.location(objects, namespace)?;
        let there = objects.object(resource, &key).map(|object| Metadata::of(&object));
        Some(there.filter(|there| there.uid == self.uid))
    }
}

pub(super) fn without_owners(object: &mut Value, gone: &[String]) {
    let owners = &mut object["metadata"]["ownerReferences"];
    if let Some(owners) = owners.as_array_mut() {
        owners.retain(|owner| !gone.iter().any(|uid| owner["uid"] == **uid));
    }
}

pub(super) fn without_finalizer(object: &mut Value, finalizer: &str) {
    if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != finalizer);
    }
}

#[cfg(test)]
mod tests;
