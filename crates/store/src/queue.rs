//! A queue of chunks shared between copies, which holds the history of a resource.
//!
//! A copy costs one reference count per chunk. Chunks are appended at the end and dropped from the
//! front, so a copy costs a later writer at most a new chunk started early.

use std::{collections::VecDeque, sync::Arc};

/// Items per chunk.
const MOST: usize = 128;

#[derive(Clone, Debug)]
pub(crate) struct Queue<T> {
    /// Each with the number of its first item; none is empty.
    pieces: VecDeque<(usize, Arc<Vec<T>>)>,
    /// The numbers of the first item and of the one after the last. The first chunk may begin with
    /// dropped items.
    front: usize,
    back: usize,
    /// Items before this number were cleared.
    cleared: usize,
}

/// Releases an item's memory when it is dropped before its chunk.
pub(crate) trait Clear {
    fn clear(&mut self);
}

/// Items in order.
#[derive(Clone, Debug)]
pub(crate) struct Iter<'a, T> {
    queue: &'a Queue<T>,
    /// The next item, and its chunk.
    front: (usize, usize),
    /// The number after the last item, and its chunk.
    back: (usize, usize),
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue::new()
    }
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Queue<T> {
        Queue { pieces: VecDeque::new(), front: 0, back: 0, cleared: 0 }
    }
}

impl<T: Clear + Clone> Queue<T> {
    pub(crate) fn len(&self) -> usize {
        self.back - self.front
    }

    pub(crate) fn front(&self) -> Option<&T> {
        self.after(|_| false).next()
    }

    pub(crate) fn push_back(&mut self, item: T) {
        self.back += 1;
        if let Some((_, piece)) = self.pieces.back_mut()
            && piece.len() < MOST
            && let Some(piece) = Arc::get_mut(piece)
        {
            return piece.push(item);
        }
        self.pieces.push_back((self.back - 1, Arc::new(vec![item])));
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let popped = self.front()?.clone();
        self.front += 1;
        let (start, piece) = self.pieces.front_mut()?;
        if *start + piece.len() <= self.front {
            self.pieces.pop_front();
            self.cleared = self.front;
        } else if let Some(piece) = Arc::get_mut(piece) {
            // Dropped items must not stay in memory for as long as their chunk.
            let from = self.cleared.max(*start) - *start;
            piece[from..self.front - *start].iter_mut().for_each(T::clear);
            self.cleared = self.front;
        }
        Some(popped)
    }

    /// The items for which `before` is false; those for which it is true come first.
    pub(crate) fn after(&self, before: impl Fn(&T) -> bool) -> Iter<'_, T> {
        let end = (self.back, self.pieces.len().saturating_sub(1));
        let piece = self.pieces.partition_point(|(_, piece)| piece.last().is_some_and(&before));
        let Some((start, items)) = self.pieces.get(piece) else {
            return Iter { queue: self, front: end, back: end };
        };
        let forgotten = self.front.saturating_sub(*start);
        let index = forgotten + items[forgotten..].partition_point(before);
        Iter { queue: self, front: (start + index, piece), back: end }
    }
}

impl<'a, T> Iter<'a, T> {
    fn item(&self, number: usize, piece: usize) -> Option<&'a T> {
        let (start, items) = self.queue.pieces.get(piece)?;
        items.get(number - start)
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let (number, mut piece) = self.front;
        if number == self.back.0 {
            return None;
        }
        let item = match self.item(number, piece) {
            Some(item) => item,
            None => {
                piece += 1;
                self.item(number, piece)?
            }
        };
        self.front = (number + 1, piece);
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.back.0 - self.front.0;
        (len, Some(len))
    }
}

impl<T> DoubleEndedIterator for Iter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (after, mut piece) = self.back;
        if after == self.front.0 {
            return None;
        }
        let number = after - 1;
        let (start, _) = self.queue.pieces.get(piece)?;
        if number < *start {
            piece -= 1;
        }
        self.back = (number, piece);
        self.item(number, piece)
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    impl Clear for Option<Arc<usize>> {
        fn clear(&mut self) {
            *self = None;
        }
    }

    type Items = Queue<Option<Arc<usize>>>;

    fn numbers<'a>(items: impl Iterator<Item = &'a Option<Arc<usize>>>) -> Vec<usize> {
        items.map(|item| **item.as_ref().unwrap()).collect()
    }

    fn after(queue: &Items, number: usize) -> Iter<'_, Option<Arc<usize>>> {
        queue.after(move |item| item.as_ref().is_some_and(|item| **item <= number))
    }

    #[test]
    fn items_come_in_order_from_either_end_and_copies_do_not_change() {
        let (mut queue, mut plain) = (Items::default(), VecDeque::new());
        let mut copies = Vec::new();
        for number in 1..3_000 {
            queue.push_back(Some(Arc::new(number)));
            plain.push_back(number);
            if number % 5 < 3 && number > 500 {
                assert_eq!(queue.pop_front().flatten().as_deref(), plain.pop_front().as_ref());
            }
            if number % 301 == 0 {
                copies.push((queue.clone(), plain.clone()));
            }
        }
        copies.push((queue, plain));
        for (queue, plain) in &copies {
            for from in [0, plain[0] - 1, plain[0], plain[plain.len() / 2], plain[plain.len() - 1]]
            {
                let expected: Vec<usize> = plain.iter().copied().filter(|n| *n > from).collect();
                assert_eq!(after(queue, from).len(), expected.len());
                assert_eq!(numbers(after(queue, from)), expected);
                let mut backwards = numbers(after(queue, from).rev());
                backwards.reverse();
                assert_eq!(backwards, expected);
            }
            let mut both = after(queue, 0);
            let mut taken = 0;
            while both.next().is_some() {
                taken += 1 + usize::from(both.next_back().is_some());
            }
            assert_eq!(taken, plain.len());
        }
    }

    #[test]
    fn what_is_forgotten_is_given_back_at_once_unless_a_copy_has_it() {
        let mut queue = Items::default();
        let items: Vec<Arc<usize>> = (1..=10).map(Arc::new).collect();
        items.iter().for_each(|item| queue.push_back(Some(item.clone())));
        queue.pop_front();
        assert_eq!(Arc::strong_count(&items[0]), 1);
        let copy = queue.clone();
        queue.pop_front();
        assert_eq!(Arc::strong_count(&items[1]), 2, "the copy has it");
        drop(copy);
        queue.pop_front();
        assert_eq!((Arc::strong_count(&items[1]), Arc::strong_count(&items[2])), (1, 1));
        assert_eq!(queue.front().and_then(Option::as_deref), Some(&4));
    }
}
