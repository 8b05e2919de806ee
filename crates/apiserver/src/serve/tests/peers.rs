use std::{sync::Arc, time::Duration};

use axum::{Router, extract::Request, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::serve::{
    Limits, Peer,
    tests::client::{get_on, start, whoami},
};

/// The limit under test, and how long to wait for it at most.
const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn both_versions_of_http_are_served() {
    let server = start(whoami(), Limits::default(), None).await;
    assert_eq!(server.get("/", None).await.0, 200);
    assert_eq!(server.get_http2("/").await.0, 200);
    assert_eq!(server.get("/nope", None).await.0, 404);
}

#[tokio::test]
async fn a_missing_handshake_times_out() {
    let limits = Limits { handshake: SHORT, ..Limits::default() };
    let server = start(whoami(), limits, None).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    slow.write_all(&[22, 3, 1]).await.unwrap();
    for stream in [&mut silent, &mut slow] {
        let read = timeout(LONG, stream.read(&mut [0; 64])).await;
        assert!(matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    }
    assert_eq!(server.get("/", None).await.0, 200);
}

#[tokio::test]
async fn a_client_without_a_request_is_disconnected() {
    let limits = Limits { stranger_idle: SHORT, ..Limits::default() };
    let server = start(whoami(), limits, None).await;
    for alpn in [&b"http/1.1"[..], b"h2"] {
        let mut stream = server.connect(Arc::new(server.config(None, alpn))).await;
        let mut rest = Vec::new();
        let ended = timeout(LONG, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "the connection is still open: {}", String::from_utf8_lossy(alpn));
    }
}

#[tokio::test]
async fn headers_that_trickle_or_are_too_large_are_cut() {
    let limits = Limits { headers: SHORT, ..Limits::default() };
    let server = start(whoami(), limits, None).await;
    let mut slow = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut text = Vec::new();
    let _ = slow.read_to_end(&mut text).await;
    assert!(!text.starts_with(b"HTTP/1.1 200"));

    let server = start(whoami(), Limits::default(), None).await;
    let mut large = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let header = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: {}\r\n\r\n",
        "x".repeat(500_000)
    );
    let _ = large.write_all(header.as_bytes()).await;
    let mut text = Vec::new();
    let _ = large.read_to_end(&mut text).await;
    let text = String::from_utf8_lossy(&text);
    assert!(text.starts_with("HTTP/1.1 431") || text.is_empty(), "{text}");
}

#[tokio::test]
async fn a_client_without_tls_gets_an_error() {
    let server = start(whoami(), Limits::default(), None).await;
    let mut plain = TcpStream::connect(server.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut text = String::new();
    let _ = plain.read_to_string(&mut text).await;
    assert!(text.ends_with("Client sent an HTTP request to an HTTPS server.\n"), "{text}");
}

#[tokio::test]
async fn a_panic_is_a_500_to_its_client_alone() {
    async fn broken() -> &'static str {
        panic!("as a test wants it")
    }
    let router = whoami().route("/broken", get(broken));
    let server = start(router, Limits::default(), None).await;
    for (status, text) in [server.get("/broken", None).await, server.get_http2("/broken").await] {
        assert_eq!(status, 500);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["kind"], &value["reason"]), (&"Status".into(), &"InternalError".into()));
    }
    assert_eq!(server.get("/", None).await.0, 200);
}

#[tokio::test]
async fn a_connection_can_be_cut_from_its_handler() {
    async fn cut(request: Request) -> &'static str {
        request.extensions().get::<Peer>().unwrap().kill.cut();
        std::future::pending().await
    }
    let server = start(Router::new().route("/cut", get(cut)), Limits::default(), None).await;
    let mut stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    stream.write_all(b"GET /cut HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    assert!(text.is_empty());
}

#[tokio::test]
async fn ids_of_requests_are_returned() {
    let server = start(whoami(), Limits::default(), None).await;
    let mut stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let head = "GET / HTTP/1.1\r\nhost: x\r\naudit-id: a-1\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text).await;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("audit-id: a-1\r\n"), "{text}");
    let next = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    assert_eq!(get_on(next, "/").await.0, 200);
}
