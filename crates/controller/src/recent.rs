//! A map that forgets what was used longest ago.

use std::{collections::BTreeMap, fmt, hash::Hash};

use rustc_hash::FxHashMap;

/// Holds at most `capacity` entries. One use costs O(log capacity).
pub(crate) struct Recent<K, V> {
    capacity: usize,
    entries: FxHashMap<K, (u64, V)>,
    /// Keys by when they were last used.
    order: BTreeMap<u64, K>,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub(crate) fn new(capacity: usize) -> Recent<K, V> {
        Recent { capacity, entries: FxHashMap::default(), order: BTreeMap::new(), uses: 0 }
    }

    /// The entry, if it is there; this is a use of it.
    pub(crate) fn get(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.uses += 1;
        if let Some(key) = self.order.remove(used) {
            self.order.insert(self.uses, key);
        }
        *used = self.uses;
        Some(value)
    }

    /// Puts an entry in place of the one that is there. Where there is no room, the one used
    /// longest ago goes.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(present) = self.get(&key) {
            *present = value;
            return;
        }
        if self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.uses += 1;
        self.order.insert(self.uses, key.clone());
        self.entries.insert(key, (self.uses, value));
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        assert_eq!(self.entries.len(), self.order.len());
        self.entries.len()
    }
}

impl<K, V> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_is_forgotten_first() {
        let mut recent = Recent::new(2);
        recent.insert("a", 1);
        recent.insert("b", 2);
        assert_eq!(recent.get(&"a"), Some(&mut 1));
        recent.insert("c", 3);
        assert_eq!(recent.get(&"b"), None, "b was used before a");
        recent.insert("a", 4);
        assert_eq!(recent.get(&"a"), Some(&mut 4));
        for n in 0..1000 {
            let _ = recent.get(&["d", "e", "a", "c"][n % 4]);
            recent.insert(["d", "e", "a", "c"][n % 3], n);
            assert_eq!(recent.len(), 2);
        }
    }
}
