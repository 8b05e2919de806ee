//! One connection, from its handshake to its end.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    Answers, ConnectionMetrics, Limits, Tls,
    accept::is_plain_http,
    answer::Answering,
    connections::{Connection, ConnectionGuard, Connections},
    read_tracker::ReadTracker,
    stall::{Streams, guarded},
};
use crate::{identity::Certificate, shutdown::Stop};

/// Shared by all connections.
pub(super) struct Server<S> {
    acceptor: TlsAcceptor,
    tls: Tls,
    service: S,
    http1: auto::Builder<Streams>,
    http2: auto::Builder<Streams>,
    metrics: ConnectionMetrics,
    pub(super) stop: Stop,
    pub(super) limits: Limits,
    pub(super) connections: Arc<Connections>,
    /// No connection accepts further requests.
    pub(super) closing: CancellationToken,
}

/// Maximum streams per connection: what Go's servers allow. A client that watches many kinds has
/// one for each.
const STREAMS: u32 = 250;
/// Buffer per stream whose client does not read, plus a chunk or two. With [`STREAMS`] this bounds
/// the memory of a connection.
const STREAM_BUFFER: usize = 64 << 10;
/// Flow-control windows of a stream, and of a connection. Same as kube-apiserver.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// Streams that a client opens and resets before they are handled. Beyond this its connection is
/// closed.
const RESETS: usize = 20;
/// Streams that we had to reset because of client errors.
const FAULTS: usize = 1024;
/// A peer that vanished is noticed some time after this.
const PING: Duration = Duration::from_secs(30);

impl<S: Answers> Server<S> {
    pub(super) fn new(
        tls: Tls,
        service: S,
        stop: Stop,
        limits: Limits,
        metrics: ConnectionMetrics,
    ) -> Arc<Server<S>> {
        let closing = CancellationToken::new();
        let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
        let http = http(&limits, &metrics);
        let connections = Connections::new(limits.clone(), metrics.clone());
        Arc::new(Server {
            acceptor,
            tls,
            service,
            http1: http.clone().http1_only(),
            http2: http.http2_only(),
            metrics,
            stop,
            limits,
            connections,
            closing,
        })
    }

    pub(super) async fn connection(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        guard: ConnectionGuard,
    ) {
        let handshake = timeout(self.limits.handshake, self.handshake(stream, address));
        let connection = guard.connection();
        let stream = tokio::select! {
            done = handshake => match done {
                Ok(Some(stream)) => stream,
                Ok(None) => return,
                Err(_) => return tracing::debug!(%address, "TLS handshake timed out"),
            },
            () = connection.evicted() => return tracing::debug!(%address, "connection evicted"),
            () = self.closing.cancelled() => return,
        };
        let (_, session) = stream.get_ref();
        let certificate = self.tls.verifier.verify(session.peer_certificates());
        if matches!(certificate, Certificate::Of { .. }) {
            connection.authenticated();
        }
        let span = tracing::debug_span!("connection", %address);
        self.requests(stream, certificate, connection).instrument(span).await;
    }

    /// `None` if the client can't be served; it has been told, as far as possible.
    async fn handshake(
        &self,
        mut stream: TcpStream,
        address: SocketAddr,
    ) -> Option<TlsStream<TcpStream>> {
        let _ = stream.set_nodelay(true);
        if is_plain_http(&mut stream).await.unwrap_or(true) {
            return None;
        }
        let accepted = self.acceptor.accept(stream).await;
        accepted.inspect_err(|error| tracing::debug!(%address, %error, "TLS handshake failed")).ok()
    }

    async fn requests(
        &self,
        stream: TlsStream<TcpStream>,
        certificate: Certificate,
        connection: &Arc<Connection>,
    ) {
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let answering = Answering {
            service: self.service.clone(),
            certificate,
            connection: Arc::clone(connection),
            stop: self.stop.clone(),
            metrics: self.metrics.clone(),
        };
        let heard = (!is_http2).then(|| Arc::clone(connection));
        let io = TokioIo::new(ReadTracker { stream, connection: heard });
        match is_http2 {
            // Its streams have their own tasks.
            true => {
                self.run(self.http2.serve_connection(io, answering), connection).await;
            }
            false => {
                let running = self.run(self.http1.serve_connection(io, answering), connection);
                guarded(running, self.limits.stall, &self.metrics).await;
            }
        }
    }

    /// Runs until the connection ends. One that should close does so after its current requests.
    async fn run<I>(
        &self,
        http: auto::Connection<'_, I, Answering<S>, Streams>,
        connection: &Connection,
    ) where
        I: hyper::rt::Read + hyper::rt::Write + Unpin + 'static,
    {
        let mut http = pin!(http);
        let mut close = pin!(sleep(self.limits.close));
        let (mut is_stopping, mut is_closing) = (false, false);
        loop {
            tokio::select! {
                ended = http.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "connection failed");
                    }
                    return;
                }
                () = self.closing.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    http.as_mut().graceful_shutdown();
                }
                () = connection.expired(), if !is_closing => {
                    is_closing = true;
                    http.as_mut().graceful_shutdown();
                    close.as_mut().reset(Instant::now() + self.limits.close);
                }
                () = close.as_mut(), if is_closing => {
                    if !connection.is_busy() {
                        return;
                    }
                    close.as_mut().reset(Instant::now() + self.limits.close);
                }
                () = connection.evicted() => return,
            }
        }
    }
}

fn http(limits: &Limits, metrics: &ConnectionMetrics) -> auto::Builder<Streams> {
    let streams = Streams { limit: limits.stall, metrics: metrics.clone() };
    let mut http = auto::Builder::new(streams);
    http.http1()
        .timer(TokioTimer::new())
        // It would also run between requests.
        .header_read_timeout(None)
        .max_buf_size(limits.header_bytes);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .max_concurrent_streams(STREAMS)
        .max_send_buf_size(STREAM_BUFFER)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_pending_accept_reset_streams(RESETS)
        .max_local_error_reset_streams(FAULTS)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
    http
}
