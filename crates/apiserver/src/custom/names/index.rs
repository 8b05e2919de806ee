//! Which names are in use, by which definition, and who waits for them.
//!
//! A name that is released concerns only those that wait for it. All steps are O(log n) for each
//! name of a definition, with n names in all.

use std::collections::{BTreeMap, BTreeSet};

/// Names in use or wanted.
#[derive(Debug, Default)]
pub(super) struct Index {
    names: BTreeMap<Name, Use>,
    /// Names that each definition has or waits for.
    definitions: BTreeMap<String, Claims>,
}

/// A name in its group: of a resource (plural, singular, short), or of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) group: String,
    pub(super) is_kind: bool,
    pub(super) name: String,
}

#[derive(Debug, Default)]
struct Use {
    /// The number of owners. Two have the same name only if a client wrote so in their status.
    owners: usize,
    waiting: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Claims {
    accepted: BTreeSet<Name>,
    wanted: BTreeSet<Name>,
}

// === impl Index ===

impl Index {
    /// Whether anybody has a name.
    pub(super) fn is_used(&self, name: &Name) -> bool {
        self.names.get(name).is_some_and(|used| used.owners > 0)
    }

    /// Takes a name forever.
    pub(super) fn reserve(&mut self, name: Name) {
        self.names.entry(name).or_default().owners += 1;
    }

    /// Enters the names that a definition has and those that it wants, in place of earlier ones.
    /// Returns the other definitions that wait for a name which nobody has any more.
    pub(super) fn replace(
        &mut self,
        definition: &str,
        accepted: BTreeSet<Name>,
        mut wanted: BTreeSet<Name>,
    ) -> BTreeSet<String> {
        wanted.retain(|name| !accepted.contains(name));
        let old = self.definitions.remove(definition).unwrap_or_default();
        for name in &old.accepted {
            if let Some(used) = self.names.get_mut(name) {
                used.owners -= 1;
            }
        }
        for name in &old.wanted {
            if let Some(used) = self.names.get_mut(name) {
                used.waiting.remove(definition);
            }
        }
        for name in &accepted {
            self.reserve(name.clone());
        }
        for name in &wanted {
            let used = self.names.entry(name.clone()).or_default();
            used.waiting.insert(definition.to_owned());
        }
        if !accepted.is_empty() || !wanted.is_empty() {
            self.definitions.insert(definition.to_owned(), Claims { accepted, wanted });
        }
        self.released(&old, definition)
    }

    /// Who waits for a name that has no owner any more. Names that nobody has or wants are dropped.
    fn released(&mut self, old: &Claims, definition: &str) -> BTreeSet<String> {
        let mut again = BTreeSet::new();
        for name in old.accepted.union(&old.wanted) {
            let Some(used) = self.names.get(name).filter(|used| used.owners == 0) else { continue };
            if old.accepted.contains(name) {
                again.extend(used.waiting.iter().filter(|other| *other != definition).cloned());
            }
            if used.waiting.is_empty() {
                self.names.remove(name);
            }
        }
        again
    }

    /// The number of names and of definitions.
    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.names.len(), self.definitions.len())
    }
}
