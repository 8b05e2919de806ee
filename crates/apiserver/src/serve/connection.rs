//! One connection, from its handshake to its end.

use std::{net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::sync::CancellationToken;

use super::{
    Answers, ConnectionKill, Limits, Peer, Tls,
    accept::is_plain_http,
    answer::{Answering, Seen},
};
use crate::shutdown::Stop;

/// What all connections share.
pub(super) struct Server<S> {
    acceptor: TlsAcceptor,
    tls: Tls,
    service: S,
    http1: auto::Builder<TokioExecutor>,
    http2: auto::Builder<TokioExecutor>,
    pub(super) stop: Stop,
    pub(super) limits: Limits,
    /// No connection takes further requests.
    pub(super) closing: CancellationToken,
}

/// Streams on one connection. A client that watches many kinds has one for each.
const STREAMS: u32 = 1000;
/// A peer that is gone without a word is noticed after this and a while.
const PING: Duration = Duration::from_secs(30);

impl<S: Answers> Server<S> {
    pub(super) fn new(tls: Tls, service: S, stop: Stop, limits: Limits) -> Arc<Server<S>> {
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.headers)
            .max_buf_size(limits.header_bytes);
        http.http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX));
        let closing = CancellationToken::new();
        let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
        let (http1, http2) = (http.clone().http1_only(), http.http2_only());
        Arc::new(Server { acceptor, tls, service, http1, http2, stop, limits, closing })
    }

    pub(super) async fn connection(&self, stream: TcpStream, address: SocketAddr) {
        let handshake = timeout(self.limits.handshake, self.handshake(stream));
        let stream = tokio::select! {
            done = handshake => match done {
                Ok(Some(stream)) => stream,
                Ok(None) => return,
                Err(_) => return tracing::debug!(%address, "handshake took too long"),
            },
            () = self.closing.cancelled() => return,
        };
        let (_, session) = stream.get_ref();
        let certificate = self.tls.judge.judge(session.peer_certificates());
        let peer = Peer { certificate, kill: ConnectionKill::default() };
        self.requests(stream, peer).await;
    }

    /// `None` if the client can't be served; then it has been told, as far as possible.
    async fn handshake(&self, mut stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let _ = stream.set_nodelay(true);
        if is_plain_http(&mut stream).await.unwrap_or(true) {
            return None;
        }
        let accepted = self.acceptor.accept(stream).await;
        accepted.inspect_err(|error| tracing::debug!(%error, "handshake failed")).ok()
    }

    async fn requests(&self, stream: TlsStream<TcpStream>, peer: Peer) {
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let http = if is_http2 { &self.http2 } else { &self.http1 };
        let (kill, seen) = (peer.kill.clone(), Seen::default());
        let answering = Answering::new(self.service.clone(), peer, self.stop.clone(), seen.clone());
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), answering));
        let mut first_request = pin!(sleep(self.limits.headers));
        let (mut is_closing, mut is_waiting) = (false, true);
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(error = %error, "connection ended");
                    }
                    return;
                }
                () = self.closing.cancelled(), if !is_closing => {
                    is_closing = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = kill.is_cut() => return,
                () = first_request.as_mut(), if is_waiting => {
                    is_waiting = false;
                    if !seen.is_set() {
                        return;
                    }
                }
            }
        }
    }
}
