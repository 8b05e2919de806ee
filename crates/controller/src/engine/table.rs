//! Objects of one kind, by name and by a small id of the kind's own type.
//!
//! A watch that starts over lists everything again: objects carry the number of the list in which
//! they were last seen, and what the newest list lacks is swept. All in O(1) but the sweep, which
//! is O(objects).

use std::sync::Arc;

use evenkeel_model::Id;
use rustc_hash::FxHashMap;

/// A namespace and a name in it.
pub(super) type Name = (Arc<str>, Arc<str>);

#[derive(Debug)]
pub(super) struct Table<I, T> {
    entries: Vec<Option<Entry<T>>>,
    free: Vec<I>,
    ids: FxHashMap<Name, I>,
    list: u32,
}

#[derive(Debug)]
struct Entry<T> {
    name: Name,
    list: u32,
    value: T,
}

impl<I: Id, T> Table<I, T> {
    /// A list begins: what it does not name is gone at its end.
    pub(super) fn begin_list(&mut self) {
        self.list = self.list.wrapping_add(1);
    }

    /// The names that the list did not have.
    pub(super) fn unlisted(&self) -> Vec<Name> {
        let entries = self.entries.iter().flatten();
        entries.filter(|e| e.list != self.list).map(|e| e.name.clone()).collect()
    }

    /// Puts an object in its place and returns the one that was there.
    pub(super) fn insert(&mut self, name: Name, value: T) -> (I, Option<T>) {
        let list = self.list;
        if let Some(&id) = self.ids.get(&name) {
            let entry = self.entries[id.index()].as_mut().expect("ids name what is there");
            entry.list = list;
            return (id, Some(std::mem::replace(&mut entry.value, value)));
        }
        let entry = Some(Entry { name: name.clone(), list, value });
        let id = match self.free.pop() {
            Some(id) => {
                self.entries[id.index()] = entry;
                id
            }
            None => {
                self.entries.push(entry);
                let index = u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 objects");
                I::from_index(index)
            }
        };
        self.ids.insert(name, id);
        (id, None)
    }

    pub(super) fn remove(&mut self, name: &Name) -> Option<(I, T)> {
        let id = self.ids.remove(name)?;
        let entry = self.entries[id.index()].take().expect("ids name what is there");
        self.free.push(id);
        Some((id, entry.value))
    }

    pub(super) fn id(&self, name: &Name) -> Option<I> {
        self.ids.get(name).copied()
    }

    pub(super) fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())?.as_ref().map(|entry| &entry.value)
    }

    pub(super) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())?.as_mut().map(|entry| &mut entry.value)
    }

    pub(super) fn name(&self, id: I) -> Option<&Name> {
        self.entries.get(id.index())?.as_ref().map(|entry| &entry.name)
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = I> {
        self.ids.values().copied()
    }
}

impl<I, T> Default for Table<I, T> {
    fn default() -> Self {
        Table { entries: Vec::new(), free: Vec::new(), ids: FxHashMap::default(), list: 0 }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_model::PodId;

    use super::*;

    #[test]
    fn what_a_list_lacks_is_found() {
        let name = |name: &str| -> Name { ("ns".into(), name.into()) };
        let mut table = Table::<PodId, u8>::default();
        table.begin_list();
        let (a, _) = table.insert(name("a"), 1);
        table.insert(name("b"), 2);
        assert_eq!(table.unlisted(), []);
        table.begin_list();
        assert_eq!(table.insert(name("a"), 3), (a, Some(1)));
        assert_eq!(table.unlisted(), [name("b")]);
        let (b, value) = table.remove(&name("b")).unwrap();
        assert_eq!((value, table.get(b), table.len()), (2, None, 1));
        assert_eq!(table.insert(name("c"), 4).0, b, "ids are used again");
    }
}
