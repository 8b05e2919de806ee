//! The objects as the API server has them.
//!
//! Behaves like the real one where a controller can tell: one counter of resource versions, no new
//! version if nothing changes, a generation of slices that counts changes of content and labels,
//! preconditions, an immutable address type.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::{
    Condition, Few, Node, SeenPod, SeenService, SeenSlice, Service, Slice, Topology, Version, label,
};

use crate::sim::{Answer, Key, Request, Shelf};

#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Ids in all objects are those of this table.
    pub topology: Topology,
    pub nodes: Shelf<Node>,
    pub pods: Shelf<SeenPod>,
    pub services: Shelf<SeenService>,
    pub slices: Shelf<SeenSlice>,
    /// The annotation of slices.
    triggers: BTreeMap<Key, Option<i64>>,
    revision: u64,
    /// How slices are altered on admission.
    pub admission: Admission,
    /// Namespaces being deleted: nothing is created in them.
    pub terminating: BTreeSet<Arc<str>>,
    /// Ignores preconditions: for tests of tests.
    pub careless: bool,
}

/// How a server alters a slice before it stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    #[default]
    AsSent,
    /// It does not know `forNodes`.
    NoNodeHints,
    /// A webhook removes all hints.
    NoHints,
    /// A webhook adds a label.
    Label,
}

impl Admission {
    pub fn admit(self, slice: &Slice) -> Slice {
        let mut slice = slice.clone();
        for endpoint in &mut slice.endpoints {
            match (self, &mut endpoint.hints) {
                (Admission::NoNodeHints, Some(hints)) => hints.nodes = Few::None,
                (Admission::NoHints, hints) => *hints = None,
                _ => {}
            }
        }
        if self == Admission::Label {
            slice.labels.insert(ADMITTED.into(), "yes".into());
        }
        slice
    }

    /// The slice without what admission added.
    pub fn bare(self, slice: &Slice) -> Slice {
        let mut slice = slice.clone();
        slice.labels.remove(ADMITTED);
        slice
    }
}

const ADMITTED: &str = "admitted";

impl Store {
    /// Executes a request.
    pub fn request(&mut self, request: &Request) -> Answer {
        match request {
            Request::Create { key, slice, trigger } => self.create(key, slice, *trigger),
            Request::Update { key, slice, version, gone, trigger } => {
                let patch = |old: &Slice| patched(old, slice, gone);
                self.guarded(key, version, *trigger, patch)
            }
            Request::Relabel { key, version, manager } => {
                let trigger = self.triggers.get(key).copied().flatten();
                self.guarded(key, version, trigger, |old| {
                    let mut new = old.clone();
                    new.labels.insert(label::MANAGED_BY.into(), Arc::clone(manager));
                    Ok(new)
                })
            }
            Request::Delete { key, version } => self.delete(key, version),
            Request::Read { key } => match self.slices.get(key) {
                Some(seen) => Answer::Found(Box::new((**seen).clone())),
                None => Answer::Missing,
            },
            Request::Conditions { key, uid, set, remove } => self.conditions(key, uid, set, remove),
        }
    }

    // === what the cluster does ===

    pub fn put_node(&mut self, name: &str, node: Node) {
        let key = Key::new("", name);
        self.revision += 1;
        self.nodes.put(key, format!("uid-{name}").into(), node);
    }

    pub fn put_pod(&mut self, seen: SeenPod) {
        let key = Key::new(Arc::clone(&seen.pod.namespace), Arc::clone(&seen.pod.name));
        self.revision += 1;
        self.pods.put(key, Arc::clone(&seen.pod.uid), seen);
    }

    pub fn change_pod(&mut self, key: &Key, change: impl FnOnce(&mut SeenPod)) {
        if let Some(seen) = self.pods.get(key) {
            let mut seen = (**seen).clone();
            change(&mut seen);
            self.put_pod(seen);
        }
    }

    /// A new Service; its uid is as given.
    pub fn add_service(&mut self, service: Service) {
        let key = Key::new(Arc::clone(&service.key.namespace), Arc::clone(&service.key.name));
        let version = self.next_version(&service.uid, 1);
        let uid = Arc::clone(&service.uid);
        let seen = SeenService {
            service,
            version,
            created: None,
            conditions: Vec::new(),
            problem: None,
            frontend_problem: None,
        };
        self.services.put(key, uid, seen);
    }

    pub fn change_service(&mut self, key: &Key, change: impl FnOnce(&mut Service)) {
        if let Some(seen) = self.services.get(key) {
            let mut seen = (**seen).clone();
            change(&mut seen.service);
            seen.version = self.next_version(&seen.version.uid, seen.version.generation + 1);
            self.services.put(key.clone(), Arc::clone(&seen.version.uid), seen);
        }
    }

    // === what others do to slices ===

    /// A slice of any controller; its name must be free.
    pub fn add_slice(&mut self, namespace: &str, slice: &Slice) {
        let key = Key::new(namespace, Arc::clone(&slice.name));
        self.create(&key, slice, None);
    }

    pub fn change_slice(&mut self, key: &Key, change: impl FnOnce(&mut Slice)) {
        let Some(seen) = self.slices.get(key).cloned() else {
            return;
        };
        let mut slice = seen.slice.clone();
        change(&mut slice);
        self.store_slice(key, &seen, slice);
    }

    /// A change that only the resource version shows, such as of an annotation.
    pub fn touch_slice(&mut self, key: &Key) {
        let Some(seen) = self.slices.get(key) else {
            return;
        };
        let mut seen = (**seen).clone();
        seen.version = self.next_version(&seen.version.uid, seen.version.generation);
        self.slices.put(key.clone(), Arc::clone(&seen.version.uid), seen);
    }

    /// Requests its deletion; it waits for a finalizer.
    pub fn end_slice(&mut self, key: &Key) {
        let Some(seen) = self.slices.get(key) else {
            return;
        };
        let mut seen = SeenSlice { deleting: true, ..(**seen).clone() };
        seen.version = self.next_version(&seen.version.uid, seen.version.generation + 1);
        self.slices.put(key.clone(), Arc::clone(&seen.version.uid), seen);
    }

    /// Removes a namespace with everything in it. It may be created again.
    pub fn end_namespace(&mut self, namespace: &str) {
        fn keys<T>(shelf: &Shelf<T>, namespace: &str) -> Vec<Key> {
            let keys = shelf.iter().map(|(key, _)| key);
            keys.filter(|key| *key.namespace == *namespace).cloned().collect()
        }
        for key in keys(&self.slices, namespace) {
            self.remove_slice(&key);
        }
        for key in keys(&self.pods, namespace) {
            self.pods.remove(&key);
        }
        for key in keys(&self.services, namespace) {
            self.services.remove(&key);
        }
        self.terminating.remove(namespace);
    }

    pub fn remove_slice(&mut self, key: &Key) {
        self.revision += 1;
        self.triggers.remove(key);
        self.slices.remove(key);
    }

    /// Slices whose owner is gone, for the garbage collector.
    pub fn orphans(&self) -> Vec<Key> {
        let alive = |uid: &str| self.services.iter().any(|(_, s)| &*s.service.uid == uid);
        let orphan = |seen: &SeenSlice| seen.slice.owner.as_deref().is_some_and(|uid| !alive(uid));
        let slices = self.slices.iter().filter(|(_, seen)| orphan(seen));
        slices.map(|(key, _)| key.clone()).collect()
    }

    // === requests ===

    fn create(&mut self, key: &Key, slice: &Slice, trigger: Option<i64>) -> Answer {
        if self.terminating.contains(&key.namespace) {
            return Answer::Terminating;
        }
        if self.slices.get(key).is_some() {
            return Answer::Exists;
        }
        let uid = format!("slice-{}", self.revision + 1).into();
        let version = self.next_version(&uid, 1);
        let seen = SeenSlice {
            namespace: Arc::clone(&key.namespace),
            slice: self.admission.admit(slice),
            version,
            deleting: false,
        };
        self.slices.put(key.clone(), uid, seen.clone());
        self.triggers.insert(key.clone(), trigger);
        Answer::Stored(Box::new(seen))
    }

    fn guarded(
        &mut self,
        key: &Key,
        version: &Version,
        trigger: Option<i64>,
        patch: impl FnOnce(&Slice) -> Result<Slice, &'static str>,
    ) -> Answer {
        let Some(seen) = self.slices.get(key).cloned() else {
            return Answer::Missing;
        };
        if !self.careless && seen.version.resource_version != version.resource_version {
            return Answer::Conflict;
        }
        let slice = match patch(&seen.slice) {
            Ok(slice) => self.admission.admit(&slice),
            Err(field) => return Answer::Invalid(field),
        };
        let same = slice == seen.slice;
        let marked = self.triggers.insert(key.clone(), trigger) != Some(trigger);
        match (same, marked) {
            (true, false) => {}
            (true, true) => self.touch_slice(key),
            (false, _) => self.store_slice(key, &seen, slice),
        }
        Answer::Stored(Box::new((**self.slices.get(key).expect("just stored")).clone()))
    }

    fn store_slice(&mut self, key: &Key, old: &SeenSlice, slice: Slice) {
        // Annotations don't count for the generation.
        let same = Slice { shares: slice.shares.clone(), ..old.slice.clone() } == slice;
        let generation = old.version.generation + i64::from(!same);
        let version = self.next_version(&old.version.uid, generation);
        let seen = SeenSlice { slice, version, ..old.clone() };
        self.slices.put(key.clone(), Arc::clone(&old.version.uid), seen);
    }

    fn delete(&mut self, key: &Key, version: &Version) -> Answer {
        let Some(seen) = self.slices.get(key) else {
            return Answer::Missing;
        };
        let same = seen.version.uid == version.uid
            && seen.version.resource_version == version.resource_version;
        if !same && !self.careless {
            return Answer::Conflict;
        }
        if seen.deleting {
            // It still waits for its finalizer; another delete changes nothing.
            return Answer::Gone;
        }
        self.remove_slice(key);
        Answer::Gone
    }

    fn conditions(
        &mut self,
        key: &Key,
        uid: &str,
        set: &[Condition],
        remove: &[Arc<str>],
    ) -> Answer {
        let Some(seen) = self.services.get(key) else {
            return Answer::Missing;
        };
        if &*seen.version.uid != uid {
            return Answer::Conflict;
        }
        let mut new = (**seen).clone();
        let replaced =
            |kind: &Arc<str>| remove.contains(kind) || set.iter().any(|c| c.kind == *kind);
        new.conditions.retain(|condition| !replaced(&condition.kind));
        new.conditions.extend(set.iter().cloned());
        // A watch shows them in the order of their types.
        new.conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
        if new != **seen {
            new.version = self.next_version(&new.version.uid, new.version.generation);
            self.services.put(key.clone(), Arc::clone(&new.version.uid), new);
        }
        Answer::Done
    }

    fn next_version(&mut self, uid: &Arc<str>, generation: i64) -> Version {
        self.revision += 1;
        let resource_version = self.revision.to_string().into();
        Version { uid: Arc::clone(uid), resource_version, generation }
    }
}

fn patched(old: &Slice, slice: &Slice, gone: &[Arc<str>]) -> Result<Slice, &'static str> {
    if old.address_type != slice.address_type {
        return Err("addressType");
    }
    let mut labels = old.labels.clone();
    labels.retain(|key, _| !gone.contains(key));
    labels.extend(slice.labels.clone());
    let content = slice.clone();
    Ok(Slice { labels, name: Arc::clone(&old.name), owner: old.owner.clone(), ..content })
}

#[cfg(test)]
mod tests;
