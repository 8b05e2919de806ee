//! The endpoint over real sockets, with clients of all manners.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinHandle,
};

use super::*;
use crate::health::CheckScope;

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);

struct Server {
    address: SocketAddr,
    is_ready: Arc<AtomicBool>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(limits: Limits) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let is_ready = Arc::new(AtomicBool::new(true));
        let answers = answers(&is_ready);
        let stop = CancellationToken::new();
        let task =
            tokio::spawn(serve_within(limits, listener, answers.into_answer(), stop.clone()));
        Server { address, is_ready, stop, task }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// All that comes back for what is sent.
    async fn ask(&self, sent: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(sent).await.unwrap();
        rest(&mut stream).await
    }

    async fn end(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.task).await.expect("a server that is stopped ends").unwrap();
    }
}

fn answers(is_ready: &Arc<AtomicBool>) -> Answers {
    let is_ready = is_ready.clone();
    let ready = move || match is_ready.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err("not yet".to_owned()),
    };
    let health = Health::new().with("sync", CheckScope::Readiness, ready);
    Answers { health: Arc::new(health), metrics: Arc::new(|| "up 1\n# EOF\n".to_owned()) }
}

/// What a peer says until it closes; a reset counts as closing.
async fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    match read.expect("the server closes connections in time") {
        Ok(_) => {}
        Err(problem) => assert_eq!(problem.kind(), io::ErrorKind::ConnectionReset),
    }
    String::from_utf8(bytes).unwrap()
}

fn request(method: &str, path: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nhost: here\r\n\r\n").into_bytes()
}

fn parts(answer: &str) -> (u16, String, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body)
}

#[tokio::test]
async fn each_path_has_its_answer() {
    let server = Server::start(Limits::default()).await;
    let cases = [
        ("GET", "/healthz", 200, "ok"),
        ("GET", "/livez/ping", 200, "ok"),
        ("GET", "/readyz?verbose", 200, "[+]ping ok\n[+]log ok\n[+]sync ok\nreadyz check passed\n"),
        ("GET", "/readyz/nope", 404, "404 page not found\n"),
        ("GET", "/metrics", 200, "up 1\n# EOF\n"),
        ("GET", "/metrics?x=y", 200, "up 1\n# EOF\n"),
        ("HEAD", "/metrics", 200, ""),
        ("HEAD", "/healthz", 200, ""),
        ("GET", "/", 404, "404 page not found\n"),
        ("GET", "/metrics/", 404, "404 page not found\n"),
        ("POST", "/healthz", 405, "405 method not allowed\n"),
        ("DELETE", "/nowhere", 405, "405 method not allowed\n"),
        ("BREW", "/metrics", 405, "405 method not allowed\n"),
    ];
    for (method, path, status, body) in cases {
        let answer = server.ask(&request(method, path)).await;
        let (is_status, _, is_body) = parts(&answer);
        assert_eq!((is_status, is_body), (status, body), "{method} {path}");
    }
    server.end().await;
}

#[tokio::test]
async fn headers_say_what_comes() {
    let server = Server::start(Limits::default()).await;
    let answer = server.ask(&request("HEAD", "/metrics")).await;
    let (_, head, _) = parts(&answer);
    let openmetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    for line in [&format!("content-type: {openmetrics}"), "content-length: 11"] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    let answer = server.ask(&request("PUT", "/metrics")).await;
    assert!(parts(&answer).1.contains("\r\nallow: get, head\r\n"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn readiness_follows_its_checks() {
    let server = Server::start(Limits::default()).await;
    server.is_ready.store(false, Ordering::Relaxed);
    assert_eq!(parts(&server.ask(&request("GET", "/readyz")).await).0, 500);
    assert_eq!(parts(&server.ask(&request("GET", "/livez")).await).0, 200);
    server.is_ready.store(true, Ordering::Relaxed);
    assert_eq!(parts(&server.ask(&request("GET", "/readyz")).await).0, 200);
    server.end().await;
}

#[tokio::test]
async fn garbage_is_refused_and_harms_nobody() {
    let server = Server::start(Limits::default()).await;
    let long = format!("GET /healthz HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(64 * 1024));
    let cases: [(&[u8], &str); 5] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "HTTP/1.1 400"),
        (b"hello\r\n\r\n", "HTTP/1.1 400"),
        (b"GET /healthz HTTP/7.1\r\n\r\n", "HTTP/1.1 400"),
        (b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n", "HTTP/1.1 400"),
        (long.as_bytes(), "HTTP/1.1 431"),
    ];
    for (sent, expected) in cases {
        let mut stream = server.connect().await;
        // The server may have refused before all is sent.
        let _ = stream.write_all(sent).await;
        let answer = rest(&mut stream).await;
        // A refusal that crosses with what is still being sent may be lost to a reset.
        let is_lost = answer.is_empty() && sent.len() > Limits::default().header_bytes;
        assert!(is_lost || answer.starts_with(expected), "{answer}");
    }
    assert_eq!(parts(&server.ask(&request("GET", "/healthz")).await).0, 200);
    server.end().await;
}

#[tokio::test]
async fn slow_clients_lose_their_places() {
    let brief = Duration::from_millis(200);
    let limits = Limits { connections: 2, headers: brief, ..Limits::default() };
    let server = Server::start(limits).await;
    let (mut silent, mut slow) = (server.connect().await, server.connect().await);
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhos").await.unwrap();
    // Both places are taken: this one is answered only because they are cleared.
    assert_eq!(parts(&server.ask(&request("GET", "/healthz")).await).0, 200);
    assert!(!rest(&mut slow).await.starts_with("HTTP/1.1 200"));
    assert!(!rest(&mut silent).await.starts_with("HTTP/1.1 200"));
    server.end().await;
}

#[tokio::test]
async fn who_does_not_read_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits =
        Limits { connections: 1, connection: Duration::from_millis(300), ..Limits::default() };
    // More than the sockets' buffers hold.
    let large = Arc::new(|| "x".repeat(64 << 20));
    let answers = Answers { health: Arc::new(Health::new()), metrics: large };
    let stop = CancellationToken::new();
    let task = tokio::spawn(serve_within(limits, listener, answers.into_answer(), stop.clone()));
    let mut deaf = TcpStream::connect(address).await.unwrap();
    deaf.write_all(&request("GET", "/metrics")).await.unwrap();
    let mut next = TcpStream::connect(address).await.unwrap();
    next.write_all(&request("GET", "/healthz")).await.unwrap();
    assert_eq!(parts(&rest(&mut next).await).0, 200);
    stop.cancel();
    timeout(PATIENCE, task).await.unwrap().unwrap();
    drop(deaf);
}

#[tokio::test]
async fn no_more_than_so_many_are_answered_at_once() {
    let server = Server::start(Limits { connections: 3, ..Limits::default() }).await;
    let mut holders = Vec::new();
    for _ in 0..3 {
        let mut holder = server.connect().await;
        holder.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
        holders.push(holder);
    }
    let mut waiting = server.connect().await;
    waiting.write_all(&request("GET", "/healthz")).await.unwrap();
    let early = timeout(Duration::from_millis(200), waiting.readable()).await;
    assert!(early.is_err(), "a fourth was answered beside three");
    drop(holders.pop());
    assert_eq!(parts(&rest(&mut waiting).await).0, 200);
    server.end().await;
}

#[tokio::test]
async fn it_ends_with_the_token_whoever_is_connected() {
    let server = Server::start(Limits::default()).await;
    let mut half = server.connect().await;
    half.write_all(b"GET /met").await.unwrap();
    // An answer on another connection proves that the first was taken.
    assert_eq!(parts(&server.ask(&request("GET", "/metrics")).await).0, 200);
    let address = server.address;
    server.end().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert_eq!(rest(&mut half).await, "");
}

#[tokio::test]
async fn one_request_is_all_a_connection_carries() {
    let server = Server::start(Limits::default()).await;
    let two = [request("GET", "/healthz"), request("GET", "/healthz")].concat();
    let answer = server.ask(&two).await;
    assert_eq!(answer.matches("HTTP/1.1").count(), 1);
    assert!(parts(&answer).1.contains("\r\nconnection: close\r\n"), "{answer}");
    server.end().await;
}
