//! Clients that reset their streams or disconnect in the middle of a write. Whatever they do,
//! stored Services hold their addresses, deleted ones have released them, and nothing is half done.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, time::timeout};

use super::{
    h2::Http2,
    raw::{PATIENCE, ask, connect},
};
use crate::process::{Server, folder};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Few enough that freed ones are soon allocated again.
const RANGE: &[&str] =
    &["--service-cluster-ip-range", "10.9.0.0/23", "--service-node-port-range", "30000-30600"];

#[tokio::test]
async fn reset_creates_of_services_keep_their_addresses() {
    let data = folder("resets-create");
    let server = start(&data);
    reset(&server, 200, |i| ("POST", SERVICES.to_owned(), service(&format!("s-{i}"), "NodePort")))
        .await;
    quiet(&server).await;
    let mut client = Http2::connect(&server).await;
    let before = nothing_is_given_out_twice(&mut client).await;
    assert!(!before.is_empty(), "some are stored before their client is gone");
    drop(client);
    server.stop();
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    assert_eq!(nothing_is_given_out_twice(&mut client).await, before);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn creates_by_clients_that_hang_up_keep_their_addresses() {
    let data = folder("resets-http1");
    let server = start(&data);
    let one = async |i: usize| {
        let mut stream = connect(&server, &["http/1.1"]).await;
        let body = service(&format!("s-{i}"), "NodePort");
        let head = format!(
            "POST {SERVICES} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::time::sleep(moment(i) / 4).await;
    };
    for round in 0..5 {
        join_all((0..20).map(|i| one(round * 20 + i))).await;
    }
    quiet(&server).await;
    let mut client = Http2::connect(&server).await;
    let stored = nothing_is_given_out_twice(&mut client).await;
    assert!(!stored.is_empty(), "some are stored before their client is gone");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn reset_updates_of_services_hold_what_the_stored_version_has() {
    let data = folder("resets-update");
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    create_services(&mut client, 60).await;
    for kind in ["ClusterIP", "NodePort", "ExternalName", "NodePort"] {
        let put = |i| ("PUT", format!("{SERVICES}/s-{i}"), service(&format!("s-{i}"), kind));
        reset(&server, 60, put).await;
    }
    quiet(&server).await;
    nothing_is_given_out_twice(&mut client).await;
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn reset_deletes_of_services_give_their_addresses_back() {
    let data = folder("resets-delete");
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    create_services(&mut client, 150).await;
    let before = held(&services(&mut client).await);
    reset(&server, 150, |i| ("DELETE", format!("{SERVICES}/s-{i}"), Vec::new())).await;
    let all = |_| ("DELETE", format!("{SERVICES}?labelSelector=app"), Vec::new());
    reset(&server, 2, all).await;
    quiet(&server).await;
    let left = nothing_is_given_out_twice(&mut client).await;
    let free: Vec<_> = before.difference(&left).cloned().collect();
    assert!(!free.is_empty(), "some are gone before their client is");
    // A request for a port gets any address with it: requests for addresses come first.
    let (ports, ips): (Vec<&String>, Vec<&String>) =
        free.iter().partition(|one| one.parse::<u16>().is_ok());
    for wanted in [ips, ports] {
        let again = wanted
            .iter()
            .map(|one| client.request("POST", SERVICES, asking_for(&format!("again-{one}"), one)));
        let again: Vec<_> = again.collect();
        for (one, answer) in wanted.iter().zip(join_all(again).await) {
            let answer = answer.unwrap();
            let code = answer.status();
            assert_eq!(code, 201, "{one} has leaked: {:?}", answer.into_body().collect().await);
        }
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn reset_deletes_at_once_leave_no_pod_marked() {
    let data = folder("resets-pods");
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    let pod = |i| {
        let spec = json!({"nodeName": "n", "containers": [{"name": "c", "image": "i"}]});
        json!({"metadata": {"name": format!("p-{i}")}, "spec": spec}).to_string()
    };
    let created = (0..100).map(|i| client.code("POST", PODS, pod(i)));
    for code in join_all(created).await {
        assert_eq!(code, 201);
    }
    reset(&server, 100, |i| ("DELETE", format!("{PODS}/p-{i}?gracePeriodSeconds=0"), Vec::new()))
        .await;
    quiet(&server).await;
    let pods = list(&mut client, PODS).await;
    let marked = |pod: &&Value| !pod["metadata"]["deletionTimestamp"].is_null();
    assert_eq!(pods.iter().filter(marked).count(), 0, "{} are left", pods.len());
    assert!(pods.len() < 100, "some are gone before their client is");
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn a_stop_in_the_middle_of_reset_writes_leaves_nothing_half_done() {
    let data = folder("resets-stop");
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    create_services(&mut client, 60).await;
    reset(&server, 120, |i| match i {
        0..60 => ("DELETE", format!("{SERVICES}/s-{i}"), Vec::new()),
        _ => ("POST", SERVICES.to_owned(), service(&format!("s-{i}"), "NodePort")),
    })
    .await;
    drop(client);
    server.stop();
    let server = start(&data);
    let mut client = Http2::connect(&server).await;
    nothing_is_given_out_twice(&mut client).await;
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

fn start(data: &Path) -> Server {
    Server::start_with(data, RANGE)
}

/// Sends requests and resets each at a different moment. A connection with too many unprocessed
/// resets would be closed, so each has only a few.
async fn reset(
    server: &Server,
    n: usize,
    request: impl Fn(usize) -> (&'static str, String, Vec<u8>),
) {
    const STREAMS: usize = 15;
    let connections = n.div_ceil(STREAMS);
    let mut clients = join_all((0..connections).map(|_| Http2::connect(server))).await;
    let asked = (0..n).map(|i| {
        let (method, path, body) = request(i);
        timeout(moment(i), clients[i % connections].request(method, &path, body))
    });
    let asked: Vec<_> = asked.collect();
    join_all(asked).await;
}

/// From immediately to some time after the server's response, each slightly different.
fn moment(i: usize) -> Duration {
    let scattered = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    Duration::from_micros(scattered)
}

fn service(name: &str, of_type: &str) -> Vec<u8> {
    let mut spec = json!({"type": of_type, "ports": [{"port": 80}], "selector": {"a": "b"}});
    if of_type == "ExternalName" {
        spec["externalName"] = "example.com".into();
    }
    let metadata = json!({"name": name, "labels": {"app": "a"}});
    json!({"metadata": metadata, "spec": spec}).to_string().into_bytes()
}

/// `one` is an address or a node port.
fn asking_for(name: &str, one: &str) -> Vec<u8> {
    let spec = match one.parse::<u16>() {
        Ok(port) => json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}),
        Err(_) => json!({"clusterIP": one, "ports": [{"port": 80}]}),
    };
    let name = name.replace('.', "-");
    json!({"metadata": {"name": name}, "spec": spec}).to_string().into_bytes()
}

async fn create_services(client: &mut Http2, n: usize) {
    let created =
        (0..n).map(|i| client.code("POST", SERVICES, service(&format!("s-{i}"), "NodePort")));
    for code in join_all(created).await {
        assert_eq!(code, 201);
    }
}

/// Returns when no write is in progress.
async fn quiet(server: &Server) {
    let began = Instant::now();
    let is_quiet =
        |line: &str| line == r#"apiserver_current_inflight_requests{request_kind="mutating"} 0"#;
    let mut n_quiet = 0;
    // A reset stream may still arrive when its neighbours are done.
    while n_quiet < 3 {
        let metrics = ask(server, "GET /metrics HTTP/1.1", b"").await;
        let text = String::from_utf8(metrics.body).unwrap();
        n_quiet = if text.lines().any(is_quiet) { n_quiet + 1 } else { 0 };
        assert!(began.elapsed() < PATIENCE, "writes are still under way");
    }
}

async fn list(client: &mut Http2, path: &str) -> Vec<Value> {
    let answer = client.get(path).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let list: Value = serde_json::from_slice(&body).unwrap();
    list["items"].as_array().unwrap().clone()
}

async fn services(client: &mut Http2) -> Vec<Value> {
    list(client, SERVICES).await
}

/// Addresses and node ports of one Service.
fn held_by(service: &Value) -> Vec<String> {
    let ips = service["spec"]["clusterIPs"].as_array().into_iter().flatten();
    let ips = ips.map(|ip| ip.as_str().unwrap().to_owned());
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let ports = ports.filter_map(|port| Some(port["nodePort"].as_u64()?.to_string()));
    ips.chain(ports).collect()
}

fn held(services: &[Value]) -> BTreeSet<String> {
    services.iter().flat_map(held_by).collect()
}

/// No two Services have the same value, and no other gets it. Returns everything held.
async fn nothing_is_given_out_twice(client: &mut Http2) -> BTreeSet<String> {
    let services = services(client).await;
    let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for service in &services {
        for one in held_by(service) {
            owners.entry(one).or_default().push(service["metadata"]["name"].as_str().unwrap());
        }
    }
    let twice: Vec<_> = owners.iter().filter(|(_, owners)| owners.len() > 1).collect();
    assert!(twice.is_empty(), "given out twice: {twice:?}");
    let others = owners
        .keys()
        .enumerate()
        .map(|(i, one)| client.request("POST", SERVICES, asking_for(&format!("other-{i}"), one)));
    let others: Vec<_> = others.collect();
    let answers = join_all(others).await.into_iter().map(|answer| answer.unwrap().status());
    let given: Vec<_> = owners.keys().zip(answers).filter(|(_, code)| *code != 422).collect();
    assert!(given.is_empty(), "{} of {} are held by nobody: {given:?}", given.len(), owners.len());
    owners.into_keys().collect()
}
