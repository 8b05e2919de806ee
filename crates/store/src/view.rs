//! The present and past of a resource, independent of the state.
//!
//! A version existed from its own revision until it was replaced. So the objects at a revision are
//! the current ones that are not younger, and the past ones that existed at it: two walks in key
//! order, merged. A key costs O(log n) however often it has changed.

use std::sync::Arc;

use crate::{
    history::Past,
    object::{Object, Revision},
    tree::{self, SortKey, Tree},
};

/// The versions of one resource since the history begins. Immutable.
#[derive(Clone, Debug)]
pub struct View {
    present: Tree<Arc<Object>>,
    past: Tree<Past>,
    revision: Revision,
    oldest: Revision,
}

/// The versions visited for a revision, and whether each existed at it: lets the caller count what
/// it visits.
pub(crate) struct Walk<'a> {
    view: &'a View,
    at: Revision,
    present: tree::Walk<'a, Arc<Object>>,
    past: tree::Walk<'a, Past>,
}

impl View {
    pub(crate) fn new(
        present: Tree<Arc<Object>>,
        past: Tree<Past>,
        revision: Revision,
        oldest: Revision,
    ) -> View {
        View { present, past, revision, oldest }
    }

    /// The revision of the state that it was taken from.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest revision that it can show.
    pub fn oldest(&self) -> Revision {
        self.oldest
    }

    /// The number of current objects for which `before` is true.
    pub(crate) fn position(&self, before: impl Fn(&str) -> bool) -> usize {
        self.present.position(|(key, _)| before(key))
    }

    /// The objects at a revision, except those for which `before` is true.
    pub(crate) fn walk(&self, at: Revision, before: impl Fn(&str) -> bool) -> Walk<'_> {
        let before = |(key, _): SortKey<'_>| before(key);
        let past = match at < self.revision {
            true => self.past.walk(before),
            false => tree::Walk::nothing(),
        };
        Walk { view: self, at, present: self.present.walk(before), past }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = (&'a Arc<Object>, bool);

    fn next(&mut self) -> Option<(&'a Arc<Object>, bool)> {
        match (self.present.peek(), self.past.peek()) {
            (None, None) => None,
            (Some(present), past) if past.is_none_or(|past| present.key < past.object.key) => {
                self.present.next();
                Some((present, present.revision <= self.at))
            }
            (_, Some(past)) => Some((&past.object, self.pass(past))),
            (Some(_), None) => unreachable!("where there is no past, the present comes next"),
        }
    }
}

impl<'a> Walk<'a> {
    /// Skips a past version and those behind it that can't have existed. Returns whether it
    /// existed.
    fn pass(&mut self, past: &'a Past) -> bool {
        self.past.next();
        let key = &*past.object.key;
        // The next candidate: a version replaced later, or another key's.
        let last = if past.until <= self.at { self.at } else { Revision::MAX };
        if self.past.peek().is_some_and(|next| *next.object.key == *key && next.until <= last) {
            self.past = self.view.past.walk(|at| at <= (key, last));
        }
        past.object.revision <= self.at && self.at < past.until
    }
}
