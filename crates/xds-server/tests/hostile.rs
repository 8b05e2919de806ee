//! Clients that stall, vanish, reset, and say too much. Another client is served all the time.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod plane;

use std::{
    convert::Infallible,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use bytes::{BufMut as _, Bytes, BytesMut};
use envoy_types::pb::{
    envoy::service::discovery::v3::DeltaDiscoveryRequest,
    google::protobuf::{Struct, Value as Field, value::Kind},
};
use evenkeel_xds::ResourceType;
use evenkeel_xds_server::{Settings, StreamLimits, prepare};
use http::Request;
use http_body::{Body, Frame};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use plane::{DeltaClient, Plane, client, loopback, node, server, soon, subscribe};
use prost::Message as _;
use serde_json::Value;
use tokio::{
    net::TcpStream,
    runtime::Builder,
    sync::{mpsc, oneshot},
};
use tonic::Code;

const PATH: &str =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources";

fn mesh() -> Vec<Value> {
    vec![server("s1", "web", 1, true), client("good", &["web"]), client("bad", &["web"])]
}

async fn plane_with(limits: StreamLimits) -> Plane {
    let settings = Settings { admin: Some(loopback()), limits, ..Settings::intake(loopback()) };
    let (plane, mut intake) = prepare(settings);
    intake.apply_objects(mesh().into_iter().map(plane::applied));
    intake.synced();
    Plane::of(plane, intake).await
}

/// A proxy that behaves, and is told of each change while others don't.
struct Good {
    client: DeltaClient,
    ready: bool,
}

impl Good {
    async fn start(plane: &Plane) -> Self {
        Self { client: DeltaClient::settled(plane.ready.listen, "default.good").await, ready: true }
    }

    async fn is_served(&mut self, plane: &mut Plane) {
        self.ready = !self.ready;
        plane.apply(server("s1", "web", 1, self.ready));
        assert_eq!(self.client.take_news().await.type_url, ResourceType::Endpoint.type_url());
    }
}

/// Waits until the good proxy is the only one.
async fn alone(plane: &Plane) {
    let is_alone = |page: &Value| page["proxies"].as_array().unwrap().len() == 1;
    plane.until("/mesh/proxies", is_alone).await;
}

fn first(id: &str) -> DeltaDiscoveryRequest {
    DeltaDiscoveryRequest { node: Some(node(id)), ..subscribe(ResourceType::Cluster, &[]) }
}

// === HTTP/2 without tonic ===

/// A body that stays open.
struct Open(mpsc::Receiver<Bytes>);

impl Body for Open {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

fn grpc(request: &DeltaDiscoveryRequest) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(0);
    bytes.put_u32(request.encoded_len().try_into().unwrap());
    request.encode(&mut bytes).unwrap();
    bytes.freeze()
}

type Connection = http2::Connection<TokioIo<TcpStream>, Open, TokioExecutor>;

/// Opens a stream whose answer nobody reads, with a window of this size. What is returned keeps it open.
async fn open(address: SocketAddr, window: u32) -> (impl Sized, Connection) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, mut connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_stream_window_size(window)
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let (requests, body) = mpsc::channel(8);
    requests.send(grpc(&first("default.bad"))).await.unwrap();
    let request = Request::post(format!("http://{address}{PATH}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Open(body))
        .unwrap();
    let answer = sender.send_request(request);
    let answer = soon(async {
        tokio::select! {
            answer = answer => answer.unwrap(),
            ended = &mut connection => panic!("{ended:?}"),
        }
    });
    let answer = answer.await;
    assert_eq!(answer.status(), 200);
    ((sender, requests, answer), connection)
}

#[tokio::test]
async fn a_client_whose_window_stays_full_holds_nobody_up() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let (kept, connection) = open(plane.ready.listen, 1).await;
    let polled = tokio::spawn(connection);
    let both = |page: &Value| page["proxies"].as_array().unwrap().len() == 2;
    plane.until("/mesh/proxies", both).await;
    for _ in 0..50 {
        good.is_served(&mut plane).await;
    }
    plane.until("/mesh/proxies", both).await;
    assert!(!polled.is_finished());
    drop(kept);
    alone(&plane).await;
    good.is_served(&mut plane).await;
    plane.stop().await;
}

/// A window of nothing, so that not even the first response leaves.
#[tokio::test]
async fn clients_that_take_nothing_keep_nobody_from_the_first_response() {
    let limits = StreamLimits { first_pushes: 2, ..StreamLimits::default() };
    let mut plane = plane_with(limits).await;
    let mut stalled = Vec::new();
    for _ in 0..100 {
        let (kept, connection) = open(plane.ready.listen, 0).await;
        stalled.push((kept, tokio::spawn(connection)));
    }
    let begun = Instant::now();
    let mut good = Good::start(&plane).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    good.is_served(&mut plane).await;
    assert!(stalled.iter().all(|(_, polled)| !polled.is_finished()));
    drop(stalled);
    plane.stop().await;
}

/// The socket stays open, and nobody answers pings behind it.
#[tokio::test]
async fn a_half_open_connection_is_given_up() {
    let limits = StreamLimits { keepalive: Duration::from_secs(2), ..StreamLimits::default() };
    let mut plane = plane_with(limits).await;
    let mut good = Good::start(&plane).await;
    let address = plane.ready.listen;
    let (opened, is_open) = oneshot::channel();
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    // Its runtime stands still once the stream is open.
    let frozen = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let kept = runtime.block_on(open(address, 1 << 16));
        opened.send(()).unwrap();
        let _ = is_over.recv_timeout(Duration::from_secs(60));
        drop(kept);
    });
    soon(is_open).await.unwrap();
    alone(&plane).await;
    drop(over);
    frozen.join().unwrap();
    good.is_served(&mut plane).await;
    let (_, metrics) = plane.get("/metrics").await;
    assert!(metrics.contains("evenkeel_xds_streams{protocol=\"delta\"} 1\n"), "{metrics}");
    plane.stop().await;
}

#[tokio::test]
async fn connections_that_are_reset_leave_nothing_behind() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    for n in 0..200 {
        if n % 4 == 0 {
            // Before a byte of HTTP/2.
            let stream = TcpStream::connect(plane.ready.listen).await.unwrap();
            stream.set_zero_linger().unwrap();
        } else {
            let mut bad =
                DeltaClient::open(plane.ready.listen, first("default.bad")).await.unwrap();
            match n % 4 {
                // Before the first response, after it, and in the midst of a request's answer.
                1 => {}
                2 => drop(bad.next().await),
                _ => {
                    let clusters = bad.next().await;
                    bad.send(subscribe(ResourceType::Endpoint, &["web"])).await;
                    bad.ack(&clusters).await;
                }
            }
        }
        if n % 20 == 0 {
            good.is_served(&mut plane).await;
        }
    }
    alone(&plane).await;
    good.is_served(&mut plane).await;
    let (_, metrics) = plane.get("/metrics").await;
    assert!(metrics.contains("evenkeel_xds_streams{protocol=\"delta\"} 1\n"), "{metrics}");
    assert!(metrics.contains("evenkeel_xds_connected_proxies 1\n"), "{metrics}");
    let propagation = plane.json("/mesh/propagation").await;
    let newest = &propagation["changes"][0];
    assert_eq!(newest["streams"], 1, "{newest}");
    plane.stop().await;
}

/// Streams of one connection that are reset as soon as they are opened.
#[tokio::test]
async fn streams_that_are_reset_at_once_end_their_connection_at_most() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let address = plane.ready.listen;
    let stream = TcpStream::connect(address).await.unwrap();
    let builder = http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
    let polled = tokio::spawn(connection);
    for _ in 0..2_000 {
        let (_requests, body) = mpsc::channel(1);
        let request = Request::post(format!("http://{address}{PATH}")).body(Open(body)).unwrap();
        if sender.ready().await.is_err() {
            break;
        }
        drop(sender.send_request(request));
        tokio::task::yield_now().await;
    }
    good.is_served(&mut plane).await;
    drop(sender);
    polled.abort();
    alone(&plane).await;
    plane.stop().await;
}

// === Requests that say too much ===

fn text(text: &str) -> Field {
    Field { kind: Some(Kind::StringValue(text.to_owned())) }
}

fn nested(depth: usize) -> Field {
    (0..depth).fold(text("x"), |inner, _| {
        let fields = [("x".to_owned(), inner)].into();
        Field { kind: Some(Kind::StructValue(Struct { fields })) }
    })
}

fn with_metadata(fields: impl IntoIterator<Item = (String, Field)>) -> DeltaDiscoveryRequest {
    let mut first = first("default.bad");
    let metadata = Struct { fields: fields.into_iter().collect() };
    first.node.as_mut().unwrap().metadata = Some(metadata);
    first
}

#[tokio::test]
async fn metadata_of_megabytes_is_not_kept() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let many = (0..50_000).map(|n| (format!("key-{n}"), text("some value of metadata")));
    let mut bad = DeltaClient::open(plane.ready.listen, with_metadata(many)).await.unwrap();
    assert_eq!(bad.next().await.resources.len(), 1, "it is served all the same");
    let page = plane.json("/mesh/proxies").await;
    let metadata = page["proxies"].as_array().unwrap().iter().map(|one| &one["node"]["metadata"]);
    assert!(metadata.clone().all(Value::is_null), "{page}");
    good.is_served(&mut plane).await;
    drop(bad);
    let deep = with_metadata([("deep".to_owned(), nested(20))]);
    let mut deep = DeltaClient::open(plane.ready.listen, deep).await.unwrap();
    assert_eq!(deep.next().await.resources.len(), 1);
    let deeper = with_metadata([("deep".to_owned(), nested(200))]);
    let mut deeper = DeltaClient::open(plane.ready.listen, deeper).await.unwrap();
    assert_eq!(deeper.end().await.code(), Code::InvalidArgument);
    good.is_served(&mut plane).await;
    plane.stop().await;
}

#[tokio::test]
async fn a_hundred_thousand_names_end_the_stream() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let names: Vec<String> = (0..100_000).map(|n| format!("name-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let all = DeltaDiscoveryRequest {
        node: Some(node("default.bad")),
        ..subscribe(ResourceType::Endpoint, &names)
    };
    let mut bad = DeltaClient::open(plane.ready.listen, all).await.unwrap();
    let status = bad.end().await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status}");
    assert!(status.message().contains("65536 names"), "{status}");
    good.is_served(&mut plane).await;
    alone(&plane).await;
    plane.stop().await;
}

#[tokio::test]
async fn types_that_nobody_serves_are_passed_over() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let mut bad = DeltaClient::open(plane.ready.listen, first("default.bad")).await.unwrap();
    let clusters = bad.next().await;
    for n in 0..500 {
        let type_url = format!("type.googleapis.com/{}.{n}", "x".repeat(1_000));
        bad.send(DeltaDiscoveryRequest { type_url, ..DeltaDiscoveryRequest::default() }).await;
    }
    bad.ack(&clusters).await;
    bad.send(subscribe(ResourceType::Endpoint, &["web"])).await;
    assert_eq!(bad.next().await.type_url, ResourceType::Endpoint.type_url());
    good.is_served(&mut plane).await;
    plane.stop().await;
}

/// Whatever it answers to, the newest state is what it is sent next.
#[tokio::test]
async fn answers_to_what_was_never_sent_change_nothing() {
    let mut plane = Plane::start(mesh()).await;
    let mut good = Good::start(&plane).await;
    let mut bad = DeltaClient::settled(plane.ready.listen, "default.bad").await;
    for nonce in ["", "0", "18446744073709551615", "-1", "banana", &"9".repeat(10_000)] {
        let wrong = DeltaDiscoveryRequest {
            type_url: ResourceType::Endpoint.type_url().to_owned(),
            response_nonce: nonce.to_owned(),
            ..DeltaDiscoveryRequest::default()
        };
        bad.send(wrong).await;
    }
    good.is_served(&mut plane).await;
    let news = bad.next().await;
    assert_eq!(news.type_url, ResourceType::Endpoint.type_url());
    let is_behind = |page: &Value| {
        let proxies = page["proxies"].as_array().unwrap();
        let bad = proxies.iter().find(|proxy| proxy["dataplane"] == "bad").unwrap();
        bad["types"]["EDS"]["state"] == "STALE"
    };
    plane.until("/mesh/proxies", is_behind).await;
    let wrong = DeltaDiscoveryRequest {
        type_url: news.type_url.clone(),
        response_nonce: format!("{}1", news.nonce),
        ..DeltaDiscoveryRequest::default()
    };
    bad.send(wrong).await;
    // It is not taken for an acknowledgement, so that the next change waits for one.
    good.is_served(&mut plane).await;
    plane.until("/mesh/proxies", is_behind).await;
    bad.ack(&news).await;
    assert_eq!(bad.take().await.type_url, ResourceType::Endpoint.type_url());
    plane.stop().await;
}

#[tokio::test]
async fn streams_above_the_limit_are_refused_and_the_others_stay() {
    let limits = StreamLimits { streams: 2, ..StreamLimits::default() };
    let mut plane = plane_with(limits).await;
    let mut good = Good::start(&plane).await;
    let bad = DeltaClient::settled(plane.ready.listen, "default.bad").await;
    let refused = DeltaClient::open(plane.ready.listen, first("default.bad")).await;
    assert_eq!(refused.err().unwrap().code(), Code::ResourceExhausted);
    good.is_served(&mut plane).await;
    drop(bad);
    alone(&plane).await;
    DeltaClient::settled(plane.ready.listen, "default.bad").await;
    plane.stop().await;
}
