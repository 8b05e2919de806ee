use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{Router, body::Body, routing::get};
use bytes::Bytes;
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::{Instant, timeout},
};

use crate::serve::{
    Limits,
    tests::client::{Running, begin_on, start, whoami},
};

const LONG: Duration = Duration::from_secs(30);
const STALL: Duration = Duration::from_millis(300);

/// More bytes than any buffer holds, and a count of the chunks requested.
#[derive(Clone, Default)]
struct Endless(Arc<AtomicUsize>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 64 << 10])))))
    }
}

fn service(endless: &Endless) -> Router {
    let endless = endless.clone();
    let answer = async move || Response::new(Body::new(endless.clone()));
    whoami()
        .route("/endless", get(answer))
        .route("/large", get(async || Bytes::from(vec![b'x'; 64 << 20])))
}

async fn connect(server: &Running) -> http2::SendRequest<Empty<Bytes>> {
    let stream = server.connect(Arc::new(server.config(None, b"h2"))).await;
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn ask(sender: &mut http2::SendRequest<Empty<Bytes>>, path: &str) -> Response<Incoming> {
    let request = http::Request::get(format!("https://localhost{path}"));
    let answer = sender.send_request(request.body(Empty::new()).unwrap());
    timeout(LONG, answer).await.expect("headers come in time").unwrap()
}

async fn read(answer: Response<Incoming>) -> Result<usize, hyper::Error> {
    let body = timeout(LONG, answer.into_body().collect()).await.expect("the body ends in time");
    body.map(|body| body.to_bytes().len())
}

#[tokio::test]
async fn unread_streams_are_reset_and_their_connection_continues() {
    let endless = Endless::default();
    let limits = Limits { stall: STALL, ..Limits::default() };
    let server = start(service(&endless), limits, None).await;
    let mut sender = connect(&server).await;
    let mut unread = Vec::new();
    for n in 0..10 {
        unread.push(ask(&mut sender, if n % 2 == 0 { "/endless" } else { "/large" }).await);
    }
    let began = Instant::now();
    while server.stop.in_flight().requests() > 0 {
        assert!(began.elapsed() < LONG, "they still run");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(began.elapsed() >= STALL / 2, "{:?}", began.elapsed());
    for answer in unread {
        let error = read(answer).await.expect_err("the stream was reset");
        assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
    }
    let metrics = &server.metrics;
    assert_eq!(metrics.stalled.get(), 10);
    let answer = ask(&mut sender, "/").await;
    assert_eq!((answer.status().as_u16(), read(answer).await.unwrap()), (200, "None".len()));
}

#[tokio::test]
async fn a_connection_with_an_unread_response_is_closed() {
    let endless = Endless::default();
    let limits = Limits { stall: STALL, ..Limits::default() };
    let server = start(service(&endless), limits, None).await;
    for path in ["/endless", "/large"] {
        let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
        let answer = begin_on(stream, path).await;
        let began = Instant::now();
        while server.stop.in_flight().requests() > 0 {
            assert!(began.elapsed() < LONG, "{path} still runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        read(answer).await.expect_err("the connection was closed");
    }
    assert_eq!(server.metrics.stalled.get(), 2);
}

/// A client that reads slowly is not stalled.
#[tokio::test]
async fn who_reads_slowly_gets_all() {
    let limits = Limits { stall: 4 * STALL, ..Limits::default() };
    let size = 8 << 20;
    let router = Router::new().route("/", get(async move || Bytes::from(vec![b'x'; size])));
    let server = start(router, limits, None).await;
    let mut sender = connect(&server).await;
    let mut body = ask(&mut sender, "/").await.into_body();
    let (mut taken, mut slept) = (0, 0);
    while let Some(frame) = body.frame().await {
        taken += frame.unwrap().into_data().unwrap().len();
        if taken > slept + (1 << 20) {
            slept = taken;
            tokio::time::sleep(STALL).await;
        }
    }
    assert_eq!((taken, server.metrics.stalled.get()), (size, 0));
}

#[tokio::test]
async fn an_unread_stream_buffers_little() {
    let endless = Endless::default();
    let server = start(service(&endless), Limits::default(), None).await;
    let stream = server.connect(Arc::new(server.config(None, b"h2"))).await;
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.initial_stream_window_size(100);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let _unread = ask(&mut sender, "/endless").await;
    let answer = ask(&mut sender, "/").await;
    assert_eq!(read(answer).await.unwrap(), "None".len());
    // One in transit, one waiting.
    assert!(endless.0.load(Ordering::Relaxed) <= 2);
}

#[tokio::test]
async fn a_panic_in_a_body_ends_its_answer_alone() {
    struct Broken(bool);
    impl http_body::Body for Broken {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            assert!(!std::mem::replace(&mut self.0, true), "as a test wants it");
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }
    let broken = async || Response::new(Body::new(Broken(false)));
    let server = start(whoami().route("/broken", get(broken)), Limits::default(), None).await;
    let mut sender = connect(&server).await;
    // On the same HTTP/2 connection other streams continue.
    let slow = ask(&mut sender, "/").await;
    let request = http::Request::get("https://localhost/broken").body(Empty::new()).unwrap();
    // The reset may overtake the headers.
    if let Ok(answer) = sender.send_request(request).await {
        read(answer).await.expect_err("the stream was reset");
    }
    assert_eq!(read(slow).await.unwrap(), "None".len());
    assert_eq!(read(ask(&mut sender, "/").await).await.unwrap(), "None".len());
    let mut stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    stream.write_all(b"GET /broken HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut text = Vec::new();
    let _ = timeout(LONG, stream.read_to_end(&mut text)).await.expect("the server closes");
    assert!(!text.ends_with(b"0\r\n\r\n"), "the body has no regular end");
    assert_eq!(server.get("/", None).await.0, 200);
    assert_eq!(server.metrics.panics.get(), 2);
}
