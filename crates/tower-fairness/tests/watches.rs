//! Who says that it watches, but does not, keeps its seat until the end of its response: over real
//! sockets.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use bytes::Bytes;
use evenkeel_fairness::config::Handling;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use tower_fairness::{Builder, FairnessLayer, LongRunning};

use crate::support::{
    one_level,
    server::{Server, until},
};

fn request(method: &str, path: &str) -> Request<Empty<Bytes>> {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    Request::builder().method(method).uri(path).body(Empty::new()).unwrap()
}

/// One seat. A request is answered with a stream; returns how many seats it holds while it is read.
/// If it holds the one there is, nobody else is served, and its end frees it.
async fn seats_while_read(builder: Builder, method: &str, path: &str) -> u64 {
    let server = Server::start(builder.build(one_level(Handling::Reject), 1).unwrap()).await;
    let mut client = server.client().await;
    let mut stream = client.send(request(method, path)).await.into_body();
    server.chunks.send(Bytes::from_static(b"one")).await.unwrap();
    assert_eq!(stream.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    let seats = server.numbers().2;
    let other = server.get("/quick").await.status();
    let expected = if seats == 0 { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
    assert_eq!(other, expected, "{method} {path}");
    let Server { layer, chunks, .. } = server;
    drop(chunks);
    assert!(stream.frame().await.is_none());
    until(&layer, (0, 0, 0)).await;
    seats
}

#[tokio::test]
async fn a_query_makes_no_request_a_watch() {
    let builders = [
        FairnessLayer::builder,
        || FairnessLayer::builder().long_running(LongRunning::ReleaseAtHead),
        || FairnessLayer::builder().long_running(LongRunning::Bypass),
    ];
    for (n, builder) in builders.into_iter().enumerate() {
        for (method, path) in [
            ("GET", "/stream?watch=1"),
            ("GET", "/healthz/stream?watch=true"),
            ("GET", "/api/v1/stream?watch=1"),
            ("POST", "/stream?watch=1"),
            ("WATCH", "/stream"),
        ] {
            let seats = seats_while_read(builder(), method, path).await;
            assert_eq!(seats, 1, "builder {n}: {method} {path}");
        }
    }
}

/// Where it is known what requests to a Kubernetes API are about, only watches are.
#[tokio::test]
async fn in_a_kubernetes_api_a_watch_is_what_kubernetes_takes_for_one() {
    let treatments = [LongRunning::ReleaseAtHead, LongRunning::Bypass];
    for treatment in treatments {
        for (method, path, seats) in [
            ("GET", "/api/v1/namespaces/a/stream?watch=1", 0),
            ("GET", "/apis/apps/v1/stream?a=b&%77atch=true", 0),
            ("GET", "/api/v1/watch/stream", 0),
            ("GET", "/api/v1/namespaces/a/stream?watch=0&watch=1", 1),
            ("GET", "/api/v1/namespaces/a/pods/stream?watch=1", 1),
            ("GET", "/api/v1/namespaces/a/pods/p/stream?follow=true&watch=1", 1),
            ("POST", "/api/v1/namespaces/a/stream?watch=1", 1),
            ("POST", "/api/v1/watch/stream", 1),
            ("WATCH", "/api/v1/namespaces/a/stream", 1),
            ("GET", "/%61pi/v1/namespaces/a/stream?watch=1", 1),
            ("GET", "/healthz/stream?watch=1", 1),
        ] {
            let builder = FairnessLayer::builder().kubernetes_api().long_running(treatment);
            let held = seats_while_read(builder, method, path).await;
            assert_eq!(held, seats, "{treatment:?}: {method} {path}");
        }
    }
}

/// A plain HTTP server says itself which of its requests have no end.
#[tokio::test]
async fn a_server_may_say_what_watches() {
    let by_path = |builder: Builder| {
        builder.classify_long_running(|head, _| {
            head.uri.path().starts_with("/events/").then_some(LongRunning::ReleaseAtHead)
        })
    };
    for (path, seats) in [("/events/stream", 0), ("/other/stream?watch=1", 1)] {
        let builder = by_path(FairnessLayer::builder());
        assert_eq!(seats_while_read(builder, "GET", path).await, seats, "{path}");
    }
}
