//! One request: counted, traced, guarded against panics, and told from which peer it comes.

use std::{
    convert::Infallible,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use serde_json::json;

use super::{
    Answers, Peer,
    shield::{Shield, Shielded},
};
use crate::{
    logs::Trace,
    shutdown::{self, Stop},
};

/// A mark in the extensions of a response that has no end of its own, as that of a watch. A server
/// that stops does not wait for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRunning;

/// Whether a connection has brought a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<AtomicBool>);

/// Answers the requests of one connection.
#[derive(Debug)]
pub(super) struct Answering<S> {
    service: S,
    peer: Peer,
    stop: Stop,
    seen: Seen,
}

impl<S: Answers> Answering<S> {
    pub(super) fn new(service: S, peer: Peer, stop: Stop, seen: Seen) -> Answering<S> {
        Answering { service, peer, stop, seen }
    }
}

impl<S: Answers> hyper::service::Service<Request<Incoming>> for Answering<S> {
    type Response = Response<Counted>;
    type Error = Infallible;
    type Future = Shielded<Result<Response<Counted>, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.seen.0.store(true, Ordering::Relaxed);
        let in_flight = self.stop.in_flight().enter();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.peer.clone());
        let shield = Shield::default();
        request.extensions_mut().insert(shield.clone());
        let service = self.service.clone();
        let answered = async move {
            let trace = Trace::begin(&mut request);
            let answer = trace.within(guarded(service, request)).await;
            let mut response = answer.unwrap_or_else(|Panicked| after_panic(&trace));
            trace.end(&mut response);
            let is_long = response.extensions_mut().remove::<LongRunning>().is_some();
            let in_flight = if is_long { None } else { Some(in_flight) };
            Ok(response.map(|body| Counted { body, _in_flight: in_flight }))
        };
        Shielded::new(answered, shield)
    }
}

impl Seen {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct Panicked;

/// The panic hook has told about the panic itself; this keeps it from ending the connection.
async fn guarded<S: Answers>(
    mut service: S,
    request: Request<Body>,
) -> Result<Response<Body>, Panicked> {
    let ready = poll_fn(|context| service.poll_ready(context)).await;
    let Ok(()) = ready;
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| service.call(request))) else {
        return Err(Panicked);
    };
    let mut answer = pin!(answer);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context))) {
        Ok(poll) => poll.map(|Ok(response)| Ok(response)),
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}

fn after_panic(trace: &Trace) -> Response<Body> {
    trace.error("the request caused a panic");
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "This request caused apiserver to panic. Look in the logs for details.",
        "reason": "InternalError",
        "code": 500,
    });
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// A body whose request counts as in flight until its end.
#[derive(Debug)]
pub(super) struct Counted {
    body: Body,
    _in_flight: Option<shutdown::Request>,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
