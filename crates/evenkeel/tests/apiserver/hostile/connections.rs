//! Connections that are opened and abandoned, filled with garbage, or used for a thousand requests.

use std::time::Instant;

use futures_util::future::join_all;
use http_body_util::BodyExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    h2::Http2,
    raw::{PATIENCE, ask, connect},
};
use crate::process::{Server, folder};

const N: usize = 1000;

/// A TLS record that announces more than is sent.
const HALF_A_RECORD: &[u8] = &[22, 3, 1, 2, 0, 1, 0];

#[tokio::test]
async fn a_thousand_half_open_connections_are_in_nobodys_way() {
    let data = folder("half-open");
    let limit = getrlimit(Resource::Nofile);
    // The server has its own limit, and raises it itself.
    let server = Server::start(&data);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let before = server.memory();
    let mut held = Vec::new();
    for i in 0..N {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if i % 2 == 0 {
            stream.write_all(HALF_A_RECORD).await.unwrap();
        }
        held.push(stream);
    }
    let began = Instant::now();
    let answer = timeout(PATIENCE, ask(&server, "GET /api/v1/namespaces HTTP/1.1", b"")).await;
    assert_eq!(answer.unwrap().code, 200, "while {} are open", held.len());
    assert!(began.elapsed().as_secs() < 5, "it took {:?}", began.elapsed());
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 100 << 10, "{grown} kB for {N} connections");
    // The handshake timeout expires for all of them.
    for mut stream in held {
        let mut byte = [0];
        let read = timeout(PATIENCE, stream.read(&mut byte)).await.expect("the server hangs up");
        // An alert may come first.
        assert!(read.is_err() || read.is_ok_and(|n| n <= 1));
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn rubbish_instead_of_tls_ends_its_connection_only() {
    let data = folder("rubbish");
    let server = Server::start(&data);
    let record_of_nonsense = [&[22, 3, 1, 0, 64][..], &[0x5a; 64]].concat();
    let oversized = [&[22, 3, 3, 0xff, 0xff][..], &[1; 70_000]].concat();
    let cases: [&[u8]; 5] =
        [&record_of_nonsense, &oversized, &[0; 4096], &[0xff; 4096], b"\x16\x03\x01\x00\x00"];
    for rubbish in cases {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let _ = stream.write_all(rubbish).await;
        let _ = stream.shutdown().await;
        let mut said = Vec::new();
        let read = timeout(PATIENCE, stream.read_to_end(&mut said)).await;
        let _ = read.expect("the server hangs up");
        assert!(said.len() < 100, "{said:?}");
    }
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(said.contains("Client sent an HTTP request to an HTTPS server."), "{said}");
    let mut stream = connect(&server, &["http/1.1"]).await;
    stream.write_all(b"\0\x01nonsense\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("the server hangs up");
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_thousand_streams_of_one_connection_are_answered_and_as_many_resets_are_survived() {
    let data = folder("streams");
    let server = Server::start(&data);
    let mut client = Http2::connect(&server).await;
    let all = join_all((0..N).map(|_| client.get("/api/v1/namespaces/default")));
    for answer in timeout(PATIENCE, all).await.expect("all are answered in time") {
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 200);
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(
            serde_json::from_slice::<serde_json::Value>(&body).unwrap()["kind"],
            "Namespace"
        );
    }
    // Watches that are opened and dropped; the client resets their streams.
    for _ in 0..N {
        drop(timeout(PATIENCE, client.get("/api/v1/namespaces?watch=1")).await);
    }
    drop(client);
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}
