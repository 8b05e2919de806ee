//! The event stream of a tab: it says that there is something new, not what. The page then asks for what
//! it shows, so that a slow tab costs no more than a number.

use std::{convert::Infallible, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http_body::Frame;
use http_body_util::StreamBody;
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
pub(super) type Events = StreamBody<Pin<Box<dyn Stream<Item = Piece> + Send + Sync>>>;

type Piece = Result<Frame<Bytes>, Infallible>;

struct Follow<T> {
    states: watch::Receiver<State<T>>,
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

/// `None`: all places are taken.
pub(super) fn follow<T>(feed: &Feed<T>, stop: CancellationToken) -> Option<Events>
where
    T: Clone + Send + Sync + 'static,
{
    let place = feed.stream()?;
    feed.touch();
    let follow = Follow { states: feed.follow(), greeted: false, stop, _place: place };
    let pieces = stream::unfold(follow, next).map(|text| Ok(Frame::data(text)));
    Some(StreamBody::new(Box::pin(pieces)))
}

async fn next<T>(mut follow: Follow<T>) -> Option<(Bytes, Follow<T>)> {
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
    Some((text.into(), follow))
}

fn event<T>(states: &mut watch::Receiver<State<T>>) -> String {
    let state = states.borrow_and_update();
    let event = Event { generation: state.generation, problem: state.problem.clone() };
    // JSON has no line breaks but escaped ones.
    let json = serde_json::to_string(&event).expect("numbers and strings can be written as JSON");
    format!("data: {json}\n\n")
}
