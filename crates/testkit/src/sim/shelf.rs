//! The objects of one kind, and their whole history.

use std::{collections::BTreeMap, fmt, sync::Arc};

use evenkeel_model::Gone;

/// The key of an object. The namespace is empty for cluster-scoped kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

#[derive(Debug)]
pub struct Entry<T> {
    pub uid: Arc<str>,
    pub value: Arc<T>,
}

#[derive(Debug)]
pub enum Change<T> {
    Applied(Key, Entry<T>),
    Deleted(Gone),
}

#[derive(Clone, Debug)]
pub struct Shelf<T> {
    objects: BTreeMap<Key, Entry<T>>,
    log: Vec<Change<T>>,
}

// === impl Key ===

impl Key {
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Key { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Entry, Change ===

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Entry { uid: Arc::clone(&self.uid), value: Arc::clone(&self.value) }
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        match self {
            Change::Applied(key, entry) => Change::Applied(key.clone(), entry.clone()),
            Change::Deleted(gone) => Change::Deleted(gone.clone()),
        }
    }
}

// === impl Shelf ===

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Shelf { objects: BTreeMap::new(), log: Vec::new() }
    }
}

impl<T> Shelf<T> {
    pub fn get(&self, key: &Key) -> Option<&Arc<T>> {
        self.objects.get(key).map(|entry| &entry.value)
    }

    /// In key order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<T>)> {
        self.objects.iter().map(|(key, entry)| (key, &entry.value))
    }

    pub fn len(&self) -> usize {
        self.objects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub fn put(&mut self, key: Key, uid: Arc<str>, value: T) {
        let entry = Entry { uid, value: Arc::new(value) };
        self.log.push(Change::Applied(key.clone(), entry.clone()));
        self.objects.insert(key, entry);
    }

    pub fn remove(&mut self, key: &Key) -> Option<Arc<T>> {
        let entry = self.objects.remove(key)?;
        let Key { namespace, name } = key.clone();
        self.log.push(Change::Deleted(Gone { namespace, name, uid: entry.uid }));
        Some(entry.value)
    }

    /// The number of changes, by which states and changes are numbered.
    pub fn head(&self) -> usize {
        self.log.len()
    }

    /// The change from state `at` to the next one.
    pub fn change(&self, at: usize) -> Option<&Change<T>> {
        self.log.get(at)
    }

    /// The objects of state `at`: after that many changes. O(log).
    pub fn state(&self, at: usize) -> BTreeMap<Key, Entry<T>> {
        if at >= self.head() {
            return self.objects.clone();
        }
        let mut objects = BTreeMap::new();
        for change in &self.log[..at] {
            match change.clone() {
                Change::Applied(key, entry) => objects.insert(key, entry),
                Change::Deleted(gone) => objects.remove(&Key::new(gone.namespace, gone.name)),
            };
        }
        objects
    }
}
