//! Lists and watches: which objects and changes a reader sees.
//!
//! The cost of a page is its items plus the keys skipped on the way: those the selector rejects and
//! those that did not exist at the page's revision. A page is read from a [`View`] and so blocks
//! nobody; it can be read in steps by a caller that must yield.

use std::sync::Arc;

use crate::{
    history::{Compacted, Event},
    object::{Object, ResourceId, Revision},
    selector::Selector,
    state::State,
    view::{View, Walk},
};

/// How many keys a page of a past revision looks ahead to count the remaining items.
const COUNTED: usize = 1000;

/// A list request.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub resource: ResourceId,
    pub selector: &'a Selector,
    /// A past revision; `None`: the current one.
    pub at: Option<Revision>,
    /// Continue after this key.
    pub after: Option<&'a str>,
    /// 0: no limit.
    pub limit: usize,
}

/// A list, or a page of one.
#[derive(Clone, Debug)]
pub struct Page {
    pub items: Vec<Arc<Object>>,
    /// The revision of the list.
    pub revision: Revision,
    /// The last key, if there are more items.
    pub next: Option<Box<str>>,
    /// The number of remaining items, if known: unknown with a selector, and far into the past.
    pub remaining: Option<usize>,
}

/// What a watcher sees of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    Added(&'a Arc<Object>),
    Modified(&'a Arc<Object>),
    /// The last version that the watcher has seen.
    Deleted(&'a Arc<Object>),
}

/// A list in progress.
pub struct Listing<'a> {
    view: &'a View,
    query: &'a Query<'a>,
    /// The revision being listed.
    at: Revision,
    walk: Walk<'a>,
    items: Vec<Arc<Object>>,
    /// The number of objects known to follow the items.
    ahead: usize,
    /// The number of objects to look for.
    wanted: usize,
    visited: usize,
}

/// Reads a whole list at once.
pub fn list(state: &State, query: &Query<'_>) -> Result<Page, Compacted> {
    let view = state.view(query.resource);
    let mut listing = Listing::new(&view, query)?;
    listing.advance(usize::MAX);
    Ok(listing.page())
}

/// What a watcher with this selector sees of a change.
pub fn seen<'a>(event: &'a Event, selector: &Selector) -> Option<Seen<'a>> {
    let chosen = |object: &'a Option<Arc<Object>>| {
        object.as_ref().filter(|object| selector.in_scope(object) && selector.matches(object))
    };
    match (chosen(&event.before), chosen(&event.object)) {
        (None, None) => None,
        (None, Some(new)) => Some(Seen::Added(new)),
        (Some(_), Some(new)) => Some(Seen::Modified(new)),
        (Some(old), None) => Some(Seen::Deleted(old)),
    }
}

// === impl Listing ===

impl<'a> Listing<'a> {
    /// `view` must belong to the query's resource.
    pub fn new(view: &'a View, query: &'a Query<'a>) -> Result<Listing<'a>, Compacted> {
        let at = query.at.unwrap_or(view.revision()).min(view.revision());
        if at < view.oldest() {
            return Err(Compacted { asked: at, oldest: view.oldest() });
        }
        let first = query.selector.first_key();
        let walk = view.walk(at, |key| match query.after {
            Some(after) if after >= first.as_str() => key <= after,
            _ => key < first.as_str(),
        });
        let is_past = at < view.revision();
        let counts = is_past && !query.selector.selects();
        let wanted = if counts { COUNTED } else { 1 };
        let items = Vec::new();
        Ok(Listing { view, query, at, walk, items, ahead: 0, wanted, visited: 0 })
    }

    /// Does not count the remaining items: the caller knows their number.
    #[must_use]
    pub fn uncounted(self) -> Listing<'a> {
        Listing { wanted: 1, ..self }
    }

    /// Visits at most `most` more keys; `true` if the list is complete.
    pub fn advance(&mut self, most: usize) -> bool {
        for _ in 0..most {
            if self.is_full() && self.ahead == self.wanted {
                return true;
            }
            let Some((object, was_there)) = self.walk.next() else { return true };
            self.visited += 1;
            if !self.query.selector.in_scope(object) {
                return true;
            }
            match was_there && self.query.selector.matches(object) {
                true if self.is_full() => self.ahead += 1,
                true => self.items.push(object.clone()),
                false => {}
            }
        }
        false
    }

    /// The number of keys visited.
    pub fn visited(&self) -> usize {
        self.visited
    }

    pub fn page(self) -> Page {
        let last = self.items.last().filter(|_| self.ahead > 0);
        let next = last.map(|last| last.key.clone());
        let remaining = next.as_deref().and_then(|last| self.remaining(last));
        Page { items: self.items, revision: self.at, next, remaining }
    }

    fn is_full(&self) -> bool {
        self.query.limit > 0 && self.items.len() >= self.query.limit
    }

    /// The number of remaining items.
    fn remaining(&self, last: &str) -> Option<usize> {
        let Query { selector, .. } = self.query;
        if selector.selects() {
            return None;
        }
        if self.at < self.view.revision() {
            return Some(self.ahead).filter(|ahead| *ahead < self.wanted);
        }
        let end = self.view.position(|key| key <= last || selector.has_in_scope(key));
        Some(end - self.view.position(|key| key <= last))
    }
}

impl std::fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listing").field("visited", &self.visited).finish_non_exhaustive()
    }
}
