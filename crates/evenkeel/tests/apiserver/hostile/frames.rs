//! Floods of HTTP/2 frames that cost their sender little.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use super::raw::{PATIENCE, ask, connect};
use crate::process::{Server, folder};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `GET https://x/readyz`, each field literal.
const REQUEST: &[u8] = b"\x82\x87\x04\x07/readyz\x01\x01x";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

#[tokio::test]
async fn floods_of_frames_cost_their_own_connection_only() {
    let data = folder("floods");
    let server = Server::start(&data);
    let resets = |n: u32| {
        let stream = 2 * n + 1;
        let request = frame(HEADERS, END_STREAM | END_HEADERS, stream, REQUEST);
        [request, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
    };
    let endless_head = |n: u32| match n {
        0 => frame(HEADERS, END_STREAM, 1, REQUEST),
        _ => frame(CONTINUATION, 0, 1, &[b"\x00\x01a\x7f\x81\x7f", &[b'x'; 256][..]].concat()),
    };
    let many_fields = |n: u32| match n {
        0 => frame(HEADERS, END_STREAM, 1, REQUEST),
        _ => frame(CONTINUATION, 0, 1, &b"\x00\x01a\x01b".repeat(3000)),
    };
    let pings = |_| frame(PING, 0, 0, b"whatever");
    let settings = |_| frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let before = server.memory();
    flood(&server, 20_000, resets).await;
    flood(&server, 20_000, endless_head).await;
    flood(&server, 1_000, many_fields).await;
    flood(&server, 50_000, pings).await;
    flood(&server, 50_000, settings).await;
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 60 << 10, "{grown} kB");
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Sends as fast as the server reads, reads nothing, and sends requests on another connection.
async fn flood(server: &Server, n: u32, frames: impl Fn(u32) -> Vec<u8>) {
    let mut stream = connect(server, &["h2"]).await;
    let bytes: Vec<u8> = (0..n).flat_map(frames).collect();
    let sending = async {
        stream.write_all(PREFACE).await.unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, b"")).await.unwrap();
        // A server that has had enough closes the connection, or stops reading.
        let _ = timeout(Duration::from_secs(3), stream.write_all(&bytes)).await;
    };
    let asking = async {
        let answer = timeout(PATIENCE, ask(server, "GET /readyz HTTP/1.1", b"")).await;
        assert_eq!(answer.expect("others are answered meanwhile").code, 200);
    };
    tokio::join!(sending, asking);
    drain(stream).await;
}

/// Its responses to this are bounded.
async fn drain(mut stream: TlsStream<TcpStream>) {
    let (mut buffer, mut said) = ([0; 16 << 10], 0);
    while let Ok(Ok(n @ 1..)) = timeout(Duration::from_millis(200), stream.read(&mut buffer)).await
    {
        said += n;
    }
    assert!(said < 16 << 20, "{said} bytes");
}
