//! Things that are there while something refers to them.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Verb;

/// How often each thing is referred to, and which of them exist in the kernel.
#[derive(Debug)]
pub(super) struct References<K> {
    counts: FxHashMap<K, u32>,
    /// Also those that nothing refers to any more.
    existing: FxHashSet<K>,
    /// Those that had a first reference since missing ones were last taken.
    touched: Vec<K>,
}

impl<K: Clone + Eq + Hash> References<K> {
    /// Returns whether this was the first reference, or the last.
    pub(super) fn count(&mut self, key: K, verb: Verb) -> bool {
        match verb {
            Verb::Add => {
                let count = self.counts.entry(key.clone()).or_insert(0);
                *count += 1;
                let is_first = *count == 1;
                if is_first {
                    self.touched.push(key);
                }
                is_first
            }
            Verb::Delete => {
                let Some(count) = self.counts.get_mut(&key) else { return false };
                *count -= 1;
                let is_last = *count == 0;
                if is_last {
                    self.counts.remove(&key);
                }
                is_last
            }
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.counts.keys()
    }

    /// It is in the kernel.
    pub(super) fn exists(&mut self, key: K) {
        self.existing.insert(key);
    }

    /// Those that something refers to and that must be created.
    pub(super) fn take_missing(&mut self) -> Vec<K> {
        let References { counts, existing, touched } = self;
        let is_used = |key: &K| counts.contains_key(key);
        touched.drain(..).filter(is_used).filter(|key| existing.insert(key.clone())).collect()
    }

    /// For things that need not be created.
    pub(super) fn forget_touched(&mut self) {
        self.touched = Vec::new();
    }

    /// Those that exist and nothing refers to, if there are more than `most`.
    pub(super) fn take_idle(&mut self, most: usize) -> Vec<K> {
        if self.existing.len() <= self.counts.len() + most {
            return Vec::new();
        }
        let References { counts, existing, .. } = self;
        existing.extract_if(|key| !counts.contains_key(key)).collect()
    }

    /// Just what is referred to exists.
    pub(super) fn forget_idle(&mut self) {
        self.existing = self.counts.keys().cloned().collect();
        self.touched.clear();
    }
}

impl<K> Default for References<K> {
    fn default() -> Self {
        let (counts, existing) = (FxHashMap::default(), FxHashSet::default());
        References { counts, existing, touched: Vec::new() }
    }
}
