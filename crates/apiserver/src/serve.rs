//! Connections: from a bound listener over TLS to the service that handles requests.
//!
//! No peer can block the server: handshakes, headers, idle and unread connections, their number and
//! header sizes are bounded; a panic in a handler is a 500 to its own client only.

mod accept;
mod answer;
mod body;
mod connection;
mod connections;
mod detach;
mod metrics;
mod read_tracker;
mod registry;
mod stall;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::Body;
use http::{Request, Response};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tower_service::Service;

use self::connections::Connection;
pub(crate) use self::{
    answer::LongRunning, detach::DetachFlag, metrics::ConnectionMetrics, stall::Kill,
};
use crate::{
    certificates::Serving,
    identity::{Certificate, CertificateVerifier},
    shutdown::Stop,
};

/// TLS, and the verifier of client certificates.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) verifier: CertificateVerifier,
    /// The certificate in the configuration, replaced on renewal.
    pub(crate) serving: Arc<Serving>,
}

/// The peer of a connection; an extension of each request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) certificate: Certificate,
    /// Aborts the response to this request.
    pub(crate) kill: Kill,
    /// `None` in tests without sockets.
    connection: Option<Arc<Connection>>,
}

/// The limits for peers.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) connections: usize,
    /// How many of those may be from unauthenticated clients.
    pub(crate) strangers: usize,
    pub(crate) handshake: Duration,
    /// Timeout for the headers of a request, from the first byte on.
    pub(crate) headers: Duration,
    pub(crate) header_bytes: usize,
    /// How long a connection may be idle.
    pub(crate) idle: Duration,
    /// The same for an unauthenticated client.
    pub(crate) stranger_idle: Duration,
    /// Minimum age of a connection before it is evicted.
    pub(crate) young: Duration,
    /// How long a chunk of a response may wait for its client to read.
    pub(crate) stall: Duration,
    /// How long readiness fails before connections are refused.
    pub(crate) unready: Duration,
    /// How long requests may take to finish after that.
    pub(crate) drain: Duration,
    /// How long connections may then take to close.
    pub(crate) close: Duration,
}

/// The service that handles requests; axum's `Router` is one.
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

/// Serves until `stop` has begun and everything is done, in the order described in `shutdown`.
/// Returns how many connections had to be aborted.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Tls,
    service: impl Answers,
    stop: Stop,
    limits: Limits,
    metrics: ConnectionMetrics,
) -> usize {
    let server = connection::Server::new(tls, service, stop, limits, metrics);
    accept::run(listener, server).await
}

// === impl Peer ===

impl Peer {
    /// A peer without a connection.
    pub(crate) fn new(certificate: Certificate) -> Peer {
        Peer { certificate, kill: Kill::default(), connection: None }
    }

    /// A request has authenticated: the connection counts as authenticated.
    pub(crate) fn authenticated(&self) {
        if let Some(connection) = &self.connection {
            connection.authenticated();
        }
    }
}

// === impl Limits ===

/// Files not available for connections: the journal's, the listener, those of an in-process client.
const FEWEST_FILES_KEPT: u64 = 24;
const MOST_FILES_KEPT: u64 = 256;
const FEWEST_CONNECTIONS: usize = 8;
const MOST_CONNECTIONS: usize = 10_000;

impl Limits {
    /// For a process with this file limit.
    pub(crate) fn within(files: u64) -> Limits {
        let kept = (files / 4).clamp(FEWEST_FILES_KEPT, MOST_FILES_KEPT);
        let connections = usize::try_from(files.saturating_sub(kept)).unwrap_or(usize::MAX);
        let connections = connections.clamp(FEWEST_CONNECTIONS, MOST_CONNECTIONS);
        let strangers = (connections / 10).max(connections.min(16));
        Limits { connections, strangers, ..Limits::default() }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: MOST_CONNECTIONS,
            strangers: MOST_CONNECTIONS / 10,
            handshake: Duration::from_secs(10),
            headers: Duration::from_secs(32),
            header_bytes: 64 * 1024,
            idle: Duration::from_secs(90),
            stranger_idle: Duration::from_secs(15),
            young: Duration::from_secs(1),
            stall: Duration::from_secs(60),
            unready: Duration::ZERO,
            drain: Duration::from_secs(10),
            close: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests;
