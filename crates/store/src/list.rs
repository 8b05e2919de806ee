//! Lists and watches: which objects and which changes someone gets to see.
//!
//! A list at a past revision is the present state with the keys changed since then put back
//! (`History::before`), so it costs the range it covers plus the changes since, and needs no
//! second copy of the state.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use crate::{
    history::{Compacted, Event},
    object::{Object, ResourceId, Revision},
    selector::Selector,
    state::State,
};

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
    /// How many more, where that is known: not with a selector.
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

pub fn list(state: &State, query: &Query<'_>) -> Result<Page, Compacted> {
    let at = query.at.filter(|at| *at < state.revision());
    let past = match at {
        Some(at) if at < state.history().oldest() => {
            return Err(Compacted { asked: at, oldest: state.history().oldest() });
        }
        Some(at) => state.history().before(query.resource, at),
        None => BTreeMap::new(),
    };
    let mut objects = merged(state, query, past);
    let mut items = Vec::new();
    let full = |items: &Vec<_>| query.limit > 0 && items.len() >= query.limit;
    while !full(&items) {
        let Some(object) = objects.next() else { break };
        if query.selector.matches(object) {
            items.push(object.clone());
        }
    }
    let more = full(&items) && objects.any(|object| query.selector.matches(object));
    let next = items.last().filter(|_| more).map(|last: &Arc<Object>| last.key.clone());
    let counted = more && !query.selector.selects();
    let remaining = counted.then(|| objects.count() + 1);
    Ok(Page { items, revision: query.at.unwrap_or(state.revision()), next, remaining })
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

/// The objects of a range as they were: `past` stands for the keys it has.
fn merged<'a>(
    state: &'a State,
    query: &'a Query<'_>,
    past: BTreeMap<&'a str, Option<&'a Arc<Object>>>,
) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
    let first = query.selector.first_key();
    let from = match query.after {
        Some(after) if after >= first.as_str() => Bound::Excluded(after),
        _ => Bound::Included(first.as_str()),
    };
    let inside = |object: &&Arc<Object>| query.selector.in_scope(object);
    let present = state.range(query.resource, from).take_while(inside);
    if past.is_empty() {
        return Box::new(present);
    }
    let mut objects: Vec<&Arc<Object>> =
        present.filter(|object| !past.contains_key(&*object.key)).collect();
    let after = |key: &str| query.after.is_none_or(|after| key > after);
    objects.extend(
        past.into_iter().filter(|(key, _)| after(key)).filter_map(|(_, was)| was).filter(inside),
    );
    objects.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Box::new(objects.into_iter())
}
