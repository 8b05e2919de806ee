//! Unauthenticated clients, and a server with a low file limit.

use std::{sync::Arc, time::Instant};

use futures_util::future::join_all;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::raw::{PATIENCE, ask, send};
use crate::process::{Server, folder};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const STRANGERS: usize = 60;

#[tokio::test]
async fn unauthenticated_idle_connections_do_not_block_others() {
    let data = folder("strangers");
    // 192 connections, 19 of them for unauthenticated clients.
    let server = Server::start_with_files(&data, 256);
    let config = stranger(&server);
    let held = timeout(PATIENCE, join_all((0..STRANGERS).map(|_| hold(&server, &config)))).await;
    let mut held = held.expect("all are let in, and older ones sent away");
    let began = Instant::now();
    let answer = timeout(PATIENCE, ask(&server, "GET /api/v1/namespaces HTTP/1.1", b"")).await;
    assert_eq!(answer.unwrap().code, 200);
    assert!(began.elapsed().as_secs() < 5, "it took {:?}", began.elapsed());
    let metrics = ask(&server, "GET /metrics HTTP/1.1", b"").await;
    let text = String::from_utf8(metrics.body).unwrap();
    let evicted = "evenkeel_apiserver_connections_closed_total{reason=\"evicted\"} ";
    let evicted = text.lines().find_map(|line| line.strip_prefix(evicted)).unwrap();
    let evicted: usize = evicted.parse().unwrap();
    assert!(evicted >= STRANGERS - 19, "{evicted} were evicted");
    // No other connection was evicted.
    let mut open = 0;
    for stream in &mut held {
        let waited = timeout(std::time::Duration::from_millis(20), ended(stream)).await;
        open += usize::from(waited.is_err());
    }
    assert!(open >= 10, "{open} are left");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_server_without_files_to_open_serves_and_recovers() {
    let data = folder("few-files");
    let server = Server::start(&data);
    let files = server.files();
    server.stop();
    // Fewer than the minimum for connections: accepting fails.
    let server = Server::start_with_files(&data, files + 4);
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(TcpStream::connect(server.address).await.unwrap());
    }
    for n in 0..3 {
        let object = json!({"metadata": {"name": format!("c{n}")}}).to_string();
        let line = "POST /api/v1/namespaces/default/configmaps";
        let made = timeout(PATIENCE, send(&server, line, "application/json", object)).await;
        assert_eq!(made.expect("while others hold all files").code, 201);
    }
    drop(held);
    let began = Instant::now();
    assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
    assert!(began.elapsed().as_secs() < 15, "it took {:?}", began.elapsed());
    let log = server.stop_with_log();
    assert!(log.contains("accepting a connection failed"), "it had files enough: {log}");
    std::fs::remove_dir_all(&data).unwrap();
}

/// Without a certificate.
fn stranger(server: &Server) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let authority = server.data.join("pki/ca.crt");
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

async fn hold(server: &Server, config: &Arc<ClientConfig>) -> Option<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    // Others may already have taken its slot.
    let mut stream = TlsConnector::from(config.clone()).connect(name, stream).await.ok()?;
    stream.write_all(PREFACE).await.ok()?;
    Some(stream)
}

async fn ended(stream: &mut Option<TlsStream<TcpStream>>) {
    let Some(stream) = stream else { return };
    let mut buffer = [0; 1024];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}
