//! A server that misbehaves.

use kube::Config;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// What one request gets from a server that answers so, and then keeps the connection.
async fn answered(answer: &'static [u8]) -> Part<Answer> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        stream.write_all(answer).await.unwrap();
        std::future::pending::<()>().await;
    });
    let client = Client::try_from(Config::new(url.parse().unwrap())).unwrap();
    let got = text(&client, "/metrics", 1 << 20).await;
    serving.abort();
    got
}

#[tokio::test]
async fn a_document_has_its_text_and_the_clock_of_the_server() {
    let answer =
        b"HTTP/1.1 200 OK\r\ndate: Thu, 19 Nov 2026 21:00:00 GMT\r\ncontent-length: 2\r\n\r\nab";
    let got = answered(answer).await.unwrap();
    assert_eq!((got.text.as_str(), got.date), ("ab", "2026-11-19T21:00:00Z".parse().ok()));
}

#[tokio::test]
async fn what_is_refused_is_no_document() {
    let got = answered(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno").await;
    assert_eq!(got.err(), Some(Absent::Refused { code: 403 }));
    let got = answered(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe").await;
    assert_eq!(got.err(), Some(Absent::Malformed));
    let got = answered(b"SSH-2.0-OpenSSH\r\n").await;
    assert!(matches!(got, Err(Absent::Failed { .. })));
}

#[tokio::test]
async fn a_document_is_bounded_in_size_and_time() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n";
    let large: &'static [u8] = [&head[..], &[b'x'; 2 << 20]].concat().leak();
    assert_eq!(answered(large).await.err(), Some(Absent::TooLarge { megabytes: 1 }));
    let got = answered(b"HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\nab").await;
    assert_eq!(got.err(), Some(Absent::TimedOut { seconds: PATIENCE.as_secs() }));
}
