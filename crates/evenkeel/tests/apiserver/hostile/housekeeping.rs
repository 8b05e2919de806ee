//! Heavy garbage collection does not delay unrelated objects.

use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::{h2::Http2, raw::PATIENCE};
use crate::process::{Server, folder};

const N: usize = 5_000;
const CONCURRENCY: usize = 100;
/// An object collected within this time was not delayed. On a busy machine it may take longer, but
/// not half as long as the others.
const AT_ONCE: Duration = Duration::from_millis(500);

async fn ask(client: &mut Http2, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let response = client.request(method, path, body).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn create(client: &mut Http2, namespace: &str, name: &str, owner: Option<&Value>) -> Value {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let (code, object) = ask(client, "POST", &path, &config_map(name, owner)).await;
    assert_eq!(code, 201, "{object}");
    object
}

fn config_map(name: &str, owner: Option<&Value>) -> Value {
    let owners = owner.map(|owner| {
        let metadata = &owner["metadata"];
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]}])
    });
    json!({"metadata": {"name": name, "ownerReferences": owners}, "data": {"key": "value"}})
}

/// Many objects in their own namespace, and the owner of all of them.
async fn bulk(client: &mut Http2) -> Value {
    let (code, _) =
        ask(client, "POST", "/api/v1/namespaces", &json!({"metadata": {"name": "bulk"}})).await;
    assert_eq!(code, 201);
    let owner = create(client, "bulk", "owner", None).await;
    let names: Vec<String> = (0..N).map(|i| format!("c{i}")).collect();
    for chunk in names.chunks(CONCURRENCY) {
        let requests: Vec<_> = chunk
            .iter()
            .map(|name| {
                let body = config_map(name, Some(&owner)).to_string();
                tokio::spawn(client.code("POST", "/api/v1/namespaces/bulk/configmaps", body))
            })
            .collect();
        for request in requests {
            assert_eq!(request.await.unwrap(), 201);
        }
    }
    owner
}

/// How long it takes until an object is deleted after its owner, while `path` and its dependents
/// are deleted too.
async fn delay(server: &Server, client: &mut Http2, path: &str) -> Duration {
    let owner = create(client, "default", "owner", None).await;
    create(client, "default", "owned", Some(&owner)).await;
    assert_eq!(ask(client, "DELETE", path, &Value::Null).await.0, 200);
    let at = "/api/v1/namespaces/default/configmaps";
    assert_eq!(ask(client, "DELETE", &format!("{at}/owner"), &Value::Null).await.0, 200);
    let begin = Instant::now();
    let mut other = Http2::connect(server).await;
    while ask(&mut other, "GET", &format!("{at}/owned"), &Value::Null).await.0 != 404 {
        assert!(begin.elapsed() < PATIENCE, "it is never collected");
    }
    begin.elapsed()
}

async fn left(client: &mut Http2) -> usize {
    let (_, list) =
        ask(client, "GET", "/api/v1/namespaces/bulk/configmaps?limit=1", &Value::Null).await;
    let rest = list["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
    list["items"].as_array().map_or(0, Vec::len) + usize::try_from(rest).unwrap()
}

fn check(took: Duration, left: usize) {
    assert!(took < AT_ONCE || left > N / 2, "{took:?}, {left} left");
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_dependents_do_not_delay_the_collection_of_an_unrelated_object() {
    let server = Server::start(&folder("hostile-dependents"));
    let mut client = Http2::connect(&server).await;
    bulk(&mut client).await;
    let took = delay(&server, &mut client, "/api/v1/namespaces/bulk/configmaps/owner").await;
    check(took, left(&mut client).await);
    let begin = Instant::now();
    // The CA certificate stays.
    while left(&mut client).await > 1 {
        assert!(begin.elapsed() < PATIENCE, "dependents are left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_namespace_that_ends_does_not_delay_the_collection_of_an_unrelated_object() {
    let server = Server::start(&folder("hostile-namespace"));
    let mut client = Http2::connect(&server).await;
    bulk(&mut client).await;
    let took = delay(&server, &mut client, "/api/v1/namespaces/bulk").await;
    check(took, left(&mut client).await);
    let begin = Instant::now();
    while ask(&mut client, "GET", "/api/v1/namespaces/bulk", &Value::Null).await.0 != 404 {
        assert!(begin.elapsed() < PATIENCE, "the namespace stays");
    }
}

/// As a client of an API server without a kubelet sees it.
#[tokio::test(flavor = "multi_thread")]
async fn a_terminating_namespace_deletes_its_pods_first_and_reports_the_rest() {
    let server = Server::start(&folder("hostile-ordered"));
    let mut client = Http2::connect(&server).await;
    let namespace = json!({"metadata": {"name": "bulk"}});
    assert_eq!(ask(&mut client, "POST", "/api/v1/namespaces", &namespace).await.0, 201);
    create(&mut client, "bulk", "kept", None).await;
    let at = "/api/v1/namespaces/bulk";
    let pod = json!({
        "metadata": {"name": "p", "finalizers": ["example.com/held"]},
        "spec": {"containers": [{"name": "c", "image": "c:1"}]},
    });
    assert_eq!(ask(&mut client, "POST", &format!("{at}/pods"), &pod).await.0, 201);
    assert_eq!(ask(&mut client, "DELETE", at, &Value::Null).await.0, 200);
    let begin = Instant::now();
    let message = |namespace: &Value, kind: &str| {
        let conditions = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.into_iter().find(|one| one["type"] == kind).unwrap_or_default();
        format!("{}: {}", found["status"], found["message"])
    };
    let remaining = loop {
        let (_, namespace) = ask(&mut client, "GET", at, &Value::Null).await;
        if namespace["status"]["conditions"].is_array() {
            break namespace;
        }
        assert!(begin.elapsed() < PATIENCE, "{namespace}");
    };
    assert_eq!(
        ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]
            .map(|kind| message(&remaining, kind)),
        [
            r#""True": "Some resources are remaining: pods. has 1 resource instances""#,
            r#""True": "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances""#,
        ]
    );
    let (_, kept) = ask(&mut client, "GET", &format!("{at}/configmaps/kept"), &Value::Null).await;
    assert!(kept["metadata"]["deletionTimestamp"].is_null() && kept["data"].is_object(), "{kept}");
    let (_, mut pod) = ask(&mut client, "GET", &format!("{at}/pods/p"), &Value::Null).await;
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    pod["metadata"]["finalizers"] = json!([]);
    assert_eq!(ask(&mut client, "PUT", &format!("{at}/pods/p"), &pod).await.0, 200);
    while ask(&mut client, "GET", at, &Value::Null).await.0 != 404 {
        assert!(begin.elapsed() < PATIENCE, "the namespace stays");
    }
}
