//! A client that sends arbitrary bytes.

use std::{io, sync::Arc, time::Duration};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::process::Server;

/// Longer than any response takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// The status line and the headers.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

/// Connects as administrator, with these protocols on offer.
pub(super) async fn connect(server: &Server, protocols: &[&str]) -> TlsStream<TcpStream> {
    connect_with(server, protocols, None).await
}

/// The same with a receive buffer of this size.
pub(super) async fn connect_with(
    server: &Server,
    protocols: &[&str],
    window: Option<u32>,
) -> TlsStream<TcpStream> {
    connect_within(server, protocols, window).await.unwrap()
}

/// For callers that expect the server to be gone at times.
pub(crate) async fn try_connect(
    server: &Server,
    protocols: &[&str],
) -> io::Result<TlsStream<TcpStream>> {
    connect_within(server, protocols, None).await
}

async fn connect_within(
    server: &Server,
    protocols: &[&str],
    window: Option<u32>,
) -> io::Result<TlsStream<TcpStream>> {
    let pki = server.data.join("pki");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(pki.join("ca.crt")).unwrap()).unwrap();
    let chain = vec![CertificateDer::from_pem_file(pki.join("admin.crt")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(pki.join("admin.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config =
        config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    let mut config = config.with_client_auth_cert(chain, key).unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let socket = TcpSocket::new_v4().unwrap();
    if let Some(window) = window {
        socket.set_recv_buffer_size(window).unwrap();
    }
    let stream = socket.connect(server.address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The status of the response to one request without a body.
pub(crate) async fn try_ask(server: &Server, head: &str) -> io::Result<u16> {
    let mut stream = try_connect(server, &["http/1.1"]).await?;
    let head = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut said = Vec::new();
    // The connection may end without a TLS close; only the first line matters.
    let ended = stream.read_to_end(&mut said).await;
    let first = String::from_utf8_lossy(&said);
    let code = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    code.ok_or_else(|| ended.err().unwrap_or_else(|| io::Error::other("no answer")))
}

/// Sends one request unchanged, and reads the response up to the end of the connection.
pub(crate) async fn ask(server: &Server, head: &str, body: &[u8]) -> Answer {
    let mut stream = connect(server, &["http/1.1"]).await;
    let head = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // A server may respond and close before it has read an unwanted body.
    let _ = stream.write_all(body).await;
    answer(stream).await
}

/// A JSON body to a path.
pub(crate) async fn send(
    server: &Server,
    line: &str,
    content_type: &str,
    body: impl AsRef<[u8]>,
) -> Answer {
    let body = body.as_ref();
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nContent-Type: {content_type}\r\nContent-Length: {length}");
    ask(server, &head, body).await
}

pub(super) async fn answer(mut stream: TlsStream<TcpStream>) -> Answer {
    let mut bytes = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await;
    let read = read.expect("the server answers in time");
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let split = split.unwrap_or_else(|| panic!("no answer: {read:?} {bytes:?}"));
    let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = bytes.split_off(split + 4);
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    Answer { code, head, body: if is_chunked { unchunked(&body) } else { body } }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The code and the reason of a Kubernetes `Status`.
    pub(super) fn reason(&self) -> (u16, String) {
        let status = self.json();
        if status["kind"] == "Status" {
            assert_eq!(status["code"], self.code);
        }
        (self.code, status["reason"].as_str().unwrap_or_default().to_owned())
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else { break };
        whole.extend_from_slice(chunk);
        rest = rest.get(end + size + 4..).unwrap_or_default();
    }
    whole
}
