//! Handles one request: counts it, logs it, catches panics, and attaches the peer.

use std::{
    convert::Infallible,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use axum::body::Body;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use hyper::body::Incoming;
use serde_json::json;

use super::{
    Answers, ConnectionMetrics, Peer,
    body::Sending,
    connections::Connection,
    detach::{DetachFlag, DetachOnDrop},
    stall::Progress,
};
use crate::{identity::Certificate, logs::Trace, shutdown::Stop};

/// An extension of a response that has no end of its own, such as a watch. Shutdown does not wait
/// for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRunning;

/// Handles the requests of one connection.
#[derive(Debug)]
pub(super) struct Answering<S> {
    pub(super) service: S,
    pub(super) certificate: Certificate,
    pub(super) connection: Arc<Connection>,
    pub(super) stop: Stop,
    pub(super) metrics: ConnectionMetrics,
}

impl<S: Answers> hyper::service::Service<Request<Incoming>> for Answering<S> {
    type Response = Response<Sending>;
    type Error = Infallible;
    type Future = DetachOnDrop<Result<Response<Sending>, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let (in_flight, open) = (self.stop.in_flight().enter(), self.connection.open());
        let mut request = request.map(Body::new);
        let (service, metrics) = (self.service.clone(), self.metrics.clone());
        let (certificate, connection) = (self.certificate.clone(), Arc::clone(&self.connection));
        let detach = DetachFlag::default();
        request.extensions_mut().insert(detach.clone());
        let answered = async move {
            // In the task that writes the response.
            let progress = Progress::current();
            let kill = progress.kill();
            let peer = Peer { certificate, kill, connection: Some(connection) };
            request.extensions_mut().insert(peer);
            let trace = Trace::begin(&mut request);
            let answer = trace.within(guarded(service, request)).await;
            let mut response = answer.unwrap_or_else(|Panicked| {
                metrics.panics.inc();
                after_panic(&trace)
            });
            trace.end(&mut response);
            let is_long = response.extensions_mut().remove::<LongRunning>().is_some();
            let in_flight = if is_long { None } else { Some(in_flight) };
            let sending = |body| Sending::new(body, trace, progress, metrics, in_flight, open);
            Ok(response.map(sending))
        };
        DetachOnDrop::new(answered, detach)
    }
}

struct Panicked;

/// The panic hook has logged the panic; this keeps it from closing the connection.
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
