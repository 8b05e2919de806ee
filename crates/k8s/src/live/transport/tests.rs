use std::time::Instant;

use rustix::net::sockopt;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn by_default_every_limit_is_well_under_a_minute() {
    let timeouts = Timeouts::default();
    assert!(timeouts.unacknowledged() <= MINUTE / 2);
    assert!(timeouts.read <= MINUTE / 2);
    assert!(timeouts.connect * 2 <= MINUTE / 6);
    assert!(timeouts.idle <= timeouts.unacknowledged());
}

/// What the kernel says of a connection, not what was asked of the library.
#[tokio::test]
async fn connections_have_keep_alive_and_a_user_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let timeouts = Timeouts::default();
    let stream: TcpStream = http(&timeouts).oneshot(uri).await.unwrap().into_inner();
    assert!(sockopt::socket_keepalive(&stream).unwrap());
    assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), timeouts.keepalive_time);
    assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), timeouts.keepalive_interval);
    assert_eq!(sockopt::tcp_keepcnt(&stream).unwrap(), timeouts.keepalive_probes);
    let user_timeout = sockopt::tcp_user_timeout(&stream).unwrap();
    assert_eq!(u128::from(user_timeout), timeouts.unacknowledged().as_millis());
}

fn client(listener: &TcpListener, timeouts: &Timeouts) -> Client {
    let uri = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    long_lived(Config::new(uri), timeouts).unwrap()
}

/// Takes a request to its end.
async fn take(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(request).unwrap()
}

#[tokio::test]
async fn a_request_without_an_answer_fails_and_its_connection_is_not_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let timeouts = Timeouts { read: Duration::from_millis(200), ..Timeouts::default() };
    let client = client(&listener, &timeouts);
    let serve = async {
        let (mut deaf, _) = listener.accept().await.unwrap();
        take(&mut deaf).await;
        let (mut stream, _) = listener.accept().await.unwrap();
        take(&mut stream).await;
        let answer = b"HTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        drop(deaf);
    };
    let ask = async {
        let begun = Instant::now();
        let error = client.apiserver_version().await.unwrap_err();
        assert!(super::super::is_unreachable(&error), "{error:?}");
        assert!(begun.elapsed() >= timeouts.read, "{:?}", begun.elapsed());
        let answer = client.apiserver_version().await;
        assert!(matches!(answer, Err(kube::Error::Api(_))), "{answer:?}");
    };
    tokio::time::timeout(MINUTE / 2, async { tokio::join!(serve, ask) }).await.unwrap();
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_named() {
    let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
    config.proxy_url = Some("socks5://127.0.0.1:2".parse().unwrap());
    let error = long_lived(config, &Timeouts::default()).err().unwrap();
    assert!(matches!(error, kube::Error::ProxyProtocolDisabled { .. }), "{error}");
}
