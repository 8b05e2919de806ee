//! Values as small numbers, counted: a number is free again when nothing refers to it.

use std::{
    borrow::Borrow,
    collections::HashMap,
    fmt::{self, Debug, Formatter},
    hash::{BuildHasher, Hash},
};

#[derive(Clone)]
pub(crate) struct Interner<K, S> {
    ids: HashMap<K, u32, S>,
    slots: Vec<Slot<K>>,
    free: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Slot<K> {
    /// `None` while the number is free.
    key: Option<K>,
    references: u32,
}

// === impl Interner ===

impl<K: Clone + Eq + Hash, S: BuildHasher> Interner<K, S> {
    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        self.ids.get(key).copied()
    }

    pub(crate) fn key(&self, id: u32) -> Option<&K> {
        self.slots.get(id as usize)?.key.as_ref()
    }

    /// Adds a reference to a key that has a number already, and returns that.
    pub(crate) fn refer<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        let id = self.find(key)?;
        self.retain(id);
        Some(id)
    }

    /// Adds a reference.
    pub(crate) fn retain(&mut self, id: u32) {
        self.slots[id as usize].references += 1;
    }

    /// Gives a key that has none a number, with one reference.
    pub(crate) fn insert(&mut self, key: K) -> u32 {
        let slot = Slot { key: Some(key.clone()), references: 1 };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer values than memory has bytes")
            }
        };
        self.ids.insert(key, id);
        id
    }

    /// Drops a reference; the key if it was the last.
    pub(crate) fn release(&mut self, id: u32) -> Option<K> {
        let slot = &mut self.slots[id as usize];
        slot.references -= 1;
        if slot.references > 0 {
            return None;
        }
        let key = slot.key.take()?;
        self.ids.remove(&key);
        self.free.push(id);
        Some(key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}

impl<K, S: Default> Default for Interner<K, S> {
    fn default() -> Interner<K, S> {
        Interner { ids: HashMap::default(), slots: Vec::new(), free: Vec::new() }
    }
}

impl<K, S> Debug for Interner<K, S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interner").field("len", &self.ids.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use super::*;

    #[test]
    fn a_number_is_free_after_its_last_reference() {
        let mut names = Interner::<&str, RandomState>::default();
        let a = names.insert("a");
        assert_eq!(names.refer("a"), Some(a));
        let b = names.insert("b");
        assert_ne!(a, b);
        assert_eq!(names.release(a), None);
        assert_eq!(names.find("a"), Some(a));
        assert_eq!(names.release(a), Some("a"));
        assert_eq!((names.find("a"), names.key(a), names.len()), (None, None, 1));
        assert_eq!(names.insert("c"), a);
    }
}
