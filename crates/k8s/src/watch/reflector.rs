//! What one watch asks for next.
//!
//! As client-go's reflector: everything is listed in pages, then watched from the list's version
//! on. A watch that ends is started again from the last version it brought, by an event or a
//! bookmark, and so is one that fails; only when the API server does not know that version
//! everything is listed anew. Each call costs what it is given.

use std::time::Duration;

use evenkeel_model::{Gone, Watched};
use kube::{
    ResourceExt as _,
    core::{ObjectList, WatchEvent},
};

use super::{
    back_off::BackOff,
    failure::{Cause, Failure, Verb},
};

/// How many objects are asked for at once, as Kubernetes' own clients do.
const PAGE: u32 = 500;

/// A watch that ends sooner and brought nothing has failed: it must not be started again at once,
/// and for ever.
const TOO_SHORT: Duration = Duration::from_secs(1);

/// The API server says when it wants to be asked again, but not in how many hours.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Reflector<T> {
    state: State,
    back_off: BackOff,
    gone: fn(&T) -> Gone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    List { limit: Option<u32>, token: Option<String> },
    Watch { version: String },
}

#[derive(Debug)]
enum State {
    /// Nothing counts that was seen before. `whole`: pages were too slow, all comes in one answer.
    Start {
        whole: bool,
    },
    /// Some pages of a list have come.
    Paging {
        token: String,
    },
    Watching {
        version: String,
    },
}

// === impl Reflector ===

impl<T: kube::Resource + Clone> Reflector<T> {
    pub(super) fn new(gone: fn(&T) -> Gone) -> Reflector<T> {
        Reflector { state: State::Start { whole: false }, back_off: BackOff::default(), gone }
    }

    pub(super) fn next(&self) -> Step {
        match &self.state {
            State::Start { whole } => Step::List { limit: (!whole).then_some(PAGE), token: None },
            State::Paging { token } => Step::List { limit: Some(PAGE), token: Some(token.clone()) },
            State::Watching { version } => Step::Watch { version: version.clone() },
        }
    }

    /// A page of a list has come.
    pub(super) fn page(&mut self, page: ObjectList<T>) -> Result<Vec<Watched<T>>, Failure> {
        let version = page.metadata.resource_version.filter(|version| !version.is_empty());
        let token = page.metadata.continue_.filter(|token| !token.is_empty());
        let next = match (token, version) {
            (Some(token), _) => State::Paging { token },
            (None, Some(version)) => State::Watching { version },
            (None, None) => return Err(Failure { verb: Verb::List, cause: Cause::NoVersion }),
        };
        let is_first = !matches!(self.state, State::Paging { .. });
        let is_last = matches!(next, State::Watching { .. });
        self.state = next;
        let listed = page.items.into_iter().map(Watched::Listed);
        let begin = is_first.then_some(Watched::Restarted);
        let end = is_last.then_some(Watched::Complete);
        Ok(begin.into_iter().chain(listed).chain(end).collect())
    }

    /// A watch has brought something; a bookmark is nothing to be told.
    pub(super) fn event(&mut self, event: WatchEvent<T>) -> Result<Option<Watched<T>>, Failure> {
        let failed = |cause| Failure { verb: Verb::Watch, cause };
        let (version, told) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                (object.resource_version(), Some(Watched::Applied(object)))
            }
            WatchEvent::Deleted(object) => {
                (object.resource_version(), Some(Watched::Deleted((self.gone)(&object))))
            }
            WatchEvent::Bookmark(bookmark) => (Some(bookmark.metadata.resource_version), None),
            WatchEvent::Error(status) => return Err(failed(Cause::Status(status))),
        };
        let version = version.filter(|version| !version.is_empty());
        let version = version.ok_or_else(|| failed(Cause::NoVersion))?;
        self.state = State::Watching { version };
        if told.is_some() {
            self.back_off.reset();
        }
        Ok(told)
    }

    /// A watch has ended, as it was asked to or because the connection was closed.
    pub(super) fn ended(&mut self, lasted: Duration, had_events: bool) -> Result<(), Failure> {
        if lasted < TOO_SHORT && !had_events {
            return Err(Failure { verb: Verb::Watch, cause: Cause::TooShort });
        }
        self.back_off.reset();
        Ok(())
    }

    /// Everything was told to be gone, so that there is no going on from any version.
    pub(super) fn start_over(&mut self) {
        self.state = State::Start { whole: false };
    }

    /// How long to wait before the next step. `chance` is random, from 0 to 1.
    pub(super) fn failed(&mut self, failure: &Failure, chance: f64) -> Duration {
        let is_expired = failure.is_expired();
        match &self.state {
            State::Watching { .. } if !is_expired => {}
            State::Paging { .. } => self.state = State::Start { whole: is_expired },
            State::Watching { .. } | State::Start { .. } => {
                self.state = State::Start { whole: false };
            }
        }
        let pause = self.back_off.next(failure.sort(), chance);
        pause.max(failure.retry_after().min(LONGEST_PAUSE))
    }
}

#[cfg(test)]
mod tests;
