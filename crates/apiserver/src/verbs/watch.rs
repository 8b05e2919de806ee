//! `watch`: a stream of changes.
//!
//! A watcher is a cursor into the history, not a queue: a thousand of them cost a thousand numbers.
//! Each is woken by its resource's notifier, takes the changes after its cursor and sends their
//! bytes, which were encoded once, when the object was written. A watcher that falls a thousand
//! changes or 8 MB behind is ended; the client relists or resumes from its last version. Nothing is
//! encoded before the client has room for it, and then at most one chunk.

pub(crate) mod encoded;
mod frames;
mod initial;
mod lines;
mod start;

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use evenkeel_store::{Event, Revision, Selector};
use futures_util::stream;
use prometheus_client::metrics::counter::Counter;
use tokio::time::{Instant, sleep_until};

use crate::{
    answer::Answer,
    api::{Api, Call},
    fairness::SeatGuard,
    kinds::KindRef,
    metrics::Raised,
    negotiate::Media,
    registry::hooks_of,
    request::info,
    status::{Failure, Result},
    verbs::watch::{
        frames::Frames,
        initial::Initial,
        lines::Lines,
        start::{Start, watch_options},
    },
    watchers::{Scope, Watcher},
};

/// Beyond these, a watcher that had caught up is ended.
pub(crate) const MOST_BEHIND: usize = 1000;
pub(crate) const MOST_BYTES_BEHIND: usize = 8 << 20;

/// Maximum number of changes in one chunk, and approximate number of bytes.
const PIECE: usize = 256;
const PIECE_BYTES: usize = 32 << 10;

/// Interval of bookmarks for a quiet watcher that requested them. Same as Kubernetes.
const BOOKMARKS: Duration = Duration::from_secs(60);

/// How long before its end a watch gets its last bookmark. Same as Kubernetes.
const BEFORE_END: Duration = Duration::from_secs(2);

/// Maximum duration of a watch, whatever its client requests: clocks are bounded.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// One open watch.
struct Watch {
    api: Arc<Api>,
    kind: KindRef,
    selector: Selector,
    frames: Frames,
    /// Encoded, and not yet sent.
    lines: Lines,
    /// The initial objects not yet sent.
    initial: Option<Initial>,
    cursor: Revision,
    /// It has reached the present once: from then on it must keep up.
    caught_up: bool,
    ends: Instant,
    /// When the next bookmark is due; `None`: not requested.
    bookmark: Option<Instant>,
    registered: Watcher,
    sent: Counter,
    /// Until the initial objects are sent.
    seat: Option<SeatGuard>,
    _running: Raised,
    over: bool,
}

pub(crate) async fn watch(api: &Arc<Api>, call: &Call<'_>) -> Result<Answer> {
    let kind = call.kind();
    let content_type = match call.view.format.media {
        Media::Json => "application/json",
        Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Media::Yaml => return Err(Failure::cannot_encode("application/json")),
    };
    let options = watch_options(call.query)?;
    let selector = call.selector()?;
    let timeout = call.query.number("timeoutSeconds")?.filter(|seconds| *seconds != 0);
    let timeout = match timeout {
        Some(seconds) => Duration::from_secs(u64::try_from(seconds).unwrap_or(0)).min(LONGEST),
        None => Duration::from_secs(1800 + crate::random::below(1800)),
    };
    let frames = Frames::new(kind.clone(), call.view, api.encoded.clone());
    if let Some(revision) = options.reach
        && let Err(failure) = api.storage.reach(revision).await
    {
        return Ok(Answer::new(200, content_type, frames.failed(&failure)));
    }
    let (initial, cursor) = match options.start {
        Start::Present => {
            let view = api.storage.view(kind.id());
            let initial = Initial::new(&view, kind, &selector, options.ends_with_bookmark);
            let revision = initial.revision;
            (Some(initial), revision)
        }
        Start::After(revision) => (None, revision),
        Start::Now => (None, api.storage.state().revision()),
    };
    let now = Instant::now();
    // Until the initial objects are sent a watcher can't be behind.
    let behind_from = if initial.is_some() { Revision::MAX } else { cursor };
    let scope = Scope { resource: kind.id(), namespace: call.namespace(), name: name(call) };
    let registered = api.watchers.register(scope, behind_from, call.kill.clone());
    // With nothing to send the work ends here; otherwise a client that does not read holds the seat
    // for a limited time.
    let seat = initial.is_some().then(|| call.seat.take()).flatten();
    if let Some(seat) = &seat {
        seat.respond();
    }
    let watch = Watch {
        api: api.clone(),
        kind: kind.clone(),
        selector,
        frames,
        lines: Lines::default(),
        initial,
        cursor,
        caught_up: false,
        ends: now + timeout,
        bookmark: options.bookmarks.then(|| next_bookmark(now, now + timeout)).flatten(),
        registered,
        sent: api.metrics.watch_events(kind.resource()),
        seat,
        _running: api.meters.of_resource(call.resource).long_running("WATCH"),
        over: false,
    };
    let pieces = stream::unfold(watch, |mut watch| async move {
        let piece = watch.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(piece), watch))
    });
    let mut answer = Answer::new(200, content_type, Body::from_stream(pieces));
    answer.long_running = true;
    Ok(answer)
}

/// When the definition of a custom resource has changed or is gone: clients watch again.
async fn replaced(kind: &KindRef) {
    match &kind.custom {
        Some(custom) => custom.replaced.cancelled().await,
        None => std::future::pending().await,
    }
}

fn is_replaced(kind: &KindRef) -> bool {
    kind.custom.as_ref().is_some_and(|custom| custom.replaced.is_cancelled())
}

/// The name of the only object that is watched, if it is one; otherwise empty.
fn name<'c>(call: &'c Call<'_>) -> &'c str {
    match call.resource.name.as_str() {
        "" => info::named(call.query),
        name => name,
    }
}

/// Periodically, and finally shortly before the end, so that a client that reconnects misses
/// little.
fn next_bookmark(now: Instant, ends: Instant) -> Option<Instant> {
    let last = ends.checked_sub(BEFORE_END)?;
    let next = last.min(now + BOOKMARKS);
    (next > now).then_some(next)
}

enum Taken {
    Nothing,
    Events(Vec<Event>),
    TooOld,
    TooSlow,
}

impl Watch {
    /// The next chunk; `None`: the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.lines.next() {
                return Some(piece);
            }
            if self.over || self.api.stop.is_cancelled() {
                return None;
            }
            match self.initial.take() {
                Some(initial) => self.begin(initial),
                None => self.follow().await,
            }
        }
    }

    /// Writes a chunk of the initial objects.
    fn begin(&mut self, mut initial: Initial) {
        let (lines, frames, storage) = (&mut self.lines, &self.frames, &self.api.storage);
        match initial.write(lines, frames, &self.selector, || storage.view(frames.kind().id())) {
            Ok(true) => self.initial = Some(initial),
            Ok(false) => {
                self.registered.at(self.cursor);
                self.seat = None;
            }
            Err(_) => {
                self.over = true;
                self.seat = None;
                self.frames.too_old(&mut self.lines);
            }
        }
    }

    /// Writes changes or a bookmark, or waits for one.
    async fn follow(&mut self) {
        let api = self.api.clone();
        let changed = api.storage.notify_of(self.kind.id()).notified();
        tokio::pin!(changed);
        // From here on no notification is missed.
        changed.as_mut().enable();
        match self.take() {
            Taken::Events(events) => return self.write(&events),
            Taken::TooOld => {
                self.over = true;
                return self.frames.too_old(&mut self.lines);
            }
            Taken::TooSlow => return self.over = true,
            // The cursor is at the present: a bookmark tells its revision.
            Taken::Nothing if self.is_bookmark_due() => {
                return self.frames.bookmark(&mut self.lines, self.cursor, false);
            }
            // The last changes are sent before the end.
            Taken::Nothing if is_replaced(&self.kind) => return self.over = true,
            Taken::Nothing => {}
        }
        let due = self.bookmark.map_or(self.ends, |due| due.min(self.ends));
        tokio::select! {
            () = changed => {}
            () = sleep_until(due) => self.over = due >= self.ends,
            () = replaced(&self.kind) => {}
            () = api.stop.cancelled() => {}
        }
    }

    fn is_bookmark_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.bookmark.is_some_and(|due| due <= now);
        if is_due {
            self.bookmark = next_bookmark(now, self.ends);
        }
        is_due
    }

    /// The changes after the cursor, which is advanced.
    fn take(&mut self) -> Taken {
        let state = self.api.storage.state();
        let now = state.revision();
        let oldest = state.history().oldest().max(hooks_of(&self.kind).shown_since(&self.api));
        if !self.caught_up && self.cursor < oldest {
            return Taken::TooOld;
        }
        let Ok(events) = state.history().following(self.kind.id(), self.cursor) else {
            return Taken::TooSlow;
        };
        if self.caught_up && events.len() > MOST_BEHIND {
            return Taken::TooSlow;
        }
        let mut bytes = 0;
        let mut taken = Vec::new();
        for event in events {
            let is_full = taken.len() == PIECE || bytes >= PIECE_BYTES;
            if is_full && !self.caught_up {
                break;
            }
            if !is_full {
                taken.push(event.clone());
            }
            bytes += event.object.as_ref().or(event.before.as_ref()).map_or(0, |o| o.encoded.len());
            if self.caught_up && bytes > MOST_BYTES_BEHIND {
                return Taken::TooSlow;
            }
        }
        drop(state);
        match taken.last() {
            Some(last) => self.cursor = self.cursor.max(last.revision),
            None => {
                self.caught_up = true;
                // A future version stays until it is reached.
                self.cursor = self.cursor.max(now);
            }
        }
        self.registered.at(self.cursor);
        if taken.is_empty() { Taken::Nothing } else { Taken::Events(taken) }
    }

    fn write(&mut self, events: &[Event]) {
        for event in events {
            if let Some(seen) = evenkeel_store::seen(event, &self.selector) {
                self.frames.event(&mut self.lines, seen, event.revision);
                self.sent.inc();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bookmarks_come_every_minute_and_two_seconds_before_the_end() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        for (now, ends, next) in [
            (0, 600, Some(60)),
            (60, 600, Some(120)),
            (0, 30, Some(28)),
            (590, 600, Some(598)),
            (598, 600, None),
            (0, 2, None),
            (0, 1, None),
        ] {
            assert_eq!(next_bookmark(after(now), after(ends)), next.map(after), "{now} {ends}");
        }
    }
}
