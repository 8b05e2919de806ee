use std::{
    future::poll_fn,
    path::{Path, PathBuf},
    task::Poll,
};

use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::{
    document,
    pools::Holdings,
    server::{in_process::settings, testing::Server},
    settings::{IpRange, Settings},
    storage::Next,
};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// So few addresses and ports that freed ones are soon allocated again.
fn small() -> Settings {
    let service_ranges = vec![IpRange { first: [10, 9, 0, 0].into(), prefix: 24 }];
    Settings { service_ranges, node_ports: (30000, 30100), ..settings() }
}

fn service(name: &str, spec: &Value) -> Value {
    let mut service = json!({"metadata": {"name": name}, "spec": spec});
    service["spec"]["selector"] = json!({"a": "b"});
    if service["spec"]["ports"].is_null() {
        service["spec"]["ports"] = json!([{"port": 80}]);
    }
    service
}

/// Stores what a server without the repair loop could have: a Service with the same addresses as
/// another.
async fn copy(server: &Server, of: &Value, name: &str) {
    let mut copy = of.clone();
    copy["metadata"]["name"] = name.into();
    copy["metadata"]["uid"] = format!("uid-{name}").into();
    let new = Next::Version(document::stored(&SERVICE, &copy));
    let key = format!("default/{name}");
    server.api.storage.write(&SERVICE, &key, None, new, None).await.unwrap().unwrap();
}

async fn can_have(server: &Server, ip: &Value) -> bool {
    let spec = json!({"clusterIP": ip});
    let (code, answer) = server.ask(Method::POST, SERVICES, &service("asks", &spec)).await;
    assert!(matches!(code, 201 | 422), "{answer}");
    code == 201
}

fn counted(server: &Server, line: &str) -> bool {
    server.api.metrics.text().lines().any(|counted| counted == line)
}

fn folder(test: &str) -> PathBuf {
    let name = format!("evenkeel-repair-{test}-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[tokio::test]
async fn duplicates_are_reported_on_the_service_and_held_until_both_are_gone() {
    let data = folder("duplicates");
    let server = Server::start(Some(&data), small()).await;
    let spec = json!({"type": "NodePort"});
    let (_, first) = server.ask(Method::POST, SERVICES, &service("first", &spec)).await;
    copy(&server, &first, "second").await;
    server.stop().await;
    both_are_reported(&data, &first).await;
    std::fs::remove_dir_all(&data).unwrap();
}

async fn both_are_reported(data: &Path, first: &Value) {
    let server = Server::start(Some(data), small()).await;
    let mut memory = Memory::default();
    for n in 1..4u64 {
        memory = pass(&server.api, memory).await;
        let events = server.items(EVENTS).await;
        let told: Vec<_> = events
            .iter()
            .map(|event| (event["reason"].as_str().unwrap(), &event["involvedObject"]["name"]))
            .collect();
        assert_eq!(
            told.len(),
            2,
            "one Event for each problem, however often it is found: {told:?}"
        );
        assert!(told.contains(&("ClusterIPAlreadyAllocated", &json!("second"))), "{told:?}");
        assert!(told.contains(&("PortAlreadyAllocated", &json!("second"))), "{told:?}");
        let count = |event: &Value| event["series"]["count"].as_u64().unwrap_or(1);
        assert!(events.iter().all(|event| count(event) == n), "{events:?}");
        for name in ["clusterip_repair_ip", "nodeport_repair_port"] {
            let line = format!(r#"apiserver_{name}_errors_total{{type="duplicate"}} {n}"#);
            assert!(counted(&server, &line), "{line}");
        }
    }
    let ip = &first["spec"]["clusterIP"];
    let (_, second) = server.ask(Method::GET, &format!("{SERVICES}/second"), &Value::Null).await;
    assert_eq!(&second["spec"]["clusterIP"], ip, "never changed");
    for name in ["first", "second"] {
        assert!(!can_have(&server, ip).await, "before {name} is gone");
        server.ask(Method::DELETE, &format!("{SERVICES}/{name}"), &Value::Null).await;
    }
    assert!(can_have(&server, ip).await);
    server.stop().await;
}

#[tokio::test]
async fn a_leak_is_freed_after_three_passes() {
    let server = Server::start(None, small()).await;
    let ip = json!("10.9.0.77");
    let leaked = service("gone", &json!({"clusterIPs": [ip], "type": "NodePort"}));
    server.api.pools.restore(&Holdings::of(&leaked));
    let mut memory = Memory::default();
    for _ in 0..3 {
        assert!(!can_have(&server, &ip).await);
        memory = pass(&server.api, memory).await;
    }
    assert!(can_have(&server, &ip).await);
    assert!(counted(&server, r#"apiserver_clusterip_repair_ip_errors_total{type="leak"} 1"#));
    assert!(server.items(EVENTS).await.is_empty());
    server.stop().await;
}

/// Polls the future at most this often, when it is woken, and then drops it. If it sends one write
/// (`is_one`), nothing commits during the first poll. With several, a second lock of this thread
/// would wait for a writer that waits for the first.
async fn polled<T>(
    server: &Server,
    n_polls: usize,
    is_one: bool,
    future: impl Future<Output = T>,
) -> Option<T> {
    let (mut future, mut left) = (Some(Box::pin(future)), n_polls);
    poll_fn(|context| {
        let _held = (is_one && left == n_polls).then(|| server.api.storage.state());
        left -= 1;
        match future.as_mut().map(|future| future.as_mut().poll(context)) {
            Some(Poll::Ready(answer)) => Poll::Ready(Some(answer)),
            Some(Poll::Pending) if left > 0 => Poll::Pending,
            _ => {
                future = None;
                Poll::Ready(None)
            }
        }
    })
    .await
}

/// The life cycles of a Service, of one with a finalizer, and of a Pod.
fn steps(n: usize) -> Vec<(Method, String, Value)> {
    let (name, held) = (format!("s-{n}"), format!("f-{n}"));
    let (path, held_path) = (format!("{SERVICES}/{name}"), format!("{SERVICES}/{held}"));
    let put = |spec: Value| (Method::PUT, path.clone(), service(&name, &spec));
    let mut finalized = service(&held, &json!({"type": "NodePort"}));
    finalized["metadata"]["finalizers"] = json!(["example.com/wait"]);
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": {"name": format!("p-{n}")},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    let local = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"});
    vec![
        (Method::POST, SERVICES.to_owned(), service(&name, &json!({"type": "NodePort"}))),
        put(local),
        put(json!({"type": "ClusterIP"})),
        put(json!({"type": "ExternalName", "externalName": "example.com"})),
        put(json!({"type": "NodePort"})),
        (Method::DELETE, path.clone(), Value::Null),
        (Method::POST, SERVICES.to_owned(), finalized),
        (Method::DELETE, held_path.clone(), Value::Null),
        (Method::PUT, held_path, service(&held, &json!({"type": "NodePort"}))),
        (Method::POST, SERVICES.to_owned(), service(&name, &json!({"type": "NodePort"}))),
        (Method::POST, SERVICES.to_owned(), service(&format!("t-{n}"), &json!({}))),
        (Method::DELETE, format!("{SERVICES}?labelSelector=%21component"), Value::Null),
        (Method::POST, pods.to_owned(), pod),
        (Method::DELETE, format!("{pods}/p-{n}?gracePeriodSeconds=0"), Value::Null),
    ]
}

#[tokio::test]
async fn requests_dropped_at_any_await_leave_nothing_to_repair() {
    let server = Server::start(None, small()).await;
    let (mut n, mut n_polls) = (0, 0);
    loop {
        n_polls += 1;
        let mut is_done = true;
        for dropped in 0..steps(n).len() {
            n += 1;
            for (i, (method, path, body)) in steps(n).into_iter().enumerate() {
                let asked = server.ask(method, &path, &body);
                match i == dropped {
                    true => {
                        let is_one = !path.contains("labelSelector");
                        is_done &= polled(&server, n_polls, is_one, asked).await.is_some();
                    }
                    false => drop(asked.await),
                }
                // Writes are decided in order: when this one is, so are all earlier ones.
                let marker = json!({"metadata": {"generateName": "marker-"}});
                let path = "/api/v1/namespaces/default/configmaps";
                assert_eq!(server.ask(Method::POST, path, &marker).await.0, 201);
                is_consistent(&server, &format!("step {i} of {dropped} after {n_polls} polls"))
                    .await;
            }
        }
        if is_done {
            break;
        }
        assert!(n_polls < 200, "a request ends");
    }
    assert!(n_polls > 1, "a request waits for its write");
    server.stop().await;
}

async fn is_consistent(server: &Server, when: &str) {
    let (_, examined) = look(&server.api, &Leaks::new());
    let Examined { findings, corrections, suspects, .. } = examined;
    assert!(findings.is_empty(), "{when}: {findings:?}");
    assert!(corrections.is_empty(), "{when}: {corrections:?}");
    assert!(suspects.is_empty(), "{when}: {suspects:?}");
    assert_eq!(server.api.pools.n_pending(), 0, "{when}");
    let pods = server.items("/api/v1/namespaces/default/pods").await;
    let marked = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
    assert!(!pods.iter().any(marked), "{when}: {pods:?}");
}
