//! The start of a watch: what is there, as `ADDED`, made as the client reads.
//!
//! It holds a revision, a key and a page of objects, not the collection: a client that does not read
//! costs little. The next page is what the collection had at that revision; once the history no
//! longer knows, the client has been too slow, and starts anew.

use std::{sync::Arc, vec};

use evenkeel_store::{self as store, Compacted, Object, Revision, Selector, State};

use crate::{
    kinds::Kind,
    verbs::watch::{PIECE_BYTES, frames::Frames, lines::Lines},
};

/// Objects of one page, and the bytes of them that may be held. At least one is.
const PAGE: usize = 512;
const PAGE_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Initial {
    pub(super) revision: Revision,
    page: vec::IntoIter<Arc<Object>>,
    /// Where the next page begins; `None`: this is the last.
    after: Option<Box<str>>,
    /// Say so at the end.
    bookmark: bool,
}

impl Initial {
    pub(super) fn new(state: &State, kind: &Kind, selector: &Selector, bookmark: bool) -> Initial {
        let revision = state.revision();
        let nothing = Initial { revision, page: Vec::new().into_iter(), after: None, bookmark };
        // The present is always there.
        let page = page(state, kind, selector, None, None);
        page.map_or(nothing, |(page, after)| Initial { revision, page, after, bookmark })
    }

    /// Writes the next piece. `false`: that was the last.
    pub(super) fn write<S: std::ops::Deref<Target = State>>(
        &mut self,
        lines: &mut Lines,
        frames: &Frames,
        selector: &Selector,
        state: impl Fn() -> S,
    ) -> Result<bool, Compacted> {
        while lines.len() < PIECE_BYTES {
            if let Some(object) = self.page.next() {
                frames.added(lines, &object);
                continue;
            }
            let Some(after) = self.after.take() else {
                if self.bookmark {
                    frames.bookmark(lines, self.revision, true);
                }
                return Ok(false);
            };
            let (kind, at) = (frames.kind(), Some(self.revision));
            (self.page, self.after) = page(&state(), kind, selector, at, Some(&after))?;
        }
        Ok(true)
    }
}

type Page = (vec::IntoIter<Arc<Object>>, Option<Box<str>>);

fn page(
    state: &State,
    kind: &Kind,
    selector: &Selector,
    at: Option<Revision>,
    after: Option<&str>,
) -> Result<Page, Compacted> {
    let query = store::Query { resource: kind.id(), selector, at, after, limit: PAGE };
    let store::Page { mut items, mut next, .. } = store::list(state, &query)?;
    let kept = held(items.iter().map(|object| object.tail.len()));
    if kept < items.len() {
        items.truncate(kept);
        next = items.last().map(|last| last.key.clone());
    }
    Ok((items.into_iter(), next))
}

/// How many of these may be held.
fn held(sizes: impl Iterator<Item = usize>) -> usize {
    let mut sum = 0;
    let is_within = |size: &usize| {
        let is_within = sum < PAGE_BYTES;
        sum += size;
        is_within
    };
    sizes.take_while(is_within).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_holds_few_bytes_and_at_least_one_object() {
        assert_eq!(held([].into_iter()), 0);
        assert_eq!(held([5 << 20, 1].into_iter()), 1);
        assert_eq!(held([1, 5 << 20, 1].into_iter()), 2);
        assert_eq!(held(std::iter::repeat_n(1 << 10, 1000)), 256);
    }
}
