//! A list whose items keep their id. The id of a removed item is not used again before
//! [`Slab::recycle`], so that a list of changes never means two items by one id.

use std::marker::PhantomData;

use evenkeel_model::Id;

#[derive(Debug)]
pub(super) struct Slab<I, T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
    removed: Vec<u32>,
    kind: PhantomData<I>,
}

impl<I: Id, T> Slab<I, T> {
    pub(super) fn insert(&mut self, item: T) -> I {
        if let Some(index) = self.free.pop() {
            self.items[index as usize] = Some(item);
            return I::from_index(index);
        }
        let index = u32::try_from(self.items.len()).expect("fewer than 2^32 items");
        self.items.push(Some(item));
        I::from_index(index)
    }

    pub(super) fn remove(&mut self, id: I) -> Option<T> {
        let item = self.items.get_mut(id.index())?.take()?;
        self.removed.push(u32::try_from(id.index()).expect("an id of this list"));
        Some(item)
    }

    pub(super) fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (I, &T)> {
        let items = (0u32..).zip(&self.items);
        items.filter_map(|(index, item)| Some((I::from_index(index), item.as_ref()?)))
    }

    /// Ids of removed items may be used again.
    pub(super) fn recycle(&mut self) {
        self.free.append(&mut self.removed);
    }
}

impl<I, T> Default for Slab<I, T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new(), removed: Vec::new(), kind: PhantomData }
    }
}
