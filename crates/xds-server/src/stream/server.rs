//! Connections and the streams on them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use evenkeel_xds::{Delta, Sotw, session::Protocol};
use http::{HeaderValue, Method, Request, Response, header::CONTENT_TYPE};
use hyper::{body::Incoming, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Status, Streaming};
use tracing::Instrument as _;

use super::{
    body::AdsBody,
    conversation::{self, Surroundings},
    request::{AdsRequest, RequestDecoder},
};
use crate::control::Control;

/// Bounds on what all clients together may do.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    pub connections: usize,
    pub streams: usize,
    /// Streams that compute and send their first responses at the same time.
    pub first_pushes: usize,
    pub request_bytes: usize,
    /// How long streams may take to end when the process stops.
    pub drain: Duration,
    /// A client that does not answer a ping within half of this is gone.
    pub keepalive: Duration,
}

/// Accepts connections and serves them.
#[derive(Debug)]
pub(crate) struct Server {
    surroundings: Surroundings,
    limits: StreamLimits,
    connections: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    tasks: TaskTracker,
}

const SOTW: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const DELTA: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

/// Envoy has one; a process that stands for many has a connection for each.
const STREAMS_PER_CONNECTION: u32 = 16;
/// What a stream may have sent that is not read yet.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;
/// What the transport holds for a stream that is not read, beside the piece that is written.
const SEND_BUFFER: usize = 32 * 1024;
const HEADER_BYTES: u32 = 16 * 1024;
/// How long a connection may be without a stream at its begin.
const FIRST_STREAM: Duration = Duration::from_secs(10);

// === impl StreamLimits ===

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            streams: 16_384,
            first_pushes: 32,
            request_bytes: 4 << 20,
            drain: Duration::from_secs(5),
            keepalive: Duration::from_secs(20),
        }
    }
}

// === impl Server ===

impl Server {
    pub(crate) fn new(
        control: Arc<Control>,
        limits: StreamLimits,
        stop: CancellationToken,
    ) -> Self {
        let turns = Arc::new(Semaphore::new(limits.first_pushes));
        Self {
            surroundings: Surroundings { control, turns, stop },
            connections: Arc::new(Semaphore::new(limits.connections)),
            streams: Arc::new(Semaphore::new(limits.streams)),
            limits,
            tasks: TaskTracker::new(),
        }
    }

    /// Accepts until the process stops.
    pub(crate) async fn accept(self: Arc<Self>, listener: Arc<TcpListener>) {
        let stop = &self.surroundings.stop;
        loop {
            let next = async {
                let place = Arc::clone(&self.connections).acquire_owned().await.ok()?;
                Some((listener.accept().await, place))
            };
            match stop.run_until_cancelled(next).await.flatten() {
                None => return,
                Some((Ok((stream, _)), place)) => {
                    let server = Arc::clone(&self);
                    self.tasks.spawn(server.connection(stream, place).in_current_span());
                }
                Some((Err(error), _)) => {
                    tracing::warn!(%error, "accepting a connection of a proxy failed");
                    // Without files left, the next try fails at once as well.
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    /// Waits for all streams to end, for as long as they may take.
    pub(crate) async fn drained(&self) {
        self.tasks.close();
        if timeout(self.limits.drain, self.tasks.wait()).await.is_err() {
            tracing::warn!(n = self.tasks.len(), "streams did not end in time");
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, place: OwnedSemaphorePermit) {
        let _ = stream.set_nodelay(true);
        let peer = stream.peer_addr().ok();
        let has_stream = Arc::new(Notify::new());
        let (server, begun) = (Arc::clone(&self), Arc::clone(&has_stream));
        let service = service_fn(move |request| {
            begun.notify_one();
            let answer = server.answer(request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let io = TokioIo::new(stream);
        let mut serving = std::pin::pin!(self.http().serve_connection(io, service));
        let opened = async {
            if timeout(FIRST_STREAM, has_stream.notified()).await.is_ok() {
                std::future::pending::<()>().await;
            }
        };
        let ended = tokio::select! {
            ended = serving.as_mut() => ended,
            () = opened => {
                tracing::debug!(?peer, "connection without a stream closed");
                return;
            }
            () = self.surroundings.stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(?peer, %error, "connection failed");
        }
        drop(place);
    }

    fn http(&self) -> http2::Builder<TokioExecutor> {
        let mut http = http2::Builder::new(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(STREAMS_PER_CONNECTION)
            .max_send_buf_size(SEND_BUFFER)
            .max_header_list_size(HEADER_BYTES)
            .keep_alive_interval(self.limits.keepalive)
            .keep_alive_timeout(self.limits.keepalive / 2);
        http
    }

    fn answer(&self, request: Request<Incoming>) -> Response<AdsBody> {
        let result = match (request.method(), request.uri().path()) {
            (&Method::POST, SOTW) => self.open::<Sotw>(request),
            (&Method::POST, DELTA) => self.open::<Delta>(request),
            _ => Err(Status::unimplemented("only aggregated discovery (ADS) is served")),
        };
        result.unwrap_or_else(Status::into_http)
    }

    fn open<P>(&self, request: Request<Incoming>) -> Result<Response<AdsBody>, Status>
    where
        P: Protocol + Send + 'static,
        P::Request: AdsRequest,
    {
        let metrics = &self.surroundings.control.metrics;
        let Ok(place) = Arc::clone(&self.streams).try_acquire_owned() else {
            metrics.refused("too_many_streams");
            return Err(Status::resource_exhausted("too many streams; connect again later"));
        };
        let decoder = RequestDecoder::<P::Request>::default();
        let limit = Some(self.limits.request_bytes);
        let requests = Streaming::new_request(decoder, request.into_body(), None, limit);
        // One response: the next one is made when the transport has taken this one.
        let (outgoing, incoming) = mpsc::channel(1);
        let surroundings = self.surroundings.clone();
        let task = async move {
            conversation::run::<P>(surroundings, requests, outgoing).await;
            drop(place);
        };
        self.tasks.spawn(task.in_current_span());
        let mut response = Response::new(AdsBody::new(incoming, Arc::clone(metrics)));
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert(CONTENT_TYPE, grpc);
        Ok(response)
    }
}
