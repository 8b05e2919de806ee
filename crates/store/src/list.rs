//! Lists and watches: which objects and which changes someone gets to see.
//!
//! A page costs what it shows and the keys that it passes on the way: those that its selector does
//! not choose, and those that had nothing at its revision. It is made from a [`View`], so nobody is
//! held up by it, and in pieces for who has more to do.

use std::sync::Arc;

use crate::{
    history::{Compacted, Event},
    object::{Object, ResourceId, Revision},
    selector::Selector,
    state::State,
    view::{View, Walk},
};

/// How far a page of the past looks ahead to say how many more there are.
const COUNTED: usize = 1000;

/// What to list.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub resource: ResourceId,
    pub selector: &'a Selector,
    /// A past revision; `None`: now.
    pub at: Option<Revision>,
    /// Go on after this key.
    pub after: Option<&'a str>,
    /// 0: no limit.
    pub limit: usize,
}

/// A list, or a page of one.
#[derive(Clone, Debug)]
pub struct Page {
    pub items: Vec<Arc<Object>>,
    /// The revision that the list shows.
    pub revision: Revision,
    /// The last key, where there are more.
    pub next: Option<Box<str>>,
    /// How many more, where that is known: not with a selector, and not far into the past.
    pub remaining: Option<usize>,
}

/// What a watcher is told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen<'a> {
    Added(&'a Arc<Object>),
    Modified(&'a Arc<Object>),
    /// The last version that the watcher had seen.
    Deleted(&'a Arc<Object>),
}

/// A list on its way.
pub struct Listing<'a> {
    view: &'a View,
    query: &'a Query<'a>,
    /// The revision that is listed.
    at: Revision,
    walk: Walk<'a>,
    items: Vec<Arc<Object>>,
    /// How many objects are known to follow the items.
    ahead: usize,
    /// How many it looks for.
    wanted: usize,
    visited: usize,
}

/// A whole list at once.
pub fn list(state: &State, query: &Query<'_>) -> Result<Page, Compacted> {
    let view = state.view(query.resource);
    let mut listing = Listing::new(&view, query)?;
    listing.go_on(usize::MAX);
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
    /// `view` is one of the query's resource.
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

    /// Does not look for how many more there are: someone knows.
    #[must_use]
    pub fn uncounted(self) -> Listing<'a> {
        Listing { wanted: 1, ..self }
    }

    /// Looks at so many keys more at most; `true`: that is the list.
    pub fn go_on(&mut self, most: usize) -> bool {
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

    /// The keys it has looked at.
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

    /// How many more there are.
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
