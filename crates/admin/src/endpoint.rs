//! Health and metrics over plain HTTP/1.1.
//!
//! A connection carries one request and has one deadline, so that nothing a client does or leaves
//! undone holds its place for longer. Who finds all places taken waits in the listener's queue.

use std::{convert::Infallible, fmt, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::{
    accept::{self, Places},
    health::Health,
};

/// What `/metrics` says it is.
pub const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The bounds on what clients may do.
#[derive(Clone, Copy, Debug)]
struct Limits {
    connections: usize,
    headers: Duration,
    header_bytes: usize,
    /// From the first byte to the last, both ways.
    connection: Duration,
    /// How long answers that have begun may take once the process stops.
    drain: Duration,
}

#[derive(Clone)]
struct Answers {
    health: Arc<Health>,
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

pub type Reply = Response<Full<Bytes>>;

/// What is answered to a request, whatever its method.
pub type Answer = Arc<dyn Fn(&Method, &http::Uri) -> Reply + Send + Sync>;

/// Answers GET and HEAD of `/healthz`, `/livez`, `/readyz` and `/metrics` until `stop`.
pub async fn serve(
    listener: TcpListener,
    health: Arc<Health>,
    metrics: Arc<dyn Fn() -> String + Send + Sync>,
    stop: CancellationToken,
) {
    serve_answers(listener, Answers { health, metrics }.into_answer(), stop).await;
}

/// Answers every request with `answer` until `stop`.
pub async fn serve_answers(listener: TcpListener, answer: Answer, stop: CancellationToken) {
    serve_within(Limits::default(), listener, answer, stop).await;
}

/// A response with this body.
pub fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    answer: Answer,
    stop: CancellationToken,
) {
    let places = Places { connections: limits.connections, drain: limits.drain };
    let handle = |stream| connection(limits, stream, Arc::clone(&answer), stop.clone());
    accept::each(listener, places, stop.clone(), handle).await;
}

async fn connection(limits: Limits, stream: TcpStream, answer: Answer, stop: CancellationToken) {
    let peer = stream.peer_addr().ok();
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri());
        async move { Ok::<_, Infallible>(answer) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(limits.headers)
        .max_buf_size(limits.header_bytes);
    let mut serving = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let until_done = async {
        tokio::select! {
            done = serving.as_mut() => return done,
            () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
        }
        serving.await
    };
    log_end(peer, timeout(limits.connection, until_done).await);
}

/// Faults of clients are logged for debugging only.
fn log_end(peer: Option<SocketAddr>, ended: Result<hyper::Result<()>, impl fmt::Display>) {
    let peer = peer.map(tracing::field::display);
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(peer, %error, "connection failed"),
        Err(error) => tracing::debug!(peer, %error, "connection timed out"),
    }
}

// === impl Answers ===

impl Answers {
    fn into_answer(self) -> Answer {
        Arc::new(move |method, uri| self.answer(method, uri))
    }

    fn answer(&self, method: &Method, uri: &http::Uri) -> Response<Full<Bytes>> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refusal = text(StatusCode::METHOD_NOT_ALLOWED, "405 method not allowed\n");
            refusal.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refusal;
        }
        if uri.path() == "/metrics" {
            return typed(METRICS_TYPE, (self.metrics)());
        }
        match self.health.answer(uri.path(), uri.query()) {
            Some(answer) => answer.map(Full::from),
            None => text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("health", &self.health).finish_non_exhaustive()
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = typed("text/plain; charset=utf-8", text);
    *response.status_mut() = status;
    response
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 64,
            headers: Duration::from_secs(5),
            header_bytes: 16 * 1024,
            connection: Duration::from_secs(30),
            drain: Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests;
