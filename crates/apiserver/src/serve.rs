//! Connections: from a bound listener over TLS to the service that answers requests.
//!
//! Nothing that a peer does or leaves undone holds the server: handshakes, headers, the first
//! request, connections and header sizes are bounded; what panics in a handler is a 500 to its
//! client alone.

mod accept;
mod answer;
mod connection;
mod shield;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Body;
use http::{Request, Response};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

pub(crate) use self::{answer::LongRunning, shield::Shield};
use crate::{
    certificates::Serving,
    identity::{Certificate, Judge},
    shutdown::Stop,
};

/// TLS, and who decides about client certificates.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) judge: Judge,
    /// What the configuration shows, to be replaced when it is renewed.
    pub(crate) serving: Arc<Serving>,
}

/// The other end of a connection; an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) certificate: Certificate,
    pub(crate) kill: ConnectionKill,
}

/// Cuts a connection whose client does not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionKill(CancellationToken);

/// The bounds on what peers may do.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    pub(crate) handshake: Duration,
    /// For the headers of a request, and for the time between two on one HTTP/1 connection.
    pub(crate) headers: Duration,
    pub(crate) header_bytes: usize,
    /// How long readiness fails before connections are refused.
    pub(crate) unready: Duration,
    /// How long requests may take to finish after that.
    pub(crate) drain: Duration,
    /// How long connections may then take to close.
    pub(crate) close: Duration,
}

/// What a service must be to answer here; axum's `Router` is.
pub(crate) trait Answers:
    Service<
        Request<Body>,
        Response = Response<Body>,
        Error = Infallible,
        Future: Future<Output = Result<Response<Body>, Infallible>> + Send,
    > + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Answers for S where
    S: Service<
            Request<Body>,
            Response = Response<Body>,
            Error = Infallible,
            Future: Future<Output = Result<Response<Body>, Infallible>> + Send,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// Serves until `stop` has begun and all is done, in the order that `shutdown` tells. Returns how
/// many connections had to be cut.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Tls,
    service: impl Answers,
    stop: Stop,
    limits: Limits,
) -> usize {
    let server = connection::Server::new(tls, service, stop, limits);
    accept::run(listener, server).await
}

// === impl ConnectionKill ===

impl ConnectionKill {
    pub(crate) fn cut(&self) {
        self.0.cancel();
    }

    async fn is_cut(&self) {
        self.0.cancelled().await;
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(32),
            header_bytes: 64 * 1024,
            unready: Duration::ZERO,
            drain: Duration::from_secs(10),
            close: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests;
