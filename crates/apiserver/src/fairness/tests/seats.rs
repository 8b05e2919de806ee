//! How long a request holds its seat.

use std::time::Duration;

use futures_util::poll;
use http::{Method, header::RETRY_AFTER};
use http_body_util::BodyExt as _;
use serde_json::json;

use super::*;

#[tokio::test]
async fn a_request_waits_for_a_seat_and_gets_it_when_one_is_free() {
    let server = bobs(1, settings()).await;
    let mut first = hold(&server, "bob");
    assert!(poll!(&mut first).is_pending());
    assert_eq!(counts(&server, "bobs"), (0, 1, 1));
    let mut second = Box::pin(get(&server, "bob", CONFIG_MAPS));
    assert!(poll!(&mut second).is_pending());
    assert_eq!(counts(&server, "bobs"), (1, 1, 1));
    // The queue is full.
    let third = get(&server, "bob", CONFIG_MAPS).await;
    assert_eq!(third.status(), 429);
    assert_eq!(third.headers()[RETRY_AFTER], "1");
    assert_eq!(third.headers()["content-type"], "text/plain; charset=utf-8");
    assert!(!third.headers()["x-kubernetes-pf-flowschema-uid"].is_empty());
    let words = third.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(words, "Too many requests, please try again later.\n");
    // Others have their own level.
    assert_eq!(get(&server, "alice", CONFIG_MAPS).await.status(), 200);
    // The client of the first disconnects.
    drop(first);
    assert_eq!(second.await.status(), 200);
    assert_eq!(counts(&server, "bobs"), (0, 0, 0));
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_disconnects_leaves_the_queue() {
    let server = bobs(5, settings()).await;
    let mut first = hold(&server, "bob");
    assert!(poll!(&mut first).is_pending());
    let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(get(&server, "bob", CONFIG_MAPS))).collect();
    for one in &mut waiting {
        assert!(poll!(one).is_pending());
    }
    assert_eq!(counts(&server, "bobs").0, 5);
    drop(waiting);
    assert_eq!(counts(&server, "bobs"), (0, 1, 1));
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn a_request_is_rejected_after_a_quarter_of_its_time_or_the_limit_that_is_set() {
    for (limit, query, expected) in [
        (None, "", 15),
        (None, "?timeout=20s", 5),
        (Some(Duration::from_secs(3)), "", 3),
        (Some(Duration::from_secs(30)), "?timeout=20s", 20),
    ] {
        let mut settings = settings();
        settings.fairness.queue_wait_limit = limit;
        let server = bobs(5, settings).await;
        let mut first = hold(&server, "bob");
        assert!(poll!(&mut first).is_pending());
        tokio::time::pause();
        let started = tokio::time::Instant::now();
        let late = get(&server, "bob", &format!("{CONFIG_MAPS}{query}")).await;
        let waited = started.elapsed();
        tokio::time::resume();
        // A request may wait as long as it may take: both limits end it at the same moment.
        let codes: &[u16] = if expected == 20 { &[429, 504] } else { &[429] };
        assert!(codes.contains(&late.status().as_u16()), "{query}: {}", late.status());
        assert!(waited.abs_diff(Duration::from_secs(expected)).as_millis() < 20, "{waited:?}");
        drop(first);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_list_holds_its_seat_until_all_of_it_is_encoded() {
    let server = bobs(5, settings()).await;
    let large = "x".repeat(100_000);
    for name in ["a", "b", "c"] {
        let object = json!({"metadata": {"name": name}, "data": {"a": large}});
        server.create(CONFIG_MAPS, &object).await;
    }
    let list = get(&server, "bob", CONFIG_MAPS).await;
    assert_eq!(list.status(), 200);
    assert_eq!(counts(&server, "bobs").1, 1);
    let body = list.into_body().collect().await.unwrap().to_bytes();
    assert!(body.len() > 300_000);
    assert_eq!(counts(&server, "bobs"), (0, 0, 0));
    // What is encoded at once is done at once.
    let one = get(&server, "bob", &format!("{CONFIG_MAPS}/a")).await;
    assert_eq!((one.status().as_u16(), counts(&server, "bobs").1), (200, 0));
    // Whoever stops reading gives it back too.
    drop(get(&server, "bob", CONFIG_MAPS).await);
    assert_eq!(counts(&server, "bobs"), (0, 0, 0));
    server.stop().await;
}

#[tokio::test]
async fn a_watch_pays_for_its_start_only() {
    let server = bobs(5, settings()).await;
    server.create(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).await;
    let now = server.api.storage.state().revision();
    let after = format!("{CONFIG_MAPS}?watch=true&resourceVersion={now}");
    let following = get(&server, "bob", &after).await;
    assert_eq!((following.status().as_u16(), counts(&server, "bobs").1), (200, 0));
    let all = format!("{CONFIG_MAPS}?watch=true");
    let mut from_start = get(&server, "bob", &all).await.into_body();
    assert_eq!(counts(&server, "bobs").1, 1);
    let first = from_start.frame().await.unwrap().unwrap();
    assert!(first.data_ref().unwrap().starts_with(b"{\"type\":\"ADDED\""));
    // The next frame comes when something changes: all initial objects are sent.
    let mut next = Box::pin(from_start.frame());
    assert!(poll!(&mut next).is_pending());
    assert_eq!(counts(&server, "bobs"), (0, 0, 0));
    // A query alone makes no watch.
    let get_one = get(&server, "bob", &format!("{CONFIG_MAPS}/a?watch=true")).await;
    assert_eq!((get_one.status().as_u16(), counts(&server, "bobs").1), (200, 0));
    let text = server.api.metrics_text();
    let watches = |line: &&str| {
        line.starts_with("apiserver_flowcontrol_request_execution_seconds_count")
            && line.contains("flow_schema=\"bobs\"")
            && line.contains("type=\"watch\"")
    };
    let line = text.lines().find(watches).unwrap();
    assert!(line.ends_with(" 2"), "{line}");
    drop(next);
    server.stop().await;
}

#[tokio::test]
async fn a_watch_that_nobody_reads_gives_its_seat_back_after_the_response_hold() {
    let server = bobs(5, settings()).await;
    server.create(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).await;
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                 &allowWatchBookmarks=true";
    let unread = get(&server, "bob", &format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!((unread.status().as_u16(), counts(&server, "bobs").2), (200, 1));
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    assert_eq!(get(&server, "bob", CONFIG_MAPS).await.status(), 200);
    let waited = started.elapsed();
    tokio::time::resume();
    assert!(waited.abs_diff(Duration::from_secs(10)).as_millis() < 20, "{waited:?}");
    drop(unread);
    server.stop().await;
}

#[tokio::test]
async fn requests_that_stream_without_an_end_need_no_seat() {
    let server = bobs(0, settings()).await;
    let mut first = hold(&server, "bob");
    assert!(poll!(&mut first).is_pending());
    let log = get(&server, "bob", "/api/v1/namespaces/default/pods/a/log").await;
    assert_eq!(log.status(), 404);
    assert!(!log.headers().contains_key("x-kubernetes-pf-flowschema-uid"));
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn deleting_a_collection_takes_one_seat() {
    let server = bobs(0, settings()).await;
    for i in 0..50 {
        server.create(CONFIG_MAPS, &json!({"metadata": {"name": format!("c{i}")}})).await;
    }
    let gone = ask(&server, "bob", Method::DELETE, CONFIG_MAPS, Body::empty()).await;
    assert_eq!(gone.status(), 200);
    let text = server.api.metrics_text();
    let dispatched = |line: &&str| {
        line.starts_with("apiserver_flowcontrol_dispatched_requests_total")
            && line.contains("flow_schema=\"bobs\"")
    };
    assert!(text.lines().find(dispatched).unwrap().ends_with(" 1"));
    server.stop().await;
}

#[tokio::test]
async fn the_server_s_own_actors_are_classified_by_their_identities() {
    let settings = Settings { housekeeping: true, ..settings() };
    let server = Server::start_whole(None, settings).await;
    let owner = server.create(CONFIG_MAPS, &json!({"metadata": {"name": "owner"}})).await;
    let owned = json!({"metadata": {"name": "owned", "ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"]}]}});
    server.create(CONFIG_MAPS, &owned).await;
    let path = format!("{CONFIG_MAPS}/owner");
    assert_eq!(server.ask(Method::DELETE, &path, &Value::Null).await.0, 200);
    server.until(&format!("{CONFIG_MAPS}/owned"), Value::is_null).await;
    let text = server.api.metrics_text();
    let collector = |line: &&str| {
        line.starts_with("apiserver_flowcontrol_dispatched_requests_total")
            && line.contains("flow_schema=\"kube-system-service-accounts\"")
    };
    let line = text.lines().find(collector).unwrap();
    assert!(!line.ends_with(" 0"), "{line}");
    server.stop().await;
}

#[tokio::test]
async fn without_fairness_two_counters_limit_requests() {
    let mut settings = settings();
    settings.fairness.enabled = false;
    settings.fairness.max_mutating_requests_inflight = 1;
    let server = Server::start(None, settings).await;
    let mut first = hold(&server, "bob");
    assert!(poll!(&mut first).is_pending());
    let second = ask(&server, "alice", Method::POST, CONFIG_MAPS, "{}".into()).await;
    assert_eq!(
        (second.status().as_u16(), &second.headers()[RETRY_AFTER]),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(get(&server, "alice", CONFIG_MAPS).await.status(), 200);
    server.create(CONFIG_MAPS, &json!({"metadata": {"name": "by-the-administrator"}})).await;
    drop(first);
    let third = ask(&server, "alice", Method::POST, CONFIG_MAPS, "{}".into()).await;
    assert_ne!(third.status(), 429);
    server.stop().await;
}
