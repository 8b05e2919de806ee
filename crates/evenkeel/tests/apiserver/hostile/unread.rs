//! Responses that nobody reads: watches and lists on many streams of one HTTP/2 connection.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use hyper::{Response, body::Incoming};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    h2::Http2,
    raw::{PATIENCE, ask},
};
use crate::process::{Server, folder};

const OBJECTS: usize = 3000;
const STREAMS: usize = 100;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn unread_watches_and_lists_cost_little_memory_and_others_are_served() {
    let data = folder("unread");
    let server = Server::start(&data);
    let text = "x".repeat(1200);
    create(
        &server,
        OBJECTS,
        |n| json!({"metadata": {"name": format!("c{n}")}, "data": {"k": text}}),
    )
    .await;
    for path in ["?watch=1", "?watch=1&resourceVersion=0", ""] {
        let before = server.memory();
        let mut client = Http2::connect(&server).await;
        let mut unread = Vec::new();
        for _ in 0..STREAMS {
            let answer = timeout(PATIENCE, client.get(&format!("{CONFIG_MAPS}{path}"))).await;
            let answer = answer.expect("headers come in time").unwrap();
            assert_eq!(answer.status(), 200);
            unread.push(answer);
        }
        // Once the server has answered others, it has buffered everything it will without a reader.
        for _ in 0..10 {
            assert_eq!(ask(&server, "GET /readyz HTTP/1.1", b"").await.code, 200);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let grown = server.memory().saturating_sub(before);
        assert!(grown < 60 << 10, "{grown} kB for {STREAMS} unread streams of {path:?}");
        drop(unread);
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn unread_watches_of_large_objects_share_the_bytes_of_the_store() {
    let data = folder("unread-large");
    let server = Server::start(&data);
    let text = "x".repeat(1_000_000);
    create(&server, 3, |n| json!({"metadata": {"name": format!("c{n}")}, "data": {"k": text}}))
        .await;
    let before = server.memory();
    let mut client = Http2::connect(&server).await;
    let mut unread = Vec::new();
    for _ in 0..STREAMS {
        let answer = timeout(PATIENCE, client.get(&format!("{CONFIG_MAPS}?watch=1"))).await;
        unread.push(answer.expect("headers come in time").unwrap());
    }
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 60 << 10, "{grown} kB for {STREAMS} unread streams");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// A watch starts with the state at its begin, whatever is written while it is read.
#[tokio::test]
async fn a_watch_that_is_read_slowly_starts_from_one_revision() {
    const N: usize = 1500;
    let data = folder("unread-slow");
    let server = Server::start(&data);
    create(
        &server,
        N,
        |n| json!({"metadata": {"name": format!("c{n:04}")}, "data": {"k": "x".repeat(3000)}}),
    )
    .await;
    let mut client = Http2::connect(&server).await;
    let path = format!(
        "{CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
         &allowWatchBookmarks=true"
    );
    let watch = client.get(&path).await.unwrap();
    // While nobody reads, objects at the end of the list are changed, created and deleted.
    let mut other = Http2::connect(&server).await;
    for n in (N - 20)..N {
        let path = format!("{CONFIG_MAPS}/c{n:04}");
        let gone = n % 2 == 0;
        let code = match gone {
            true => other.code("DELETE", &path, String::new()).await,
            false => {
                let new = json!({"metadata": {"name": format!("c{n:04}")}, "data": {"k": "new"}});
                other.code("PUT", &path, new.to_string()).await
            }
        };
        assert_eq!(code, 200);
    }
    let new = json!({"metadata": {"name": "z-new"}});
    assert_eq!(other.code("POST", CONFIG_MAPS, new.to_string()).await, 201);
    let lines = lines(watch, |lines| lines.last().is_some_and(|line| name(line) == "z-new")).await;
    let end = lines.iter().position(|line| line["type"] == "BOOKMARK").expect("a bookmark");
    let config_maps = |line: &&Value| name(line) != "kube-root-ca.crt";
    let start: Vec<&Value> = lines[..end].iter().filter(config_maps).collect();
    assert_eq!(start.len(), N);
    for (n, line) in start.iter().enumerate() {
        assert_eq!((line["type"].as_str(), name(line)), (Some("ADDED"), &*format!("c{n:04}")));
        assert_ne!(line["object"]["data"]["k"], "new", "a later version in the start: {n}");
    }
    let after: Vec<(&str, &str)> = lines[end + 1..]
        .iter()
        .map(|line| (line["type"].as_str().unwrap_or_default(), name(line)))
        .collect();
    assert_eq!(after.len(), 21, "{after:?}");
    assert_eq!(after.iter().filter(|(what, _)| *what == "DELETED").count(), 10);
    assert_eq!(after.iter().filter(|(what, _)| *what == "MODIFIED").count(), 10);
    assert_eq!(after.last(), Some(&("ADDED", "z-new")));
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

async fn create(server: &Server, n: usize, object: impl Fn(usize) -> Value) {
    let mut client = Http2::connect(server).await;
    let requests = (0..n).map(|n| client.code("POST", CONFIG_MAPS, object(n).to_string()));
    let mut answers = stream::iter(requests).buffer_unordered(200);
    while let Some(code) = answers.next().await {
        assert_eq!(code, 201);
    }
}

/// The events of a watch, until there are enough.
async fn lines(answer: Response<Incoming>, enough: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let mut body = answer.into_body();
    let (mut lines, mut rest) = (Vec::new(), Vec::new());
    while !enough(&lines) {
        let frame = timeout(PATIENCE, body.frame()).await.expect("events come in time");
        let frame = frame.expect("the watch goes on").unwrap();
        rest.extend_from_slice(frame.data_ref().unwrap());
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            lines.push(serde_json::from_slice(&line).unwrap());
        }
    }
    lines
}

fn name(line: &Value) -> &str {
    line["object"]["metadata"]["name"].as_str().unwrap_or_default()
}
