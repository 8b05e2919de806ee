//! A value per resource, in chunks shared between copies.
//!
//! A copy costs one reference count per chunk, so that of 20,000 resources costs little more than
//! that of twenty; a write to the original copies the chunk it is in, if a copy still shares it.
//! Grows, and never shrinks.

use std::sync::Arc;

use crate::object::ResourceId;

/// Values per chunk.
const CHUNK: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Table<T> {
    /// All full but the last.
    chunks: Vec<Arc<Vec<T>>>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { chunks: Vec::new() }
    }
}

impl<T: Clone> Table<T> {
    pub(crate) fn get(&self, resource: ResourceId) -> Option<&T> {
        let index = resource.index();
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(crate) fn get_mut(&mut self, resource: ResourceId) -> Option<&mut T> {
        let index = resource.index();
        let chunk = self.chunks.get_mut(index / CHUNK)?;
        // Don't copy a chunk for a missing value.
        chunk.get(index % CHUNK)?;
        Arc::make_mut(chunk).get_mut(index % CHUNK)
    }

    pub(crate) fn push(&mut self, value: T) {
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => Arc::make_mut(chunk).push(value),
            None => self.chunks.push(Arc::new(vec![value])),
        }
    }

    /// In the order of the ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_does_not_change_and_shares_what_was_not_written() {
        let mut table = Table::default();
        (0..1000).for_each(|value| table.push(value));
        let copy = table.clone();
        *table.get_mut(ResourceId(700)).unwrap() = 7;
        table.push(1000);
        assert_eq!((table.get(ResourceId(700)), copy.get(ResourceId(700))), (Some(&7), Some(&700)));
        assert_eq!((table.get(ResourceId(1000)), copy.get(ResourceId(1000))), (Some(&1000), None));
        assert!(table.get_mut(ResourceId(1001)).is_none());
        assert!(copy.iter().copied().eq(0..1000));
        assert_eq!(table.iter().count(), 1001);
        let shared = table.chunks.iter().zip(&copy.chunks).filter(|(a, b)| Arc::ptr_eq(a, b));
        assert_eq!(shared.count(), copy.chunks.len() - 2);
    }
}
