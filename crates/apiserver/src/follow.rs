//! Follows the history of some resources like a watcher, and relists them at first or after falling
//! behind. Reads in chunks: only a bounded number of pointers is copied while the state is locked.

use std::{ops::Bound, sync::Arc};

use evenkeel_store::{Object, ResourceId, Revision, State};

/// Maximum number of changes in a chunk.
pub(crate) const PIECE: usize = 1_000;

#[derive(Debug)]
pub(crate) struct Follower {
    resources: Vec<(ResourceId, Position)>,
    /// All changes up to here are seen, of all resources.
    caught_up: Option<Revision>,
}

#[derive(Clone, Debug)]
enum Position {
    /// Objects up to this key are listed; changes after the revision follow.
    Listing(Box<str>, Revision),
    Following(Revision),
}

/// The next changes. A change during a list may be reported twice, in order.
#[derive(Debug, Default)]
pub(crate) struct ChangeChunk {
    /// Discard all earlier knowledge: a list begins.
    pub(crate) restarted: bool,
    pub(crate) news: Vec<News>,
    pub(crate) more: bool,
}

#[derive(Debug)]
pub(crate) struct News {
    pub(crate) resource: ResourceId,
    pub(crate) before: Option<Arc<Object>>,
    pub(crate) after: Option<Arc<Object>>,
    /// It existed already; its creation time is unknown.
    pub(crate) listed: bool,
}

impl Follower {
    pub(crate) fn new(resources: impl IntoIterator<Item = ResourceId>) -> Follower {
        // No change precedes the first revision, so the first chunk begins with a list.
        let begin = |resource| (resource, Position::Listing("".into(), 0));
        Follower { resources: resources.into_iter().map(begin).collect(), caught_up: None }
    }

    /// The next changes of all resources, also of those registered later.
    pub(crate) fn next_of_all(&mut self, state: &State) -> ChangeChunk {
        let new = (self.resources.len()..state.n_resources()).map(ResourceId::from_index);
        let n_known = self.resources.len();
        self.resources.extend(new.map(|id| (id, Position::Listing("".into(), 0))));
        let caught_up = self.caught_up.filter(|_| self.resources.len() == n_known);
        // There may be many resources, and most of them are quiet.
        let n_unseen = caught_up.and_then(|at| usize::try_from(state.revision() - at).ok());
        let changed = n_unseen.and_then(|n| state.history().last_changed(n));
        let piece = match changed {
            Some(changed) => {
                let changed: Vec<usize> = changed.iter().map(|id| id.index()).collect();
                self.visit(state, &changed)
            }
            None => self.next(state),
        };
        self.caught_up = (!piece.more).then(|| state.revision());
        piece
    }

    pub(crate) fn next(&mut self, state: &State) -> ChangeChunk {
        let all: Vec<usize> = (0..self.resources.len()).collect();
        self.visit(state, &all)
    }

    /// Reads on in these resources, by their index.
    fn visit(&mut self, state: &State, which: &[usize]) -> ChangeChunk {
        let mut piece = ChangeChunk::default();
        let is_behind = |index: &usize| {
            let (resource, at) = &self.resources[*index];
            at.is_behind(state, *resource)
        };
        if which.iter().any(is_behind) {
            piece.restarted = true;
            for (_, position) in &mut self.resources {
                *position = Position::Listing("".into(), 0);
            }
            // The others have to be listed again, too.
            piece.more = which.len() < self.resources.len();
        }
        for index in which {
            let (resource, position) = &mut self.resources[*index];
            match position {
                Position::Listing(after, revision) => {
                    if after.is_empty() {
                        *revision = state.revision();
                    }
                    *position = list(state, *resource, after, *revision, &mut piece.news);
                }
                Position::Following(revision) => {
                    *revision = follow(state, *resource, *revision, &mut piece.news);
                }
            }
            if piece.news.len() >= PIECE {
                piece.more = true;
                return piece;
            }
        }
        piece
    }
}

impl Position {
    fn is_behind(&self, state: &State, resource: ResourceId) -> bool {
        let (Position::Listing(_, revision) | Position::Following(revision)) = self;
        let is_new = matches!(self, Position::Listing(after, _) if after.is_empty());
        !is_new && state.history().following(resource, *revision).is_err()
    }
}

fn list(
    state: &State,
    resource: ResourceId,
    after: &str,
    revision: Revision,
    news: &mut Vec<News>,
) -> Position {
    let objects = state.range(resource, Bound::Excluded(after));
    news.extend(objects.take(PIECE.saturating_sub(news.len())).map(|object| News {
        resource,
        before: None,
        after: Some(object.clone()),
        listed: true,
    }));
    let last = news.last().filter(|_| news.len() >= PIECE);
    match last.filter(|last| last.resource == resource).and_then(|last| last.after.as_ref()) {
        Some(last) => Position::Listing(last.key.clone(), revision),
        None => Position::Following(revision),
    }
}

fn follow(
    state: &State,
    resource: ResourceId,
    revision: Revision,
    news: &mut Vec<News>,
) -> Revision {
    let Ok(events) = state.history().following(resource, revision) else { return revision };
    let mut reached = state.revision();
    let room = PIECE.saturating_sub(news.len());
    if events.len() > room {
        reached = revision;
    }
    for event in events.take(room) {
        reached = reached.max(event.revision);
        let (before, after) = (event.before.clone(), event.object.clone());
        news.push(News { resource, before, after, listed: false });
    }
    reached
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use evenkeel_store::{Change, Limits};

    use super::*;

    const N: usize = 3 * PIECE + 7;

    fn write(state: &mut State, resource: u32, key: &str, is_there: bool) {
        let (resource, revision) = (ResourceId(resource), state.revision() + 1);
        let object = Object {
            key: key.into(),
            revision,
            labels: [].into(),
            fields: [].into(),
            encoded: bytes::Bytes::new(),
        };
        let object = is_there.then(|| Arc::new(object));
        state.publish(&[Change { resource, revision, key: key.into(), object }]);
    }

    type Known = BTreeMap<(ResourceId, Box<str>), Revision>;

    fn take(known: &mut Known, piece: ChangeChunk) -> bool {
        if piece.restarted {
            known.clear();
        }
        assert!(piece.news.len() <= PIECE);
        for News { resource, before, after, .. } in piece.news {
            let key = after.as_ref().or(before.as_ref()).unwrap().key.clone();
            match after {
                Some(after) => drop(known.insert((resource, key), after.revision)),
                None => drop(known.remove(&(resource, key))),
            }
        }
        piece.more
    }

    fn all(state: &State) -> Known {
        let of = |resource| {
            let objects = state.range(resource, Bound::Unbounded);
            objects.map(move |object| ((resource, object.key.clone()), object.revision))
        };
        [0, 1].into_iter().flat_map(|index| of(ResourceId(index))).collect()
    }

    #[test]
    fn it_knows_all_after_its_last_piece_whatever_happens_between_two() {
        let mut state = State::new(["pods", "nodes"], Limits::default());
        for i in 0..N {
            write(&mut state, 0, &format!("n/{i}"), true);
            write(&mut state, 1, &format!("n/{i}"), true);
        }
        let mut follower = Follower::new([ResourceId(0), ResourceId(1)]);
        let mut known = Known::new();
        for round in 0.. {
            let more = take(&mut known, follower.next(&state));
            if !more && known == all(&state) {
                break;
            }
            assert!(round < 100, "it never ends");
            if round < 9 {
                for i in (round..N).step_by(97) {
                    write(&mut state, u32::from(i % 2 == 0), &format!("n/{i}"), i % 3 != 0);
                }
            }
        }
        write(&mut state, 0, "n/new", true);
        let piece = follower.next(&state);
        assert_eq!((piece.restarted, piece.more, piece.news.len()), (false, false, 1));
        assert!(follower.next(&state).news.is_empty());
    }

    #[test]
    fn who_has_fallen_behind_begins_anew() {
        let mut state = State::new(["pods", "nodes"], Limits { changes: 10, bytes: usize::MAX });
        write(&mut state, 1, "n/quiet", true);
        let mut follower = Follower::new([ResourceId(0), ResourceId(1)]);
        let mut known = Known::new();
        while take(&mut known, follower.next(&state)) {}
        for i in 0..50 {
            write(&mut state, 0, &format!("n/{}", i % 5), i % 7 != 0);
        }
        let piece = follower.next(&state);
        assert!(piece.restarted);
        take(&mut known, piece);
        assert_eq!(known, all(&state));
    }
}
