//! What is to be changed in the kernel, all at once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{ChainId, Data, Family, Key, SetId};

/// The changes of one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// In order, before elements change.
    pub create: Vec<Create>,
    /// Deletes before adds; those of one set together.
    pub elements: Vec<Change>,
    /// In order, after elements have changed.
    pub remove: Vec<Remove>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Create {
    /// Deletes the table of this family if it exists, and creates it with its sets and fixed chains.
    Table(Family),
    /// A chain that picks, with its rules.
    Chain(Family, ChainId),
    Counter(Family, Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remove {
    Chain(Family, ChainId),
    Counter(Family, Arc<str>),
}

/// A change of one element. An element is replaced by its deletion and its addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub verb: Verb,
    pub element: Element,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    Delete,
    Add,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    pub family: Family,
    pub set: SetId,
    pub key: Key,
    /// The last key of a range, in sets that have ranges; otherwise the same as `key`.
    pub end: Key,
    /// Of no consequence in deletions.
    pub data: Data,
}

/// Which element: no two of a ruleset have the same.
pub type ElementKey = (Family, SetId, Key, Key);

// === impl Transaction ===

impl Transaction {
    pub fn is_empty(&self) -> bool {
        let Transaction { create, elements, remove } = self;
        create.is_empty() && elements.is_empty() && remove.is_empty()
    }

    /// Makes all changes of an element one, leaves out those that change nothing, and orders them.
    pub fn settle(&mut self) {
        let only_adds = self.elements.iter().all(|change| change.verb == Verb::Add);
        if !only_adds {
            self.elements = net(std::mem::take(&mut self.elements));
        }
        self.sort();
    }

    /// Deletes before adds; those of one set together.
    pub(crate) fn sort(&mut self) {
        // In place: those of one set may come in any order.
        self.elements.sort_unstable_by_key(|change| {
            let Element { family, set, .. } = change.element;
            (change.verb, family, set)
        });
    }
}

/// Only elements that were deleted at some time can have several changes: memory goes to these alone.
fn net(mut changes: Vec<Change>) -> Vec<Change> {
    #[derive(Default)]
    struct Net {
        is_known: bool,
        before: Option<Element>,
        after: Option<Element>,
    }
    let deleted = changes.iter().filter(|change| change.verb == Verb::Delete);
    let mut nets: FxHashMap<ElementKey, Net> =
        deleted.map(|change| (change.element.key(), Net::default())).collect();
    changes.retain(|Change { verb, element }| {
        let Some(net) = nets.get_mut(&element.key()) else { return true };
        let is_first = !std::mem::replace(&mut net.is_known, true);
        if is_first && *verb == Verb::Delete {
            net.before = Some(element.clone());
        }
        net.after = (*verb == Verb::Add).then(|| element.clone());
        false
    });
    for Net { before, after, .. } in nets.into_values().filter(|net| net.before != net.after) {
        changes.extend(before.map(|element| Change { verb: Verb::Delete, element }));
        changes.extend(after.map(|element| Change { verb: Verb::Add, element }));
    }
    changes
}

// === impl Element ===

impl Element {
    pub fn new(family: Family, set: SetId, key: Key, data: Data) -> Element {
        Element { family, set, key, end: key, data }
    }

    pub fn key(&self) -> ElementKey {
        (self.family, self.set, self.key, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(verb: Verb, port: u16, rank: u32) -> Change {
        let key = Key::new().port(port);
        let set = SetId::ZoneSlots(crate::By::NodePort);
        Change { verb, element: Element::new(Family::Ipv4, set, key, Data::Scratch(rank)) }
    }

    #[test]
    fn changes_of_one_element_become_one() {
        use Verb::{Add, Delete};
        for (given, settled) in [
            (vec![change(Add, 1, 5), change(Delete, 1, 5)], vec![]),
            (vec![change(Delete, 1, 5), change(Add, 1, 5)], vec![]),
            (
                vec![
                    change(Delete, 1, 5),
                    change(Add, 1, 6),
                    change(Delete, 1, 6),
                    change(Add, 1, 7),
                ],
                vec![change(Delete, 1, 5), change(Add, 1, 7)],
            ),
            (
                vec![change(Add, 2, 1), change(Delete, 1, 1)],
                vec![change(Delete, 1, 1), change(Add, 2, 1)],
            ),
        ] {
            let mut transaction = Transaction { elements: given, ..Transaction::default() };
            transaction.settle();
            assert_eq!(transaction.elements, settled);
        }
    }
}
