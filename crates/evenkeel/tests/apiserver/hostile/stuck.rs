//! Watchers that never read.

use std::time::Instant;

use http_body_util::BodyExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    h2::Http2,
    raw::{PATIENCE, ask, connect_with},
};
use crate::process::{Server, folder};

const WATCHERS: usize = 20;
const CHANGES: usize = 3000;
const PATH: &str = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0";

/// What a watcher buffers before it is stuck belongs to the system; the rest would be the server's.
const WINDOW: u32 = 16 << 10;

#[tokio::test]
async fn watchers_that_never_read_are_cut_and_cost_no_memory() {
    let data = folder("stuck");
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let object = serde_json::from_value(json!({"metadata": {"name": "busy"}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    let mut stuck = Vec::new();
    for _ in 0..WATCHERS {
        let mut stream = connect_with(&server, &["http/1.1"], Some(WINDOW)).await;
        let head = format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stuck.push(stream);
    }
    change_much(&server).await;
    for mut stream in stuck {
        let mut taken = 0;
        let mut buffer = vec![0; 64 << 10];
        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
            taken += n;
        }
        assert!(taken < CHANGES * (8 << 10), "{taken} bytes came");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// The same on the streams of one HTTP/2 connection, which continues.
#[tokio::test]
async fn streams_that_never_read_are_reset_and_cost_no_memory() {
    let data = folder("stuck-streams");
    let server = Server::start(&data);
    let api = server.config_maps().await;
    let object = serde_json::from_value(json!({"metadata": {"name": "busy"}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    let mut client = Http2::connect(&server).await;
    let mut stuck = Vec::new();
    for _ in 0..WATCHERS {
        stuck.push(client.get(PATH).await.unwrap());
    }
    change_much(&server).await;
    for answer in stuck {
        let error = answer.into_body().collect().await.expect_err("the stream was reset");
        assert!(format!("{error:?}").contains("CANCEL"), "{error:?}");
    }
    assert_eq!(client.get("/readyz").await.unwrap().status(), 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// All watch; then so much changes that all must be ended.
async fn change_much(server: &Server) {
    let api = server.config_maps().await;
    until_watching(server, |n| n == WATCHERS).await;
    let before = server.memory();
    for i in 0..CHANGES {
        let text = format!("{i:08}").repeat(1 << 10);
        let patch = Patch::Merge(json!({"data": {"text": text}}));
        api.patch("busy", &PatchParams::default(), &patch).await.unwrap();
    }
    let grown = server.memory().saturating_sub(before);
    // The history uses its 32 MB; 24 MB for each of the watchers would be 480.
    assert!(grown < 160 << 10, "{grown} kB");
    until_watching(server, |n| n == 0).await;
}

/// Polls until this many watches run.
async fn until_watching(server: &Server, is_so: impl Fn(usize) -> bool) {
    let began = Instant::now();
    loop {
        let metrics = ask(server, "GET /metrics HTTP/1.1", b"").await;
        let text = String::from_utf8(metrics.body).unwrap();
        let watches = text.lines().filter(|line| {
            line.starts_with("apiserver_longrunning_requests{") && line.contains("\"WATCH\"")
        });
        let n = watches.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum();
        if is_so(n) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{n} watches run");
    }
}
