//! The event stream of a tab: it says that there is something new, not what. The page then asks for what
//! it shows, so that a slow tab costs no more than a number.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame};
use serde::Serialize;
use tokio::{
    sync::{OwnedSemaphorePermit, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::feed::{Feed, State};

/// A line that says nothing, to find out that a tab has gone.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The body of the answer. It ends with the process, and is dropped with the connection.
pub(super) struct Events {
    next: Next,
}

type Next = Pin<Box<dyn Future<Output = Option<(Follow, Bytes)>> + Send + Sync>>;

struct Follow {
    states: watch::Receiver<State>,
    /// The first event tells what is.
    greeted: bool,
    stop: CancellationToken,
    _place: OwnedSemaphorePermit,
}

#[derive(Serialize)]
struct Event {
    generation: u64,
    problem: Option<Arc<str>>,
}

async fn next(mut follow: Follow) -> Option<(Follow, Bytes)> {
    let text = if follow.greeted {
        let (stop, states) = (follow.stop.clone(), &mut follow.states);
        match stop.run_until_cancelled(timeout(HEARTBEAT, states.changed())).await? {
            Ok(Ok(())) => event(states),
            Ok(Err(_)) => return None,
            Err(_) => ":\n\n".to_owned(),
        }
    } else {
        follow.greeted = true;
        format!("retry: 1000\n{}", event(&mut follow.states))
    };
    Some((follow, text.into()))
}

fn event(states: &mut watch::Receiver<State>) -> String {
    let state = states.borrow_and_update();
    let event = Event { generation: state.generation, problem: state.problem.clone() };
    // JSON has no line breaks but escaped ones.
    let json = serde_json::to_string(&event).expect("numbers and strings can be written as JSON");
    format!("data: {json}\n\n")
}

// === impl Events ===

impl Events {
    /// `None`: all places are taken.
    pub(super) fn new(feed: &Feed, stop: CancellationToken) -> Option<Events> {
        let place = feed.stream()?;
        feed.touch();
        let follow = Follow { states: feed.follow(), greeted: false, stop, _place: place };
        Some(Events { next: Box::pin(next(follow)) })
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some((follow, bytes)) = ready!(self.next.as_mut().poll(context)) else {
            self.next = Box::pin(std::future::ready(None));
            return Poll::Ready(None);
        };
        self.next = Box::pin(next(follow));
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}
