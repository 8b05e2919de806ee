//! Objects by their keys, found by the names that references use.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Two objects of different namespaces may have one display name; the first key counts.
#[derive(Debug)]
pub(super) struct Named<T> {
    objects: BTreeMap<Arc<str>, (Arc<str>, T)>,
    by_display_name: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named { objects: BTreeMap::new(), by_display_name: BTreeMap::new() }
    }
}

impl<T> Named<T> {
    pub(super) fn insert(&mut self, key: Arc<str>, display_name: Arc<str>, object: T) {
        self.remove(&key);
        self.by_display_name.entry(display_name.clone()).or_default().insert(key.clone());
        self.objects.insert(key, (display_name, object));
    }

    /// The display name and the object.
    pub(super) fn remove(&mut self, key: &str) -> Option<(Arc<str>, T)> {
        let (display_name, object) = self.objects.remove(key)?;
        if let Some(keys) = self.by_display_name.get_mut(&display_name) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_display_name.remove(&display_name);
            }
        }
        Some((display_name, object))
    }

    pub(super) fn get(&self, key: &str) -> Option<&(Arc<str>, T)> {
        self.objects.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        self.objects.get_mut(key).map(|(_, object)| object)
    }

    /// All objects of a display name.
    pub(super) fn all(&self, display_name: &str) -> impl Iterator<Item = &T> {
        let keys = self.by_display_name.get(display_name).into_iter().flatten();
        keys.filter_map(|key| self.objects.get(key)).map(|(_, object)| object)
    }

    pub(super) fn first(&self, display_name: &str) -> Option<&T> {
        self.all(display_name).next()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &T)> {
        self.objects.iter().map(|(key, (_, object))| (key, object))
    }
}
