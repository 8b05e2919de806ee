//! The cost of a page is the keys it visits, not the size of the collection.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use evenkeel_store::{
    Batch, Expect, Limits, Listing, NewObject, Page, Query, ResourceId, Revision, Selector, State,
    Write,
};

const RESOURCE: ResourceId = ResourceId(0);

fn key(n: usize) -> String {
    format!("default/object-{n:06}")
}

fn put(state: &mut State, keys: impl Iterator<Item = String>, text: &str) {
    let mut batch = Batch::new();
    for key in keys {
        let present = state.object(RESOURCE, &key).map(|object| object.revision);
        let expect = present.map_or(Expect::Absent, Expect::Revision);
        let encoded = format!("\"name\":\"{text}\"}}}}").into();
        let object = Some(NewObject { labels: [].into(), fields: [].into(), encoded });
        let write = Write { resource: RESOURCE, key: key.into(), expect, object };
        batch.stage(state, write).unwrap();
    }
    state.publish(batch.changes());
}

fn delete(state: &mut State, keys: impl Iterator<Item = String>) {
    let mut batch = Batch::new();
    for key in keys {
        let expect = Expect::Revision(state.object(RESOURCE, &key).unwrap().revision);
        let write = Write { resource: RESOURCE, key: key.into(), expect, object: None };
        batch.stage(state, write).unwrap();
    }
    state.publish(batch.changes());
}

/// A page, and the number of keys visited for it.
fn page(
    state: &State,
    selector: &Selector,
    at: Revision,
    after: Option<&str>,
    limit: usize,
) -> (Page, usize) {
    let view = state.view(RESOURCE);
    let query = Query { resource: RESOURCE, selector, at: Some(at), after, limit };
    let mut listing = Listing::new(&view, &query).unwrap().uncounted();
    assert!(listing.advance(usize::MAX));
    let visited = listing.visited();
    (listing.page(), visited)
}

#[test]
fn a_page_of_the_past_looks_at_no_more_keys_in_a_larger_collection() {
    for n in [2_000, 20_000] {
        let mut state = State::new(["pods"], Limits::default());
        put(&mut state, (0..n).map(key), "old");
        let at = state.revision();
        put(&mut state, (0..n).step_by(2).map(key), "new");
        delete(&mut state, (0..n).step_by(5).map(key));
        for (from, limit) in [(0, 1), (n / 2, 1), (n - 20, 1), (n / 2, 10)] {
            let (page, visited) = page(&state, &Selector::all(), at, Some(&key(from)), limit);
            let keys: Vec<_> = page.items.iter().map(|object| object.key.to_string()).collect();
            assert_eq!(keys, (from + 1..=from + limit).map(key).collect::<Vec<_>>());
            // Each key may be visited in the present and in the past.
            assert!(visited <= 2 * (limit + 2), "{visited} keys for {limit} of {n}");
        }
    }
}

#[test]
fn a_key_that_changed_often_is_examined_once() {
    let mut state = State::new(["pods"], Limits::default());
    put(&mut state, (0..3).map(key), "0");
    let mut revisions = Vec::new();
    for n in 1..5_000 {
        put(&mut state, [key(1)].into_iter(), &n.to_string());
        revisions.push(state.revision());
    }
    for at in [revisions[0], revisions[2_500], revisions[4_998]] {
        let (page, visited) = page(&state, &Selector::all(), at, None, 0);
        let shown: Vec<Revision> = page.items.iter().map(|object| object.revision).collect();
        assert_eq!(shown, [1, at, 3]);
        assert!(visited <= 6, "{visited} keys");
    }
}

#[test]
fn a_list_ends_with_its_namespace_despite_later_writes_behind_it() {
    let mut state = State::new(["pods"], Limits::default());
    put(&mut state, ["a/x".to_owned()].into_iter(), "old");
    let at = state.revision();
    put(&mut state, (0..5_000).map(key), "new");
    let selector = Selector::new(true, Some("a"), Default::default(), Default::default());
    let (page, visited) = page(&state, &selector, at, None, 10);
    assert_eq!((page.items.len(), page.next), (1, None));
    assert!(visited <= 3, "{visited} keys");
}

#[test]
fn a_view_is_not_affected_by_later_writes() {
    let mut state = State::new(["pods"], Limits { changes: 10, bytes: usize::MAX });
    put(&mut state, (0..3_000).map(key), "old");
    let view = state.view(RESOURCE);
    put(&mut state, (0..4_000).map(key), "new");
    delete(&mut state, (0..4_000).step_by(2).map(key));
    let selector = Selector::all();
    let query = Query { resource: RESOURCE, selector: &selector, at: None, after: None, limit: 0 };
    let mut listing = Listing::new(&view, &query).unwrap();
    // In steps, as a server that must yield reads it.
    while !listing.advance(100) {}
    let page = listing.page();
    assert_eq!((page.items.len(), page.revision), (3_000, 3_000));
    assert!(page.items.iter().all(|object| object.revision <= 3_000));
}

#[test]
fn a_past_page_counts_the_remaining_items_if_they_are_few() {
    let mut state = State::new(["pods"], Limits::default());
    put(&mut state, (0..3_000).map(key), "old");
    let at = state.revision();
    put(&mut state, (0..3_000).map(key), "new");
    let selector = Selector::all();
    for (from, remaining) in [(0, None), (1_990, None), (2_100, Some(898)), (2_997, Some(1))] {
        let after = key(from);
        let after = Some(&*after);
        let query =
            Query { resource: RESOURCE, selector: &selector, at: Some(at), after, limit: 1 };
        let page = evenkeel_store::list(&state, &query).unwrap();
        assert_eq!(page.remaining, remaining, "after {from}");
        // The present is always counted.
        let query = Query { at: None, ..query };
        let page = evenkeel_store::list(&state, &query).unwrap();
        assert_eq!(page.remaining, Some(2_998 - from), "after {from}");
    }
}

#[test]
fn no_list_is_of_the_future() {
    let mut state = State::new(["pods"], Limits::default());
    put(&mut state, (0..3).map(key), "old");
    let (page, _) = page(&state, &Selector::all(), 999, None, 0);
    assert_eq!((page.items.len(), page.revision), (3, 3));
}
