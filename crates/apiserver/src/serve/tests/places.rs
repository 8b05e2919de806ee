use std::{sync::Arc, time::Duration};

use axum::{Router, extract::Request, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};
use tokio_rustls::client::TlsStream;

use crate::serve::{
    Limits, Peer,
    tests::client::{Running, get_on, start, whoami},
};

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const ASK: &[u8] = b"GET /login HTTP/1.1\r\nhost: x\r\n\r\n";

/// A service where a request may authenticate, and where one may never finish.
fn service() -> Router {
    async fn login(request: Request) -> &'static str {
        request.extensions().get::<Peer>().unwrap().authenticated();
        "welcome"
    }
    async fn wait(request: Request) -> &'static str {
        request.extensions().get::<Peer>().unwrap().authenticated();
        std::future::pending().await
    }
    whoami().route("/login", get(login)).route("/wait", get(wait))
}

async fn connect(server: &Running, alpn: &[u8]) -> TlsStream<TcpStream> {
    server.connect(Arc::new(server.config(None, alpn))).await
}

/// On HTTP/1, with the response read.
async fn logged_in(server: &Running) -> TlsStream<TcpStream> {
    let mut stream = connect(server, b"http/1.1").await;
    stream.write_all(ASK).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"welcome") {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
    }
    stream
}

/// Reads until the server closes, and returns how long that took.
async fn closed(stream: &mut TlsStream<TcpStream>) -> (Duration, Vec<u8>) {
    let (began, mut rest) = (Instant::now(), Vec::new());
    let ended = timeout(LONG, stream.read_to_end(&mut rest)).await;
    let _ = ended.expect("the server closes the connection");
    (began.elapsed(), rest)
}

#[tokio::test]
async fn unauthenticated_clients_that_fill_their_slots_do_not_block_others() {
    let limits = Limits { connections: 8, strangers: 3, young: SHORT, ..Limits::default() };
    let server = start(service(), limits, None).await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(logged_in(&server).await);
    }
    let mut strangers = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&server, b"h2").await;
        stream.write_all(PREFACE).await.unwrap();
        strangers.push(stream);
    }
    // While all unauthenticated slots are taken.
    for _ in 0..3 {
        assert_eq!(timeout(LONG, server.get("/login", None)).await.unwrap().0, 200);
    }
    for stream in &mut strangers[..16] {
        closed(stream).await;
    }
    // Authenticated clients were not evicted.
    for mut stream in clients {
        stream.write_all(ASK).await.unwrap();
        assert_ne!(timeout(LONG, stream.read(&mut [0; 512])).await.unwrap().unwrap(), 0);
    }
}

#[tokio::test]
async fn where_all_places_are_taken_the_client_that_was_idle_for_longest_goes() {
    let limits = Limits { connections: 3, strangers: 3, young: SHORT, ..Limits::default() };
    let server = start(service(), limits, None).await;
    let mut waiting = connect(&server, b"http/1.1").await;
    waiting.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut oldest = logged_in(&server).await;
    let mut newer = logged_in(&server).await;
    assert_eq!(server.get("/login", None).await.0, 200);
    closed(&mut oldest).await;
    newer.write_all(ASK).await.unwrap();
    assert_ne!(newer.read(&mut [0; 512]).await.unwrap(), 0);
    let early = timeout(SHORT, waiting.read(&mut [0; 1])).await;
    assert!(early.is_err(), "a request was cut: {early:?}");
}

#[tokio::test]
async fn where_nobody_may_go_a_connection_waits_for_its_turn() {
    let limits = Limits { connections: 1, young: Duration::ZERO, ..Limits::default() };
    let server = start(service(), limits, None).await;
    let mut first = connect(&server, b"http/1.1").await;
    first.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while server.stop.in_flight().requests() == 0 {
        tokio::task::yield_now().await;
    }
    let mut second = Box::pin(server.get("/", None));
    let early = timeout(SHORT, &mut second).await;
    assert!(early.is_err(), "{early:?}");
    drop(first);
    assert_eq!(second.await.0, 200);
}

#[tokio::test]
async fn idle_connections_are_closed_strangers_first() {
    let limits = Limits {
        idle: Duration::from_millis(1500),
        stranger_idle: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = start(service(), limits, None).await;
    let mut client = logged_in(&server).await;
    let began = Instant::now();
    for alpn in [&b"http/1.1"[..], b"h2"] {
        let mut stranger = connect(&server, alpn).await;
        if alpn == b"h2" {
            stranger.write_all(PREFACE).await.unwrap();
        }
        let (_, rest) = closed(&mut stranger).await;
        let told = rest.windows(9).any(|frame| frame[3] == 7 && frame[5..9] == [0; 4]);
        assert_eq!(told, alpn == b"h2", "HTTP/2 hears GOAWAY: {rest:?}");
    }
    closed(&mut client).await;
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_keeps_its_connection_and_a_slow_head_does_not() {
    let limits = Limits {
        headers: Duration::from_millis(100),
        stranger_idle: Duration::from_millis(100),
        idle: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = start(service(), limits, None).await;
    let mut waiting = connect(&server, b"http/1.1").await;
    waiting.write_all(b"GET /wait HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut slow = connect(&server, b"http/1.1").await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    closed(&mut slow).await;
    let early = timeout(4 * SHORT, waiting.read(&mut [0; 1])).await;
    assert!(early.is_err(), "a request was cut: {early:?}");
    let next = connect(&server, b"http/1.1").await;
    assert_eq!(get_on(next, "/").await.0, 200);
}

#[test]
fn the_limits_leave_files_for_the_journal() {
    for (files, connections, strangers) in
        [(20, 8, 8), (64, 40, 16), (256, 192, 19), (1024, 768, 76), (1 << 20, 10_000, 1000)]
    {
        let limits = Limits::within(files);
        assert_eq!((limits.connections, limits.strangers), (connections, strangers), "{files}");
    }
}
