//! What strangers are told when they are turned away, and what operators are.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use evenkeel_fairness::config::{Config, Handling};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt, service_fn};
use tower_fairness::{Builder, FairnessLayer, User};

use crate::support::{level, schema};

const OPERATORS: &str = "operators";

/// Nobody is served.
fn config() -> Config {
    let levels = vec![level("secret-level", 1, Handling::Reject)];
    Config { levels, schemas: vec![schema("secret-schema", 0, vec![])], fallback: 0 }
}

fn request(group: &str) -> Request<Empty<Bytes>> {
    let user = User { name: "jane".into(), groups: vec![group.into()] };
    Request::get("/").extension(user).body(Empty::new()).unwrap()
}

/// The answer: its status, all of its headers as lines, its body.
async fn rejected(
    builder: Builder,
    request: Request<Empty<Bytes>>,
) -> (StatusCode, Vec<String>, Bytes) {
    let layer = builder.build(config(), 0).unwrap();
    let service = layer.layer(service_fn(|_: Request<Empty<Bytes>>| async move {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
    }));
    let response = service.oneshot(request).await.unwrap();
    let line = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        format!("{name}: {}", value.to_str().unwrap())
    };
    let mut headers: Vec<_> = response.headers().iter().map(line).collect();
    headers.sort();
    let status = response.status();
    (status, headers, response.into_body().collect().await.unwrap().to_bytes())
}

fn id_of(headers: &[String]) -> String {
    let mut ids = headers.iter().filter_map(|line| line.strip_prefix("x-evenkeel-rejection-id: "));
    ids.next().unwrap().to_owned()
}

#[tokio::test]
async fn strangers_are_told_when_to_come_back_and_an_id() {
    let (status, headers, body) = rejected(FairnessLayer::builder(), request("strangers")).await;
    let id = id_of(&headers);
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    let expected = [
        "content-type: application/json".to_owned(),
        "retry-after: 1".to_owned(),
        format!("x-evenkeel-rejection-id: {id}"),
    ];
    assert_eq!(headers, expected);
    let body: Value = serde_json::from_slice(&body).unwrap();
    let message = "too many requests, try again later";
    assert_eq!(body, json!({ "code": 429, "message": message, "id": id }));
}

#[tokio::test]
async fn strangers_are_told_no_more_over_grpc() {
    let mut call = request("strangers");
    call.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    let (status, headers, body) = rejected(FairnessLayer::builder(), call).await;
    assert_eq!((status, body), (StatusCode::OK, Bytes::new()));
    let expected = [
        "content-type: application/grpc".to_owned(),
        "grpc-message: too many requests, try again later".to_owned(),
        "grpc-retry-pushback-ms: 1000".to_owned(),
        "grpc-status: 8".to_owned(),
        format!("x-evenkeel-rejection-id: {}", id_of(&headers)),
    ];
    assert_eq!(headers, expected);
}

#[tokio::test]
async fn whom_the_server_authorizes_is_told_all() {
    let builder = || {
        FairnessLayer::builder().details_for(|head| {
            let user = head.extensions.get::<User>();
            user.is_some_and(|user| user.groups.iter().any(|group| group == OPERATORS))
        })
    };
    let (_, headers, _) = rejected(builder(), request("strangers")).await;
    assert_eq!(headers.len(), 3, "{headers:?}");
    let (_, headers, body) = rejected(builder(), request(OPERATORS)).await;
    for line in [
        "x-evenkeel-flow-schema: secret-schema",
        "x-evenkeel-priority-level: secret-level",
        "x-evenkeel-reason: concurrency-limit",
    ] {
        assert!(headers.iter().any(|header| header == line), "{line}: {headers:?}");
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    let expected = json!({
        "code": 429, "id": id_of(&headers), "reason": "concurrency-limit",
        "message": "all seats of this priority level are taken",
        "flowSchema": "secret-schema", "priorityLevel": "secret-level", "flow": "",
        "retryAfterSeconds": 1, "waiting": 0, "seatsInUse": 0, "limit": 0,
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn the_headers_of_kubernetes_are_there_where_they_are_configured() {
    let builder = FairnessLayer::builder().kubernetes_headers(true);
    let (_, headers, _) = rejected(builder, request("strangers")).await;
    for line in [
        "x-kubernetes-pf-flowschema-uid: uid-of-schema-secret-schema",
        "x-kubernetes-pf-prioritylevel-uid: uid-of-level-secret-level",
    ] {
        assert!(headers.iter().any(|header| header == line), "{line}: {headers:?}");
    }
}

#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn operators_find_the_rest_in_the_log_by_the_id() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // For all threads: a subscriber of this one alone is not asked when another test meets the log
    // line first, which is then off for good.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (_, headers, _) = rejected(FairnessLayer::builder(), request("strangers")).await;
    let (_, others, _) = rejected(FairnessLayer::builder(), request("strangers")).await;
    assert_ne!(id_of(&headers), id_of(&others));
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let found: Vec<_> = text.lines().filter(|line| line.contains(&id_of(&headers))).collect();
    let [line] = found[..] else { panic!("{text}") };
    for part in ["request rejected", "secret-schema", "secret-level", "concurrency-limit"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}
