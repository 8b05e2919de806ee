//! Candidates by what a request has, and the search among them.

use rustc_hash::FxHashMap;

use super::{
    anchor::{Attribute, Key, N_ATTRIBUTES, up_to},
    check::{Check, SERVICE_ACCOUNT},
};
use crate::Request;

/// All that could match one sort of request.
#[derive(Debug)]
pub(super) struct Index {
    by: [Keys; N_ATTRIBUTES],
    by_header: FxHashMap<Box<str>, Keys>,
    /// Those without an anchor.
    always: Span,
    /// The lists, one after the other, each in the order of schemas.
    entries: Box<[Entry]>,
    checks: Box<[Check]>,
    /// The maximum number of slashes in a path prefix.
    depth: usize,
}

/// What is filled, list by list, to become an [`Index`].
#[derive(Debug, Default)]
pub(super) struct Lists<'c> {
    keyed: FxHashMap<Key<'c>, Vec<Entry>>,
    always: Vec<Entry>,
    checks: Vec<Check>,
}

/// A schema that matches if the check holds.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Entry {
    pub(super) schema: u32,
    /// An index into the checks, or [`UNCONDITIONAL`].
    pub(super) check: u32,
}

/// The anchor alone decides. Sorts before all checks.
const UNCONDITIONAL: u32 = 0;

#[derive(Debug)]
struct Keys {
    /// The first schema in any of the lists: nothing here can better a match before it.
    first: u32,
    /// The list of the empty value: most attributes are empty in most requests.
    empty: Span,
    lists: FxHashMap<Box<str>, Span>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// A search under way.
struct Search<'a, 'r> {
    index: &'a Index,
    request: &'a Request<'r>,
    /// The first schema known to match; [`NONE`] at the beginning.
    best: u32,
}

const NONE: u32 = u32::MAX;

// === impl Index ===

impl Index {
    /// The first schema that matches.
    pub(super) fn first_match(&self, request: &Request<'_>) -> Option<usize> {
        let mut search = Search { index: self, request, best: NONE };
        search.by_identity();
        search.by_target();
        search.by_header();
        search.scan(self.always);
        (search.best != NONE).then_some(search.best as usize)
    }
}

impl From<Lists<'_>> for Index {
    fn from(lists: Lists<'_>) -> Self {
        let mut index = Index {
            by: std::array::from_fn(|_| Keys::default()),
            by_header: FxHashMap::default(),
            always: Span::default(),
            entries: Box::default(),
            checks: lists.checks.into(),
            depth: 0,
        };
        let mut entries = Vec::new();
        index.always = append(&mut entries, lists.always);
        for (Key { attribute, value }, list) in lists.keyed {
            if attribute == Attribute::PathPrefix {
                index.depth = index.depth.max(value.matches('/').count());
            }
            let keys = match attribute {
                Attribute::Header(name) => index.by_header.entry(name.into()).or_default(),
                other => &mut index.by[slot(other)],
            };
            let span = append(&mut entries, list);
            keys.first = keys.first.min(entries[span.start as usize].schema);
            keys.insert(value.into(), span);
        }
        index.entries = entries.into();
        index
    }
}

fn slot(attribute: Attribute<'_>) -> usize {
    attribute.slot().expect("headers are looked up by name")
}

/// Puts a list in order behind the others. What comes after an unconditional entry is never seen.
fn append(entries: &mut Vec<Entry>, mut list: Vec<Entry>) -> Span {
    list.sort_unstable();
    list.dedup();
    if let Some(last) = list.iter().position(|entry| entry.check == UNCONDITIONAL) {
        list.truncate(last + 1);
    }
    let position = |n: usize| u32::try_from(n).expect("a configuration has less than 2^32 entries");
    let start = position(entries.len());
    entries.append(&mut list);
    Span { start, end: position(entries.len()) }
}

// === impl Lists ===

impl<'c> Lists<'c> {
    /// Keeps a check; with none, the anchor decides.
    pub(super) fn keep(&mut self, check: Option<Check>) -> u32 {
        let Some(check) = check else { return UNCONDITIONAL };
        self.checks.push(check);
        u32::try_from(self.checks.len()).expect("a configuration has less than 2^32 checks")
    }

    pub(super) fn under(&mut self, keys: &[Key<'c>], entry: Entry) {
        for key in keys {
            self.keyed.entry(key.clone()).or_default().push(entry);
        }
    }

    pub(super) fn always(&mut self, entry: Entry) {
        self.always.push(entry);
    }
}

// === impl Keys ===

impl Keys {
    fn insert(&mut self, value: Box<str>, list: Span) {
        if value.is_empty() {
            self.empty = list;
        } else {
            self.lists.insert(value, list);
        }
    }

    #[inline]
    fn list(&self, value: &str) -> Span {
        if value.is_empty() {
            return self.empty;
        }
        self.lists.get(value).copied().unwrap_or_default()
    }
}

impl Default for Keys {
    fn default() -> Self {
        Keys { first: NONE, empty: Span::default(), lists: FxHashMap::default() }
    }
}

// === impl Search ===

impl Search<'_, '_> {
    fn by_identity(&mut self) {
        let user = self.request.user;
        self.look(Attribute::User, user);
        if let Some((namespace, _)) =
            user.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split_once(':'))
        {
            self.look(Attribute::ServiceAccount, namespace);
        }
        for group in self.request.groups.iter() {
            self.look(Attribute::Group, group);
        }
    }

    fn by_target(&mut self) {
        let Request { name, namespace, path, resource, subresource, api_group, .. } = *self.request;
        self.look(Attribute::Name, name);
        self.look(Attribute::Namespace, namespace);
        self.look(Attribute::Path, path);
        if self.betters(&self.index.by[slot(Attribute::PathPrefix)]) {
            for (slash, _) in path.match_indices('/').take(self.index.depth) {
                self.look(Attribute::PathPrefix, &path[..=slash]);
            }
        }
        if self.betters(&self.index.by[slot(Attribute::Resource)]) {
            self.look(Attribute::Resource, up_to('/', resource));
        }
        self.look(Attribute::Subresource, subresource);
        self.look(Attribute::ApiGroup, api_group);
        self.look(Attribute::Method, self.request.method);
        self.look(Attribute::Verb, self.request.verb);
    }

    fn by_header(&mut self) {
        if self.index.by_header.is_empty() {
            return;
        }
        for (name, value) in self.request.headers {
            if let Some(keys) = self.index.by_header.get(*name) {
                self.look_in(keys, value);
            }
        }
    }

    #[inline]
    fn look(&mut self, attribute: Attribute<'_>, value: &str) {
        self.look_in(&self.index.by[slot(attribute)], value);
    }

    #[inline]
    fn look_in(&mut self, keys: &Keys, value: &str) {
        if self.betters(keys) {
            self.scan(keys.list(value));
        }
    }

    /// Whether an earlier match could be among these.
    #[inline]
    fn betters(&self, keys: &Keys) -> bool {
        keys.first < self.best
    }

    fn scan(&mut self, span: Span) {
        for entry in &self.index.entries[span.start as usize..span.end as usize] {
            if entry.schema >= self.best {
                return;
            }
            if entry.check == UNCONDITIONAL
                || self.index.checks[entry.check as usize - 1].holds(self.request)
            {
                self.best = entry.schema;
                return;
            }
        }
    }
}
