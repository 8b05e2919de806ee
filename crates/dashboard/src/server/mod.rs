//! HTTP/1.1, beyond loopback over TLS.
//!
//! A connection carries one request and has one deadline, except for event streams, which are bounded in
//! number. Who finds all places taken waits in the listener's queue, for no longer than others may be slow.

mod answer;
mod assets;
mod events;
mod fairness;
pub(crate) mod guard;
mod query;

use std::{convert::Infallible, sync::Arc, time::Duration};

use evenkeel_admin::accept::{self, Places};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use self::{answer::Answers, guard::Guard};
use crate::feed::Feeds;

/// Connections at the same time, event streams among them.
const MOST_CONNECTIONS: usize = 128;
const HEADER_BYTES: usize = 16 * 1024;
/// Until the head of a request is there.
const HEADERS: Duration = Duration::from_secs(5);
/// From the first byte to the last, both ways; not for event streams.
const CONNECTION: Duration = Duration::from_secs(20);
/// How long answers that have begun may take once the process stops.
const DRAIN: Duration = Duration::from_secs(1);

/// Where connections come from.
pub(crate) struct Listening {
    pub listener: TcpListener,
    pub tls: Option<TlsAcceptor>,
}

impl From<TcpListener> for Listening {
    fn from(listener: TcpListener) -> Listening {
        Listening { listener, tls: None }
    }
}

/// Answers until `stop`.
pub(crate) async fn serve(
    listening: impl Into<Listening>,
    guard: Guard,
    feeds: Arc<Feeds>,
    stop: CancellationToken,
) {
    let Listening { listener, tls } = listening.into();
    let answers = Arc::new(Answers::new(guard, feeds, stop.clone()));
    let places = Places { connections: MOST_CONNECTIONS, drain: DRAIN };
    let handle = |stream| connection(stream, tls.clone(), Arc::clone(&answers), stop.clone());
    accept::each(listener, places, stop.clone(), handle).await;
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    answers: Arc<Answers>,
    stop: CancellationToken,
) {
    let Some(tls) = tls else { return http(stream, answers, stop).await };
    match timeout(HEADERS, tls.accept(stream)).await {
        Ok(Ok(stream)) => http(stream, answers, stop).await,
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake timed out"),
    }
}

async fn http<S>(stream: S, answers: Arc<Answers>, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Cancelled once the connection is an event stream, which has no deadline.
    let endless = CancellationToken::new();
    let is_endless = endless.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (answers, endless) = (Arc::clone(&answers), is_endless.clone());
        async move { Ok::<_, Infallible>(answers.answer(request, &endless).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEADERS)
        .max_buf_size(HEADER_BYTES);
    let mut serving = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
    let served = async {
        tokio::select! {
            done = serving.as_mut() => return done,
            () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
        }
        serving.await
    };
    let deadline = async {
        if timeout(CONNECTION, endless.cancelled()).await.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = served => {
            if let Err(error) = ended {
                tracing::debug!(%error, "connection failed");
            }
        }
        () = deadline => tracing::debug!("connection timed out"),
    }
}

#[cfg(test)]
mod tests;
