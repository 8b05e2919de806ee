//! Deeply nested JSON in fields that accept anything.

mod planted;
mod protobuf;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use serde_json::{Value, json};

use super::{
    h2::Http2,
    raw::{Answer, PATIENCE, ask, send},
};
use crate::process::{Server, folder};

const COLLECTION: &str = "/apis/apps/v1/namespaces/default/deployments";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Levels around the field of a Deployment that takes any JSON: the object itself, `spec`,
/// `template`, `metadata`, `managedFields` and its entry.
const AROUND: usize = 6;
/// The maximum depth, including those.
const MOST: usize = 100;

/// Nested objects.
fn nested(levels: usize, leaf: &str) -> String {
    format!("{}{leaf}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

/// A Deployment without Pods with this in its template.
fn deployment(name: &str, anything: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"replicas":0,
        "selector":{{"matchLabels":{{"app":"a"}}}},"template":{}}}}}"#,
        template(anything)
    )
}

fn template(anything: &str) -> String {
    format!(
        r#"{{"metadata":{{"labels":{{"app":"a"}},"managedFields":[{{"manager":"m","operation":
        "Update","fieldsType":"FieldsV1","fieldsV1":{anything}}}]}},"spec":{{"containers":
        [{{"name":"c","image":"i"}}]}}}}"#
    )
}

/// The same request over either protocol.
enum Client<'a> {
    Http1(&'a Server),
    Http2(Http2),
}

impl Client<'_> {
    async fn both(server: &Server) -> [Client<'_>; 2] {
        [Client::Http1(server), Client::Http2(Http2::connect(server).await)]
    }

    async fn send(&mut self, line: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
        let http2 = match self {
            Client::Http1(server) => return send(server, line, content_type, body.into()).await,
            Client::Http2(http2) => http2,
        };
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request::builder()
            .method(method)
            .uri(format!("https://localhost{path}"))
            .header("content-type", content_type)
            .body(Full::new(body.into().into()))
            .unwrap();
        let answer = async {
            let answer = http2.send.send_request(request).await.unwrap();
            let code = answer.status().as_u16();
            Answer {
                code,
                head: String::new(),
                body: answer.into_body().collect().await.unwrap().to_bytes().to_vec(),
            }
        };
        tokio::time::timeout(PATIENCE, answer).await.expect("the server answers in time")
    }
}

async fn get(server: &Server, path: &str, accept: &str) -> Answer {
    ask(server, &format!("GET {path} HTTP/1.1\r\nAccept: {accept}"), b"").await
}

fn is_refused(answer: &Answer, what: &str) {
    let status = answer.json();
    let message = status["message"].as_str().unwrap_or_default();
    assert_eq!(answer.reason(), (400, "BadRequest".to_owned()), "{what}: {message}");
    let advice = "nested more than 100 levels deep; reduce the nesting";
    assert!(message.contains(advice) && message.len() < 600, "{what}: {message}");
}

/// How long patches of such a deep object take: most leave the deep part unchanged, so that all of
/// it is compared.
async fn patched_in(server: &Server, levels: usize) -> Duration {
    let name = format!("deep-{levels}");
    let body = deployment(&name, &nested(levels, "1"));
    assert_eq!(send(server, &format!("POST {COLLECTION}"), JSON, body).await.code, 201);
    let label = |n: u8| format!(r#"{{"metadata":{{"labels":{{"k":"{n}"}}}}}}"#);
    let same = format!(r#"{{"spec":{{"template":{}}}}}"#, template(&nested(levels, "1")));
    let other = same.replace(r#"{"a":1}"#, r#"{"a":2}"#);
    let began = Instant::now();
    for (form, patch, generation) in
        [(MERGE, label(1), 1), (STRATEGIC, label(2), 1), (MERGE, same, 1), (MERGE, other, 2)]
    {
        let answer = send(server, &format!("PATCH {COLLECTION}/{name}"), form, patch).await;
        assert_eq!(answer.code, 200, "{}", String::from_utf8_lossy(&answer.body));
        assert_eq!(answer.json()["metadata"]["generation"], generation);
    }
    began.elapsed()
}

#[tokio::test]
async fn the_depth_of_an_object_does_not_multiply_the_time_of_a_patch() {
    let data = folder("nesting-time");
    let server = Server::start(&data);
    patched_in(&server, 10).await;
    let shallow = patched_in(&server, 14).await.max(Duration::from_millis(100));
    for levels in [20, 60, MOST - AROUND] {
        let mut http2 = Client::Http2(Http2::connect(&server).await);
        let ready = http2.send("GET /readyz", JSON, "");
        let (took, ready) = tokio::join!(patched_in(&server, levels), ready);
        assert_eq!(ready.code, 200);
        assert!(took < shallow * 20, "{took:?} at {levels} levels, {shallow:?} at 14");
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn what_nests_too_deep_is_refused_in_every_form() {
    let data = folder("nesting-refused");
    let server = Server::start(&data);
    let create = format!("POST {COLLECTION}");
    let (put, patch) = (format!("PUT {COLLECTION}/x"), format!("PATCH {COLLECTION}/x"));
    assert_eq!(send(&server, &create, JSON, deployment("x", "{}")).await.code, 201);
    for mut client in Client::both(&server).await {
        for levels in [MOST - AROUND + 1, 200, 300, 5_000] {
            let anything = nested(levels, "1");
            let deep = deployment("x", &anything);
            let value = format!(
                r#"[{{"op":"add","path":"/spec/template/metadata/managedFields","value":[{{"fieldsV1":{anything}}}]}}]"#
            );
            // JSON is also YAML; block style only has its indentation.
            let block: String =
                (0..levels + AROUND).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
            let block = format!("{block}{}b: 1\n", " ".repeat(levels + AROUND));
            for (line, form, body) in [
                (&create, JSON, deep.clone().into_bytes()),
                (&create, YAML, deep.clone().into_bytes()),
                (&create, YAML, block.into_bytes()),
                (&create, PROTOBUF, protobuf::deployment("y", &anything)),
                (&put, JSON, deep.clone().into_bytes()),
                (&put, YAML, deep.clone().into_bytes()),
                (&patch, MERGE, deep.clone().into_bytes()),
                (&patch, STRATEGIC, deep.clone().into_bytes()),
                (&patch, PATCH, value.into_bytes()),
            ] {
                // Indentation makes it too large before it is too deep.
                if body.len() > 3 << 20 {
                    continue;
                }
                let answer = client.send(line, form, body).await;
                is_refused(&answer, &format!("{line} {form} {levels}"));
            }
        }
        let fields = "/spec/template/metadata/managedFields/0/fieldsV1";
        let start = format!(r#"{{"op":"add","path":"{fields}","value":{{"a":{{}}}}}}"#);
        let deeper = format!(r#"{{"op":"copy","from":"{fields}/a","path":"{fields}/a/a"}}"#);
        let copies = format!("[{start},{}]", [deeper.as_str(); 150].join(","));
        is_refused(&client.send(&patch, PATCH, copies).await, "copies");
        // Beyond Go's own limit, in its wording.
        let unknown = format!(r#"{{"metadata":{{"name":"y"}},"x":{}"#, "[".repeat(11_000));
        let answer = client.send(&create, JSON, unknown).await;
        let words = "the object provided is unrecognized (must be of type Deployment): couldn't \
                     get version/kind; json parse error: exceeded max depth \
                     ({\"metadata\":{\"name\":\"y\"},\"x\":[ ...)";
        assert_eq!(answer.json()["message"], words);
        for body in ["[".repeat(3_000_000), r#"{"a":"#.repeat(500_000), "- ".repeat(1_000_000)] {
            for (line, form) in [(&create, JSON), (&create, YAML), (&patch, MERGE), (&patch, PATCH)]
            {
                let answer = client.send(line, form, body.clone()).await;
                assert_eq!(answer.reason(), (400, "BadRequest".to_owned()), "{line} {form}");
            }
        }
        assert_eq!(client.send("GET /readyz", JSON, "").await.code, 200);
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

#[tokio::test]
async fn what_is_just_deep_enough_is_read_again_by_every_path() {
    let data = folder("nesting-most");
    let mut server = Server::start(&data);
    let anything = nested(MOST - AROUND, "1");
    let create = format!("POST {COLLECTION}");
    let (put, patch) = (format!("PUT {COLLECTION}/x"), format!("PATCH {COLLECTION}/x"));
    for (name, form, body) in [
        ("x", JSON, deployment("x", &anything).into_bytes()),
        ("y", YAML, deployment("y", &anything).into_bytes()),
        ("z", PROTOBUF, protobuf::deployment("z", &anything)),
    ] {
        let answer = send(&server, &create, form, body).await;
        assert_eq!(answer.code, 201, "{name}: {}", String::from_utf8_lossy(&answer.body));
    }
    for _ in 0..2 {
        let read = get(&server, &format!("{COLLECTION}/x"), JSON).await;
        assert_eq!(read.code, 200);
        // This client's own parser must be able to read them, with everything around them.
        assert!(read.json().is_object());
        for path in [COLLECTION.to_owned(), format!("{COLLECTION}/y")] {
            for accept in [JSON, TABLE, "application/json;pretty=1"] {
                let read = get(&server, &format!("{path}?includeObject=Object"), accept).await;
                assert_eq!(read.code, 200);
                assert!(read.json().is_object(), "{path} {accept}");
            }
            assert_eq!(get(&server, &path, YAML).await.code, 200);
        }
        let watch = format!("{COLLECTION}?watch=1&includeObject=Object&timeoutSeconds=1");
        let events = get(&server, &watch, TABLE).await.body;
        let lines: Vec<&[u8]> =
            events.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| serde_json::from_slice::<Value>(line).is_ok()));
        assert_eq!(send(&server, &put, JSON, read.body).await.code, 200);
        for (form, body) in [
            (MERGE, r#"{"metadata":{"labels":{"k":"v"}}}"#),
            (STRATEGIC, r#"{"metadata":{"labels":{"k":null}}}"#),
            (PATCH, r#"[{"op":"add","path":"/metadata/labels","value":{"k":"v"}}]"#),
        ] {
            assert_eq!(send(&server, &patch, form, body).await.code, 200, "{form}");
        }
        server.stop();
        server = Server::start(&data);
    }
    for name in ["x", "y", "z"] {
        let answer = send(&server, &format!("DELETE {COLLECTION}/{name}"), JSON, "").await;
        assert_eq!(answer.code, 200);
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Waits until it is gone; garbage collection is asynchronous.
async fn gone(server: &Server, path: &str) {
    let began = Instant::now();
    while get(server, path, JSON).await.code != 404 {
        assert!(began.elapsed() < PATIENCE, "{path} is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Earlier versions stored up to 507 levels.
#[tokio::test]
async fn objects_that_were_stored_too_deep_are_served_changed_and_deleted() {
    let data = folder("nesting-stored");
    planted::deployments(&data, &["a/one", "a/two", "default/x", "default/y"], &nested(501, "1"));
    let server = Server::start(&data);
    for name in ["a", "b"] {
        let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
        assert_eq!(send(&server, "POST /api/v1/namespaces", JSON, body).await.code, 201);
    }
    let one = format!("{COLLECTION}/x");
    let read = get(&server, &one, JSON).await;
    assert_eq!(read.code, 200);
    assert!(String::from_utf8(read.body).unwrap().contains(&nested(501, "1")));
    for path in [COLLECTION, "/apis/apps/v1/deployments", &one] {
        for accept in [JSON, TABLE, "application/json;pretty=1", YAML] {
            assert_eq!(get(&server, path, accept).await.code, 200, "{path} {accept}");
        }
    }
    let watch = format!("{COLLECTION}?watch=1&timeoutSeconds=1");
    assert_eq!(get(&server, &watch, TABLE).await.body.iter().filter(|b| **b == b'\n').count(), 2);
    can_be_changed(&server, &one).await;
    let kept = r#"{"metadata":{"finalizers":["example.com/kept"]}}"#;
    let y = format!("{COLLECTION}/y");
    assert_eq!(send(&server, &format!("PATCH {y}"), MERGE, kept).await.code, 200);
    for path in [&one, &y, "/api/v1/namespaces/a"] {
        assert_eq!(send(&server, &format!("DELETE {path}"), JSON, "").await.code, 200, "{path}");
    }
    gone(&server, "/api/v1/namespaces/a").await;
    server.stop();
    let server = Server::start(&data);
    assert_eq!(get(&server, &one, JSON).await.code, 404);
    let free = r#"{"metadata":{"finalizers":null}}"#;
    assert_eq!(send(&server, &format!("PATCH {y}"), MERGE, free).await.code, 200);
    gone(&server, &y).await;
    assert_eq!(get(&server, "/readyz", JSON).await.code, 200);
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

/// Every change except nesting deeper.
async fn can_be_changed(server: &Server, path: &str) {
    let patch = format!("PATCH {path}");
    for (form, body) in [
        (MERGE, r#"{"metadata":{"labels":{"k":"v"}}}"#),
        (STRATEGIC, r#"{"metadata":{"labels":{"k":null}}}"#),
        (PATCH, r#"[{"op":"add","path":"/metadata/labels","value":{"k":"v"}}]"#),
    ] {
        let answer = send(server, &patch, form, body).await;
        assert_eq!(answer.code, 200, "{form}: {}", String::from_utf8_lossy(&answer.body));
    }
    let fields = "/spec/template/metadata/managedFields/0/fieldsV1";
    let deeper = format!(
        r#"[{{"op":"move","from":"{fields}/a","path":"{fields}/b"}},{{"op":"copy","from":"{fields}/b","path":"{fields}/b/b"}}]"#
    );
    is_refused(&send(server, &patch, PATCH, deeper).await, "deeper");
    let scale = get(server, &format!("{path}/scale"), JSON).await;
    assert_eq!(scale.code, 200);
    let mut scale = scale.json();
    scale["spec"] = json!({"replicas": 3});
    let put = format!("PUT {path}/scale");
    assert_eq!(send(server, &put, JSON, scale.to_string()).await.code, 200);
    let name = path.rsplit('/').next().unwrap();
    let put = format!("PUT {path}");
    is_refused(&send(server, &put, JSON, deployment(name, &nested(200, "1"))).await, "PUT");
    assert_eq!(send(server, &put, JSON, deployment(name, "{}")).await.code, 200);
}

#[tokio::test]
async fn bodies_that_are_no_object_are_refused_in_kubernetes_words() {
    let data = folder("nesting-none");
    let server = Server::start(&data);
    let go = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    for mut client in Client::both(&server).await {
        for (body, what, summary) in
            [("[]", "array", "5b5d"), ("\"a\"", "string", "226122"), ("1", "number", "31")]
        {
            for form in [JSON, YAML] {
                let answer = client.send(&format!("POST {COLLECTION}"), form, body).await;
                assert_eq!(answer.code, 400);
                let words = format!(
                    "the object provided is unrecognized (must be of type Deployment): couldn't \
                     get version/kind; json parse error: json: cannot unmarshal {what} into Go \
                     value of type {go} ({summary})"
                );
                assert_eq!(answer.json()["message"], words);
            }
            let answer = client.send(&format!("DELETE {COLLECTION}/x"), JSON, body).await;
            let words = format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into \
                 Go value of type {go}"
            );
            assert_eq!(answer.json()["message"], words);
        }
    }
    server.stop();
    std::fs::remove_dir_all(&data).unwrap();
}

fn private(folder: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).unwrap();
}
