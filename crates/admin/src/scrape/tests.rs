//! Peers of all manners, over real sockets.

use std::{net::SocketAddr, time::Instant};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// Answers one connection with these bytes, again and again as often as told, and then as `end` says.
async fn peer(head: &'static str, piece: &'static [u8], times: usize, end: End) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(head.as_bytes()).await;
        for _ in 0..times {
            if stream.write_all(piece).await.is_err() {
                return;
            }
        }
        match end {
            // Closing it is one: what came is less than was promised, or nothing.
            End::Closes => drop(stream),
            End::Stalls => std::future::pending().await,
        }
    });
    address
}

enum End {
    Closes,
    Stalls,
}

async fn asked(address: SocketAddr) -> Result<(StatusCode, String), String> {
    let begun = Instant::now();
    let answer = ask(&format!("http://{address}/page?x=1")).await;
    assert!(begun.elapsed() < 3 * PATIENCE, "{:?}", begun.elapsed());
    answer
}

#[tokio::test]
async fn an_answer_has_a_status_and_a_text() {
    let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno";
    let answer = asked(peer(head, b"", 0, End::Closes).await).await;
    assert_eq!(answer, Ok((StatusCode::NOT_FOUND, "no".to_owned())));
}

#[tokio::test]
async fn a_hundred_megabytes_are_not_kept() {
    static PIECE: [u8; 1 << 20] = [b'x'; 1 << 20];
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n"]
    {
        let problem = asked(peer(head, &PIECE, 100, End::Closes).await).await.unwrap_err();
        assert!(problem.contains("length limit exceeded"), "{problem}");
    }
}

#[tokio::test]
async fn who_stalls_resets_or_speaks_another_protocol_is_told() {
    let cases = [
        ("", End::Stalls),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", End::Stalls),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", End::Closes),
        ("", End::Closes),
        ("SSH-2.0-OpenSSH\r\n", End::Closes),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\u{ff}", End::Closes),
    ];
    let asked = cases.map(|(head, end)| async { asked(peer(head, b"", 0, end).await).await });
    for answer in futures(asked).await {
        assert!(!answer.unwrap_err().is_empty());
    }
}

/// All at the same time, since two of them take as long as anything may.
async fn futures<T: Send + 'static>(
    all: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let mut running = tokio::task::JoinSet::new();
    for one in all {
        running.spawn(one);
    }
    running.join_all().await
}

#[tokio::test]
async fn only_plain_http_is_asked() {
    for url in ["https://127.0.0.1/", "file:///etc/passwd", "no url", "http://", ""] {
        assert!(ask(url).await.is_err(), "{url}");
    }
}
