use std::{env, fs, path::PathBuf, sync::Arc};

use evenkeel_k8s::{
    Objects,
    live::{ClusterSource, LiveError, Scope, client, objects},
    snapshot::build,
};
use evenkeel_model::ServiceKey;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// An API server that answers each path and query with a status and a body.
pub(crate) type Answers = fn(&str) -> (u16, Value);

pub(crate) async fn serve(answers: Answers) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, answers));
        }
    });
    format!("http://{address}")
}

async fn answer(stream: TcpStream, answers: Answers) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    while stream.read_line(&mut request).await.is_ok_and(|read| read > 2) {}
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = answers(path);
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all((head + &body).as_bytes()).await;
}

/// A kubeconfig file that is gone with the value.
pub(crate) struct File(pub(crate) PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn file(name: &str, text: &str) -> File {
    let name = format!("evenkeel-k8s-{}-{name}", std::process::id());
    let path = env::temp_dir().join(name);
    fs::write(&path, text).unwrap();
    File(path)
}

pub(crate) fn kubeconfig(name: &str, server: &str) -> File {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         clusters: [{{name: c, cluster: {{server: \"{server}\"}}}}]\n\
         contexts: [{{name: here, context: {{cluster: c}}}}, \
         {{name: there, context: {{cluster: c}}}}]\n"
    );
    file(name, &text)
}

fn list(items: &Value, token: &str) -> (u16, Value) {
    (200, json!({"metadata": {"continue": token}, "items": items}))
}

fn failure(code: u16, message: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": message, "reason": "X", "code": code});
    (code, status)
}

fn slice(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4", "endpoints": []})
}

fn cluster(path: &str) -> (u16, Value) {
    let service = json!({"metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web", "tier": "front"}}});
    let pod = json!({"metadata": {"name": "web-0", "namespace": "shop",
        "labels": {"app": "web", "tier": "front"},
        "managedFields": [{"manager": "kubelet"}]}});
    let event = json!({"metadata": {"name": "e", "namespace": "shop"}, "reason": "R",
        "involvedObject": {"kind": "Service", "namespace": "shop", "name": "web"}});
    match path {
        "/version" => failure(403, "nobody may ask"),
        "/api/v1/nodes?&limit=500" => list(&json!([{"metadata": {"name": "n1"}}]), "more"),
        "/api/v1/nodes?&limit=500&continue=more" => {
            list(&json!([{"metadata": {"name": "n2"}}]), "")
        }
        "/api/v1/namespaces/shop/services/web" => (200, service),
        "/api/v1/services?&limit=500" | "/api/v1/namespaces/shop/services?&limit=500" => {
            list(&json!([service]), "")
        }
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?\
         &labelSelector=kubernetes.io%2Fservice-name%3Dweb&limit=500"
        | "/apis/discovery.k8s.io/v1/endpointslices?&limit=500" => {
            list(&json!([slice("web-1")]), "old")
        }
        // The token has expired; asked once more without one, all come at once.
        path if path.contains("continue=old") => failure(410, "too old"),
        "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?\
         &labelSelector=kubernetes.io%2Fservice-name%3Dweb"
        | "/apis/discovery.k8s.io/v1/endpointslices?" => {
            list(&json!([slice("web-1"), slice("web-2")]), "")
        }
        "/api/v1/namespaces/shop/pods?&labelSelector=app%3Dweb%2Ctier%3Dfront&limit=500"
        | "/api/v1/pods?&limit=500" => list(&json!([pod]), ""),
        "/api/v1/namespaces/shop/events?\
         &fieldSelector=involvedObject.kind%3DService%2CinvolvedObject.name%3Dweb&limit=500"
        | "/api/v1/events?&fieldSelector=involvedObject.kind%3DService&limit=500" => {
            list(&json!([event]), "")
        }
        path if path.contains("/horizontalpodautoscalers?") => list(&json!([]), ""),
        path => failure(404, &format!("not here: {path}")),
    }
}

fn web() -> Scope {
    Scope::Service(ServiceKey::new("shop", "web"))
}

async fn read(name: &str, answers: Answers, scope: Scope) -> Result<Objects, LiveError> {
    let config = kubeconfig(name, &serve(answers).await);
    let client = client(&ClusterSource::file(config.0.clone(), None)).await?;
    objects(client, scope, |_, _| {}).await
}

#[tokio::test]
async fn one_service_is_read_with_all_that_belongs_to_it() {
    let config = kubeconfig("one", &serve(cluster).await);
    let client =
        client(&ClusterSource::file(config.0.clone(), Some("there".to_owned()))).await.unwrap();
    let mut seen = Vec::new();
    let found = objects(client, web(), |kind, count| seen.push((kind.to_owned(), count))).await;
    let found = found.unwrap();
    assert_eq!(found.notes, []);
    let seen: Vec<(&str, usize)> = seen.iter().map(|(kind, count)| (&**kind, *count)).collect();
    let expected = [
        ("nodes", 1),
        ("nodes", 2),
        ("services", 1),
        ("endpointslices", 1),
        ("endpointslices", 2),
        ("pods", 1),
        ("events", 1),
        ("horizontalpodautoscalers", 0),
    ];
    assert_eq!(seen, expected);
    let snapshot = build(&found).unwrap();
    let web = &snapshot.services[0];
    assert_eq!((snapshot.nodes.len(), web.slices.len(), web.pods.len()), (2, 2, 1));
    assert_eq!(&*web.events[0].reason, "R");
}

#[tokio::test]
async fn all_namespaces_are_read_in_one_go() {
    let found = read("all", cluster, Scope::AllNamespaces).await.unwrap();
    assert_eq!(found.notes, []);
    assert_eq!(found.len(), 2 + 1 + 2 + 1 + 1);
    let service = found.services.iter().next().unwrap();
    assert_eq!(service.origin.to_string(), "the cluster");
}

#[tokio::test]
async fn pods_events_and_autoscalers_that_may_not_be_read_are_notes() {
    fn answers(path: &str) -> (u16, Value) {
        match path {
            path if path.contains("/pods") => failure(403, "pods is forbidden"),
            path if path.contains("/events") => failure(403, "events is forbidden"),
            path if path.contains("autoscalers") => (200, json!("what?")),
            path => cluster(path),
        }
    }
    let found = read("events", answers, web()).await.unwrap();
    let notes: Vec<&str> = found.notes.iter().map(|note| &*note.what).collect();
    assert_eq!(notes, ["pods", "events", "horizontalpodautoscalers"]);
    assert_eq!(found.notes[1].problem, "cannot list events: events is forbidden");
    assert_eq!(found.services.len(), 1);
}

#[tokio::test]
async fn forbidden_nodes_are_an_error_that_says_what_to_ask_for() {
    fn answers(_: &str) -> (u16, Value) {
        failure(403, "nodes is forbidden")
    }
    let error = read("nodes", answers, web()).await.err().unwrap();
    assert_eq!(error.to_string(), "cannot list nodes: nodes is forbidden");
    assert!(error.help().unwrap().contains("kubectl auth can-i list nodes"));
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_service_without_selector_has_no_pods_listed() {
    fn answers(path: &str) -> (u16, Value) {
        match path {
            "/api/v1/namespaces/shop/services/web" => {
                (200, json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": {}}))
            }
            path if path.contains("/pods") => failure(500, "nobody should ask"),
            path => cluster(path),
        }
    }
    assert_eq!(read("bare", answers, web()).await.unwrap().pods.len(), 0);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_named() {
    let scope = Scope::Service(ServiceKey::new("shop", "gone"));
    let error = read("gone", cluster, scope).await.err().unwrap();
    assert_eq!(error.to_string(), "there is no Service shop/gone");
    assert!(error.help().unwrap().contains("-n shop"));
}

#[tokio::test]
async fn a_missing_kubeconfig_is_named() {
    let error = client(&ClusterSource::file("no/such/file".into(), None)).await.err().unwrap();
    assert!(matches!(&error, LiveError::Unreadable { path, .. } if path.ends_with("file")));
    assert!(error.to_string().starts_with("cannot read the kubeconfig no/such/file: "));
    assert!(error.help().is_some());
}

#[tokio::test]
async fn an_unknown_context_is_answered_with_those_there_are() {
    let config = kubeconfig("context", "http://127.0.0.1:1");
    let error = client(&ClusterSource::file(config.0.clone(), Some("nowhere".to_owned())))
        .await
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "the kubeconfig has no context \"nowhere\"");
    assert_eq!(error.help().unwrap(), "choose one of these contexts: here, there");
}

#[tokio::test]
async fn a_kubeconfig_that_is_something_else_is_refused() {
    let config = file("else", "clusters:\n- token: secret-banana\n");
    let error = client(&ClusterSource::file(config.0.clone(), None)).await.err().unwrap();
    assert!(matches!(error, LiveError::NotYaml { line: Some(2), .. }), "{error}");
    assert!(!error.to_string().contains("banana"), "what is in it may be secret: {error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_by_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server: Arc<str> = format!("http://{}", listener.local_addr().unwrap()).into();
    drop(listener);
    let config = kubeconfig("unreachable", &server);
    let error = client(&ClusterSource::file(config.0.clone(), None)).await.err().unwrap();
    let expected = format!("cannot reach the API server at {server}: Connection refused");
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(error.is_retryable() && error.help().is_some());
}

#[tokio::test]
async fn a_kind_that_the_server_does_not_serve_is_no_news() {
    fn answers(path: &str) -> (u16, Value) {
        match path {
            path if path.contains("autoscalers") => failure(404, "page not found"),
            path => cluster(path),
        }
    }
    let found = read("no-autoscalers", answers, web()).await.unwrap();
    assert_eq!(found.notes, []);
}

#[tokio::test]
async fn where_a_selector_matches_nothing_the_labels_of_other_pods_are_read() {
    fn answers(path: &str) -> (u16, Value) {
        match path {
            path if path.contains("/pods?&labelSelector") => list(&json!([]), ""),
            "/api/v1/namespaces/shop/pods?&limit=500" => {
                let meta = json!({"name": "p", "namespace": "shop", "labels": {"app": "wep"}});
                list(&json!([{ "metadata": meta }]), "")
            }
            path => cluster(path),
        }
    }
    let snapshot = build(&read("nearest", answers, web()).await.unwrap()).unwrap();
    assert!(snapshot.services[0].pods.is_empty());
    assert!(snapshot.has_pods);
    assert!(snapshot.pod_labels["shop"]["app"].contains("wep"));
}
