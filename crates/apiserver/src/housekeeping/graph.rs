//! Who owns whom, and what is due: an index that follows the changes.
//!
//! Kept: for each owner's uid who depends on it, and the objects that are to be looked at again.
//! A change costs the owners it names; a delete costs the dependents it leaves. Source of the
//! rules: `k8s.io/kubernetes/pkg/controller/{garbagecollector,namespace}`.

use std::collections::BTreeSet;

use evenkeel_store::{Object, ResourceId, Revision, State};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    api,
    kinds::{self, NAMESPACE},
    lifecycle::Propagation,
};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// An object, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) resource: ResourceId,
    pub(super) key: String,
    pub(super) uid: String,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// `Propagation`: `None` goes by the finalizers that are there.
    Delete(Place, Revision, Option<Propagation>),
    /// These owners are gone, others are not.
    DropOwners(Place, Vec<String>),
    DropFinalizer(Place, &'static str),
    FinishNamespace(String),
}

#[derive(Debug, Default)]
pub(super) struct Graph {
    dependents: FxHashMap<String, BTreeSet<Place>>,
    /// To be looked at.
    open: BTreeSet<(ResourceId, String)>,
    /// Namespaces on their way out.
    dying: BTreeSet<String>,
    /// Namespaces in which something is new, or that have just gone: what is in one that is not
    /// there came too late, and goes.
    doubtful: BTreeSet<String>,
    /// Objects that stay until their dependents are gone or set free, by uid.
    waiting: FxHashMap<String, (ResourceId, String)>,
}

/// What of an object's metadata matters here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    owner_references: Vec<Owner>,
    #[serde(default)]
    finalizers: Vec<String>,
    deletion_timestamp: Option<String>,
    #[serde(skip)]
    revision: Revision,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    #[serde(default)]
    block_owner_deletion: bool,
}

impl Graph {
    /// Takes in a change.
    pub(super) fn changed(
        &mut self,
        resource: ResourceId,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        let Some(object) = after.or(before) else { return };
        let key = object.key.to_string();
        let old = before.filter(|_| has_relations(before) || after.is_none()).map(metadata);
        let new = after.filter(|_| has_relations(after)).map(metadata);
        if let Some(old) = &old {
            let place = Place { resource, key: key.clone(), uid: old.uid.clone() };
            for owner in &old.owner_references {
                self.unlink(&owner.uid, &place);
                self.let_go(owner, new.as_ref());
            }
        }
        match (new, after) {
            (Some(new), _) => self.present(resource, &key, &new),
            (None, Some(_)) => {}
            (None, None) => self.gone(resource, &key, &old.unwrap_or_default()),
        }
        let Some(namespace) = object.namespace() else { return };
        if self.dying.contains(namespace) {
            self.open.insert((NAMESPACE.id(), namespace.to_owned()));
        }
        if before.is_none() && !self.doubtful.contains(namespace) {
            self.doubtful.insert(namespace.to_owned());
        }
    }

    fn present(&mut self, resource: ResourceId, key: &str, new: &Metadata) {
        let place = Place { resource, key: key.to_owned(), uid: new.uid.clone() };
        for owner in &new.owner_references {
            self.dependents.entry(owner.uid.clone()).or_default().insert(place.clone());
        }
        match new.deletion_timestamp.is_some() && (new.has(ORPHAN) || new.has(FOREGROUND)) {
            true => drop(self.waiting.insert(new.uid.clone(), (resource, key.to_owned()))),
            false => drop(self.waiting.remove(&new.uid)),
        }
        if resource == NAMESPACE.id() && new.deletion_timestamp.is_some() {
            self.dying.insert(key.to_owned());
        }
        if !new.owner_references.is_empty() || new.deletion_timestamp.is_some() {
            self.open.insert((resource, key.to_owned()));
        }
    }

    fn gone(&mut self, resource: ResourceId, key: &str, old: &Metadata) {
        if resource == NAMESPACE.id() {
            self.dying.remove(key);
            self.doubtful.insert(key.to_owned());
        }
        self.waiting.remove(&old.uid);
        for place in self.dependents.get(&old.uid).into_iter().flatten() {
            self.open.insert((place.resource, place.key.clone()));
        }
    }

    /// An owner that waits for its dependents looks again when one no longer holds it.
    fn let_go(&mut self, owner: &Owner, new: Option<&Metadata>) {
        let holds = |now: &Owner| {
            now.uid == owner.uid && now.block_owner_deletion == owner.block_owner_deletion
        };
        if new.is_some_and(|new| new.owner_references.iter().any(holds)) {
            return;
        }
        if let Some(place) = self.waiting.get(&owner.uid) {
            self.open.insert(place.clone());
        }
    }

    fn unlink(&mut self, owner: &str, place: &Place) {
        if let Some(places) = self.dependents.get_mut(owner) {
            places.remove(place);
            if places.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    /// What is due now. What is returned is not returned again until something changes.
    pub(super) fn due(&mut self, state: &State) -> Vec<Due> {
        let open = std::mem::take(&mut self.open);
        let mut due = Vec::new();
        for (resource, key) in open {
            let Some(object) = state.object(resource, &key) else { continue };
            let metadata = metadata(object);
            let place = Place { resource, key, uid: metadata.uid.clone() };
            // Who waits for its dependents takes them along before it asks for its owners.
            if !(metadata.deletion_timestamp.is_some() && metadata.has(FOREGROUND)) {
                due.extend(self.for_owners(state, &place, &metadata));
            }
            if metadata.deletion_timestamp.is_some() {
                due.extend(self.for_dying(state, &place, &metadata));
            }
        }
        for name in std::mem::take(&mut self.doubtful) {
            if state.object(NAMESPACE.id(), &name).is_none() {
                due.extend(emptying(state, &name).0);
            }
        }
        due
    }

    /// An object whose owners are all gone goes too.
    fn for_owners(&self, state: &State, place: &Place, metadata: &Metadata) -> Option<Due> {
        if metadata.owner_references.is_empty() {
            return None;
        }
        let namespace = place.key.split_once('/').map(|(namespace, _)| namespace);
        let mut gone = Vec::new();
        let mut awaited = false;
        for owner in &metadata.owner_references {
            match owner.found(state, namespace) {
                Some(Some(there)) => {
                    // An owner that waits in the foreground takes its dependents with it.
                    if there.deletion_timestamp.is_some() && there.has(FOREGROUND) {
                        awaited = true;
                        gone.push(owner.uid.clone());
                    }
                }
                Some(None) => gone.push(owner.uid.clone()),
                // A kind that is not served here, or no place for it: nobody can say.
                None => return None,
            }
        }
        match gone.len() {
            0 => None,
            n if n == metadata.owner_references.len() => {
                let already = metadata.deletion_timestamp.is_some();
                let how =
                    (awaited && self.can_wait(state, place)).then_some(Propagation::Foreground);
                (!already).then(|| Due::Delete(place.clone(), metadata.revision, how))
            }
            _ => Some(Due::DropOwners(place.clone(), gone)),
        }
    }

    /// It has dependents to wait for, and none that wait for it in turn.
    fn can_wait(&self, state: &State, place: &Place) -> bool {
        let Some(dependents) = self.dependents.get(&place.uid) else { return false };
        !dependents.iter().any(|dependent| {
            let object = state.object(dependent.resource, &dependent.key);
            object.map(|object| metadata(object)).is_some_and(|metadata| {
                metadata.deletion_timestamp.is_some() && metadata.has(FOREGROUND)
            })
        })
    }

    fn for_dying(&self, state: &State, place: &Place, metadata: &Metadata) -> Vec<Due> {
        let dependents = || self.dependents.get(&place.uid).into_iter().flatten();
        if metadata.has(ORPHAN) {
            // The last one that is set free opens this again.
            let due: Vec<Due> = dependents()
                .map(|dependent| Due::DropOwners(dependent.clone(), vec![place.uid.clone()]))
                .collect();
            if due.is_empty() {
                return vec![Due::DropFinalizer(place.clone(), ORPHAN)];
            }
            return due;
        }
        if metadata.has(FOREGROUND) {
            let alive: Vec<&Place> = dependents()
                .filter(|dependent| state.object(dependent.resource, &dependent.key).is_some())
                .collect();
            let blocking = alive.iter().any(|dependent| blocks(state, dependent, &place.uid));
            if !blocking {
                return vec![Due::DropFinalizer(place.clone(), FOREGROUND)];
            }
            return alive
                .into_iter()
                .filter_map(|dependent| {
                    let object = state.object(dependent.resource, &dependent.key)?;
                    self.for_owners(state, dependent, &self::metadata(object))
                })
                .collect();
        }
        if place.resource == NAMESPACE.id() {
            return namespace(state, &place.key);
        }
        Vec::new()
    }
}

/// Empties a namespace, and lets it go when nothing is left.
fn namespace(state: &State, name: &str) -> Vec<Due> {
    match emptying(state, name) {
        (due, true) => due,
        (_, false) => vec![Due::FinishNamespace(name.to_owned())],
    }
}

/// What it takes to empty a namespace, and whether anything is left in it.
fn emptying(state: &State, name: &str) -> (Vec<Due>, bool) {
    let mut due = Vec::new();
    let mut left = false;
    let prefix = format!("{name}/");
    for index in 0..kinds::n_resources() {
        let resource = ResourceId(u16::try_from(index).expect("few kinds"));
        let inside = state
            .range(resource, std::ops::Bound::Included(&prefix))
            .take_while(|object| object.key.starts_with(&prefix));
        for object in inside {
            left = true;
            let metadata = metadata(object);
            if metadata.deletion_timestamp.is_none() {
                let key = object.key.to_string();
                let place = Place { resource, key, uid: metadata.uid };
                due.push(Due::Delete(place, metadata.revision, Some(Propagation::Background)));
            }
        }
    }
    (due, left)
}

fn blocks(state: &State, dependent: &Place, owner: &str) -> bool {
    let Some(object) = state.object(dependent.resource, &dependent.key) else { return false };
    let owners = metadata(object).owner_references;
    owners.iter().any(|one| one.uid == owner && one.block_owner_deletion)
}

impl Metadata {
    fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|name| name == finalizer)
    }
}

impl Owner {
    /// `None`: it can't be said where. That is so also for an owner in a namespace whose dependent
    /// is in none.
    fn place(&self, namespace: Option<&str>) -> Option<(ResourceId, String)> {
        let kind = kinds::of_kind(&self.api_version, &self.kind)?;
        match (kind.namespaced, namespace) {
            (true, None) => None,
            (true, namespace) => Some((kind.id(), api::key(namespace, &self.name))),
            (false, _) => Some((kind.id(), self.name.clone())),
        }
    }

    /// `None`: nobody knows where it would be; `Some(None)`: it is gone.
    fn found(&self, state: &State, namespace: Option<&str>) -> Option<Option<Metadata>> {
        let (resource, key) = self.place(namespace)?;
        let there = state.object(resource, &key).map(|object| metadata(object));
        Some(there.filter(|there| there.uid == self.uid))
    }
}

/// Whether there is anything to follow: spares most objects the parsing.
fn has_relations(object: Option<&Object>) -> bool {
    let Some(object) = object else { return false };
    let has = |word: &[u8]| memchr::memmem::find(&object.tail, word).is_some();
    has(b"\"ownerReferences\"") || has(b"\"deletionTimestamp\"")
}

fn metadata(object: &Object) -> Metadata {
    // The tail begins inside the metadata, which ends where its brace does.
    let mut text = Vec::with_capacity(object.tail.len() + 1);
    text.push(b'{');
    text.extend_from_slice(&object.tail);
    let mut values = serde_json::Deserializer::from_slice(&text).into_iter::<Metadata>();
    let read = values.next().and_then(Result::ok).unwrap_or_default();
    Metadata { revision: object.revision, ..read }
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

/// The namespace's own finalizer goes; those of others stay, and so does it.
pub(super) fn emptied(namespace: &mut Value) {
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != "kubernetes");
    }
}

#[cfg(test)]
mod tests;
