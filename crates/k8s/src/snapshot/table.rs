//! The objects of one kind, as a watch tells of them.

use evenkeel_model::{Gone, ServiceKey, Watched};
use rustc_hash::{FxHashMap, FxHashSet};

/// By namespace and name; Nodes are in the namespace of the empty name.
#[derive(Debug)]
pub(super) struct Table<V> {
    objects: FxHashMap<ServiceKey, V>,
    /// Those that the list in progress has not named.
    unlisted: Option<FxHashSet<ServiceKey>>,
    is_listed: bool,
}

/// An object that is another now, and what it was.
pub(super) type Changed<V> = (ServiceKey, Option<V>);

impl<V: PartialEq> Table<V> {
    /// What differs now. After the first list it is complete.
    pub(super) fn watch(&mut self, seen: Watched<(ServiceKey, V)>) -> Vec<Changed<V>> {
        match seen {
            Watched::Restarted => {
                self.unlisted = Some(self.objects.keys().cloned().collect());
                Vec::new()
            }
            Watched::Listed((key, object)) => {
                if let Some(unlisted) = &mut self.unlisted {
                    unlisted.remove(&key);
                }
                self.put(key, object).into_iter().collect()
            }
            Watched::Applied((key, object)) => self.put(key, object).into_iter().collect(),
            Watched::Deleted(Gone { namespace, name, .. }) => {
                self.remove(ServiceKey { namespace, name }).into_iter().collect()
            }
            Watched::Complete => {
                self.is_listed = true;
                let gone = self.unlisted.take().into_iter().flatten();
                gone.filter_map(|key| self.remove(key)).collect()
            }
        }
    }

    /// `None`: it is as it was.
    pub(super) fn put(&mut self, key: ServiceKey, object: V) -> Option<Changed<V>> {
        if self.objects.get(&key) == Some(&object) {
            return None;
        }
        let old = self.objects.insert(key.clone(), object);
        Some((key, old))
    }

    fn remove(&mut self, key: ServiceKey) -> Option<Changed<V>> {
        let old = self.objects.remove(&key)?;
        Some((key, Some(old)))
    }
}

impl<V> Table<V> {
    pub(super) fn get(&self, key: &ServiceKey) -> Option<&V> {
        self.objects.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ServiceKey, &V)> {
        self.objects.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The first list was complete.
    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { objects: FxHashMap::default(), unlisted: None, is_listed: false }
    }
}
