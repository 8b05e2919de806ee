//! The objects of one resource in the order of their keys, in pieces that copies share.
//!
//! A copy costs one reference count a piece, and a write copies the one piece it touches as long as
//! somebody else still holds it. So a snapshot, or a reader of a large range, takes a copy and
//! leaves the lock; whoever writes meanwhile pays for the pieces it changes, once each.
//!
//! Finding is two binary searches. An insertion moves at most [`MOST`] pointers in its piece and
//! the list of pieces, which is short: 100,000 objects are some 1,000 pieces.

use std::{ops::Bound, sync::Arc};

use crate::object::Object;

/// Objects in a piece.
const MOST: usize = 128;
/// A piece that gets smaller is joined with a neighbour where both fit into [`HALF`].
const FEW: usize = MOST / 4;
const HALF: usize = MOST / 2;

#[derive(Clone, Debug, Default)]
pub(crate) struct Collection {
    /// None is empty; all keys of one are before all keys of the next.
    pieces: Vec<Arc<Vec<Arc<Object>>>>,
    len: usize,
}

/// Where an object is, or where it would be.
#[derive(Clone, Copy)]
struct Place {
    piece: usize,
    index: usize,
}

impl Collection {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Arc<Object>> {
        let place = self.find(key).ok()?;
        self.pieces.get(place.piece)?.get(place.index)
    }

    /// From a key on.
    pub(crate) fn range<'a>(
        &'a self,
        from: Bound<&str>,
    ) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
        let start = match from {
            Bound::Unbounded => Place { piece: 0, index: 0 },
            Bound::Included(key) => self.find(key).unwrap_or_else(|would_be| would_be),
            Bound::Excluded(key) => match self.find(key) {
                Ok(Place { piece, index }) => Place { piece, index: index + 1 },
                Err(would_be) => would_be,
            },
        };
        let mut pieces = self.pieces.get(start.piece..).unwrap_or_default().iter();
        let first = pieces.next().and_then(|piece| piece.get(start.index..)).unwrap_or_default();
        first.iter().chain(pieces.flat_map(|piece| piece.iter()))
    }

    /// Puts it in the place of the object with its key, which is returned.
    pub(crate) fn replace(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        match self.find(&object.key) {
            Ok(Place { piece, index }) => {
                let piece = Arc::make_mut(&mut self.pieces[piece]);
                Some(std::mem::replace(&mut piece[index], object))
            }
            Err(place) => {
                self.insert(place, object);
                None
            }
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Arc<Object>> {
        let Place { piece, index } = self.find(key).ok()?;
        let objects = Arc::make_mut(&mut self.pieces[piece]);
        let taken = objects.remove(index);
        let left = objects.len();
        self.len -= 1;
        if left == 0 {
            self.pieces.remove(piece);
        } else if left < FEW {
            self.join(piece);
        }
        Some(taken)
    }

    fn insert(&mut self, Place { piece, index }: Place, object: Arc<Object>) {
        self.len += 1;
        let is_last = piece + 1 >= self.pieces.len();
        let Some(objects) = self.pieces.get_mut(piece) else {
            return self.pieces.push(new_piece([object]));
        };
        if objects.len() < MOST {
            return Arc::make_mut(objects).insert(index, object);
        }
        if is_last && index == objects.len() {
            // Keys that rise, as at a replay, fill each piece.
            return self.pieces.push(new_piece([object]));
        }
        let objects = Arc::make_mut(objects);
        let mut upper = objects.split_off(HALF);
        match index.checked_sub(HALF) {
            Some(index) => upper.insert(index, object),
            None => objects.insert(index, object),
        }
        self.pieces.insert(piece + 1, Arc::new(upper));
    }

    /// Joins a small piece with the one after or before it.
    fn join(&mut self, piece: usize) {
        let fits = |lower: usize| match self.pieces.get(lower..=lower + 1) {
            Some([lower, upper]) => lower.len() + upper.len() <= HALF,
            _ => false,
        };
        let Some(lower) =
            [Some(piece), piece.checked_sub(1)].into_iter().flatten().find(|&p| fits(p))
        else {
            return;
        };
        let upper = self.pieces.remove(lower + 1);
        Arc::make_mut(&mut self.pieces[lower]).extend(upper.iter().cloned());
    }

    fn find(&self, key: &str) -> Result<Place, Place> {
        let after = self
            .pieces
            .partition_point(|piece| piece.first().is_some_and(|first| *first.key <= *key));
        let Some(piece) = after.checked_sub(1) else { return Err(Place { piece: 0, index: 0 }) };
        match self.pieces[piece].binary_search_by(|object| (*object.key).cmp(key)) {
            Ok(index) => Ok(Place { piece, index }),
            Err(index) => Err(Place { piece, index }),
        }
    }
}

fn new_piece(objects: impl IntoIterator<Item = Arc<Object>>) -> Arc<Vec<Arc<Object>>> {
    let mut piece = Vec::with_capacity(MOST);
    piece.extend(objects);
    Arc::new(piece)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn object(key: &str, revision: u64) -> Arc<Object> {
        let tail = bytes::Bytes::new();
        Arc::new(Object { key: key.into(), revision, labels: [].into(), fields: [].into(), tail })
    }

    fn keys<'a>(objects: impl Iterator<Item = &'a Arc<Object>>) -> Vec<(String, u64)> {
        objects.map(|object| (object.key.to_string(), object.revision)).collect()
    }

    /// Against a map of the standard library, with copies taken on the way that must not change.
    #[test]
    fn it_is_an_ordered_map_and_its_copies_do_not_change() {
        let (mut collection, mut map) = (Collection::default(), BTreeMap::new());
        let mut copies = Vec::new();
        let mut seed = 7u64;
        for revision in 1..40_000u64 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = seed >> 33;
            // More deletes than creates in the second half: pieces are joined.
            let delete = number % 10 < if revision < 20_000 { 3 } else { 7 };
            let key = format!("{:05}", (number / 16) % 6000);
            if delete {
                let expected: Option<u64> = map.remove(&key);
                assert_eq!(collection.take(&key).map(|object| object.revision), expected);
            } else {
                let expected = map.insert(key.clone(), revision);
                let before = collection.replace(object(&key, revision));
                assert_eq!(before.map(|object| object.revision), expected);
            }
            assert_eq!(collection.len(), map.len());
            assert_eq!(collection.get(&key).map(|found| found.revision), map.get(&key).copied());
            if revision % 4_000 == 0 {
                copies.push((collection.clone(), map.clone()));
            }
        }
        copies.push((collection, map));
        for (copy, map) in copies {
            let all: Vec<(String, u64)> = map.clone().into_iter().collect();
            assert_eq!(keys(copy.range(Bound::Unbounded)), all);
            for from in ["", "03000", "030005", "99999"] {
                let cut = |bound: Bound<&str>| -> Vec<(String, u64)> {
                    let range = map.range::<str, _>((bound, Bound::Unbounded));
                    range.map(|(key, revision)| (key.clone(), *revision)).collect()
                };
                for bound in [Bound::Included(from), Bound::Excluded(from)] {
                    assert_eq!(keys(copy.range(bound)), cut(bound), "{bound:?}");
                }
            }
            let most = copy.len().div_ceil(FEW).max(1) * 2;
            assert!(copy.pieces.len() <= most, "{} pieces of {}", copy.pieces.len(), copy.len());
        }
    }

    #[test]
    fn a_copy_shares_all_pieces_and_a_write_copies_one() {
        let mut collection = Collection::default();
        for number in 0..10_000 {
            collection.replace(object(&format!("{number:05}"), 1));
        }
        assert_eq!(collection.pieces.len(), 10_000usize.div_ceil(MOST), "rising keys fill pieces");
        let copy = collection.clone();
        collection.replace(object("05000", 2));
        collection.take("05001");
        let shared = collection
            .pieces
            .iter()
            .zip(&copy.pieces)
            .filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(shared.count(), copy.pieces.len() - 1);
        assert_eq!(copy.get("05000").unwrap().revision, 1);
    }
}
