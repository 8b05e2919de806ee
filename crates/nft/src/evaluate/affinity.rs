//! The clients that the kernel remembers, for session affinity.

use rustc_hash::FxHashMap;

use crate::{Key, MOST_AFFINITIES, SetId};

/// The elements of the maps that packets change. Keys of IPv6 clients are not hashed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinities {
    elements: FxHashMap<(SetId, Key), Affinity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Affinity {
    pub(super) id: u32,
    /// In seconds.
    pub(super) expires: u64,
}

/// A change that a packet made; `None`: the element was deleted.
pub(super) type Change = ((SetId, Key), Option<Affinity>);

impl Affinities {
    pub fn new() -> Affinities {
        Affinities::default()
    }

    /// How many clients are remembered.
    pub fn len(&self, now: u64) -> usize {
        self.elements.values().filter(|affinity| affinity.expires > now).count()
    }

    pub fn is_empty(&self, now: u64) -> bool {
        self.len(now) == 0
    }

    pub(super) fn find(&self, changes: &[Change], of: (SetId, Key), now: u64) -> Option<Affinity> {
        let changed = changes.iter().rev().find(|(key, _)| *key == of);
        let found = match changed {
            Some((_, affinity)) => *affinity,
            None => self.elements.get(&of).copied(),
        };
        found.filter(|affinity| affinity.expires > now)
    }

    pub(super) fn is_full(&self, map: SetId, now: u64) -> bool {
        // The whole is counted only where it could be too much.
        let of_map = |((set, _), affinity): &(&(SetId, Key), &Affinity)| {
            *set == map && affinity.expires > now
        };
        let most = MOST_AFFINITIES as usize;
        self.elements.len() >= most && self.elements.iter().filter(of_map).count() >= most
    }

    pub(super) fn apply(&mut self, changes: Vec<Change>) {
        for (key, affinity) in changes {
            match affinity {
                Some(affinity) => self.elements.insert(key, affinity),
                None => self.elements.remove(&key),
            };
        }
    }
}
