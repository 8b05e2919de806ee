//! The start of a watch: the existing objects as `ADDED`, encoded as the client reads.
//!
//! It holds a revision, a key and a page of objects, not the collection: a client that does not
//! read costs little. The next page is read from the collection at that revision; once that is no
//! longer in the history, the client was too slow, and must start again.

use std::{sync::Arc, vec};

use evenkeel_store::{self as store, Compacted, Listing, Object, Revision, Selector, View};

use crate::{
    kinds::Kind,
    verbs::watch::{PIECE_BYTES, frames::Frames, lines::Lines},
};

/// Objects per page, and the bytes of them that may be held. At least one is.
const PAGE: usize = 512;
const PAGE_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Initial {
    pub(super) revision: Revision,
    page: vec::IntoIter<Arc<Object>>,
    /// Where the next page begins; `None`: this is the last.
    after: Option<Box<str>>,
    /// Send a bookmark at the end.
    bookmark: bool,
}

impl Initial {
    pub(super) fn new(view: &View, kind: &Kind, selector: &Selector, bookmark: bool) -> Initial {
        let revision = view.revision();
        let nothing = Initial { revision, page: Vec::new().into_iter(), after: None, bookmark };
        // The present is always available.
        let page = page(view, kind, selector, None, None);
        page.map_or(nothing, |(page, after)| Initial { revision, page, after, bookmark })
    }

    /// Writes the next chunk. `false`: it was the last.
    pub(super) fn write(
        &mut self,
        lines: &mut Lines,
        frames: &Frames,
        selector: &Selector,
        view: impl Fn() -> View,
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
            (self.page, self.after) = page(&view(), kind, selector, at, Some(&after))?;
        }
        Ok(true)
    }
}

type Page = (vec::IntoIter<Arc<Object>>, Option<Box<str>>);

fn page(
    view: &View,
    kind: &Kind,
    selector: &Selector,
    at: Option<Revision>,
    after: Option<&str>,
) -> Result<Page, Compacted> {
    let query = store::Query { resource: kind.id(), selector, at, after, limit: PAGE };
    let mut listing = Listing::new(view, &query)?.uncounted();
    listing.advance(usize::MAX);
    let store::Page { mut items, mut next, .. } = listing.page();
    let kept = held(items.iter().map(|object| object.encoded.len()));
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
