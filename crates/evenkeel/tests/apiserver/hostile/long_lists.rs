//! Objects with lists as long as a body allows, and selectors as long as a header does. Each once
//! took seconds: comparing every element with all previous ones is quadratic.

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    h2::Http2,
    raw::{ask, send},
};
use crate::process::{Server, folder};

const JSON: &str = "application/json";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Quadratic work took longer than this; linear work takes far less.
const SHORT: Duration = Duration::from_secs(10);

/// Go's client accepts a megabyte of headers in total; proxies accept less.
const HEADERS: usize = 32 * 1024;

fn pod(name: &str, containers: usize) -> Value {
    let container =
        |i: usize| json!({"name": format!("c{i}"), "image": "i", "ports": [{"containerPort": 80}]});
    let containers: Vec<Value> = (0..containers).map(container).collect();
    json!({"metadata": {"name": name}, "spec": {"containers": containers}})
}

async fn in_short<T>(what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let done = work.await;
    let took = began.elapsed();
    assert!(took < SHORT, "{what} took {took:?}");
    done
}

#[tokio::test]
async fn a_pod_of_2000_containers_on_one_port_gets_a_few_warnings() {
    let data = folder("many-containers");
    let server = Server::start(&data);
    // Memory set up by the first write is not growth.
    assert_eq!(
        send(&server, &format!("POST {PODS}"), JSON, pod("first", 2).to_string()).await.code,
        201
    );
    let before = server.memory();
    let body = pod("http1", 2000).to_string();
    let answer = in_short("HTTP/1", send(&server, &format!("POST {PODS}"), JSON, body)).await;
    assert_eq!(answer.code, 201);
    let head = answer.head.to_lowercase();
    let warnings = head.lines().filter(|line| line.starts_with("warning: 299 - ")).count();
    assert!(warnings > 10 && head.len() < HEADERS, "{warnings} in {} bytes", head.len());
    let mut client = Http2::connect(&server).await;
    let body = pod("http2", 2000).to_string();
    let answer = in_short("HTTP/2", client.request("POST", PODS, body)).await.unwrap();
    assert_eq!(answer.status(), 201);
    let size: usize =
        answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    assert!(answer.headers().get_all("warning").iter().count() == warnings && size < HEADERS);
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 50 << 10, "grown by {grown} kB");
    server.kill();
    fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn long_lists_are_answered_in_short_time() {
    let data = folder("long-lists");
    let server = Server::start(&data);
    let maps = "/api/v1/namespaces/default/configmaps";
    let owner = |i: usize, controller: bool| json!({"apiVersion": "v1", "kind": "Pod", "name": format!("p{i}"), "uid": format!("u{i}"), "controller": controller});
    let owned = |name: &str, owners: Vec<Value>| json!({"metadata": {"name": name, "ownerReferences": owners}});
    let taint = |i: usize| json!({"key": format!("k{i}"), "effect": "NoSchedule"});
    let taints: Vec<Value> = (0..8000).map(taint).collect();
    let mut mounted = pod("mounts", 1);
    let volume = |i: usize| json!({"name": format!("v{i}"), "emptyDir": {}});
    let mount = |i: usize| json!({"name": format!("v{i}"), "mountPath": format!("/m{i}")});
    mounted["spec"]["volumes"] = (0..4000).map(volume).collect();
    mounted["spec"]["containers"][0]["volumeMounts"] = (0..4000).map(mount).collect();
    for (path, object, code) in [
        (maps, owned("owners", (0..8000).map(|i| owner(i, false)).collect()), 201),
        // Each of these is an error that shows them all.
        (maps, owned("controllers", (0..4000).map(|i| owner(i, true)).collect()), 422),
        ("/api/v1/nodes", json!({"metadata": {"name": "n"}, "spec": {"taints": taints}}), 201),
        (PODS, mounted, 201),
    ] {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let line = format!("POST {path}");
        let answer = in_short(&name, send(&server, &line, JSON, object.to_string())).await;
        assert_eq!(answer.code, code, "{name}: {}", String::from_utf8_lossy(&answer.body[..300]));
        assert!(answer.body.len() < 8 << 20, "{name}: {} bytes", answer.body.len());
    }
    server.kill();
    fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn selectors_as_long_as_a_header_are_answered_in_short_time() {
    let data = folder("long-selectors");
    let server = Server::start(&data);
    let many: Vec<String> = (0..5000).map(|i| format!("v{i}")).collect();
    for (selector, codes) in [
        ("(".repeat(60_000), &[400][..]),
        ("!".repeat(60_000), &[400]),
        ("=".repeat(60_000), &[400]),
        (format!("a%20in%20({})", many.join(",")), &[200]),
        // More than the header limit.
        ("(".repeat(100_000), &[400, 414, 431]),
    ] {
        let head = format!("GET {PODS}?labelSelector={selector} HTTP/1.1");
        let answer = in_short(&selector[..20], ask(&server, &head, b"")).await;
        assert!(codes.contains(&answer.code), "{}: {}", &selector[..20], answer.code);
    }
    server.kill();
    fs::remove_dir_all(&data).unwrap();
}
