//! The layer in an axum server, with clients on real sockets.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::time::Duration;

use bytes::Bytes;
use evenkeel_fairness::{Settings, config::Handling};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use tower_fairness::{BodyPolicy, Builder, FairnessLayer, LongRunning};

use crate::support::{
    one_level, queue,
    server::{Server, text},
    with_exempt,
};

async fn one_seat(builder: Builder, handling: Handling) -> Server {
    let builder = builder.details_for(|_| true);
    Server::start(builder.build(one_level(handling), 1).unwrap()).await
}

#[tokio::test]
async fn a_request_without_a_seat_is_told_why_and_when_to_come_back() {
    let builder = FairnessLayer::builder().kubernetes_headers(true);
    let server = one_seat(builder, Handling::Reject).await;
    let held = server.client().await.start("/held");
    server.until((0, 1, 1)).await;

    let rejected = server.get("/quick").await;
    assert_eq!(rejected.status(), StatusCode::TOO_MANY_REQUESTS);
    let headers = rejected.headers().clone();
    for (name, value) in [
        ("retry-after", "1"),
        ("content-type", "application/json"),
        ("x-evenkeel-flow-schema", "all"),
        ("x-evenkeel-priority-level", "main"),
        ("x-evenkeel-reason", "concurrency-limit"),
        ("x-kubernetes-pf-flowschema-uid", "uid-of-schema-all"),
        ("x-kubernetes-pf-prioritylevel-uid", "uid-of-level-main"),
    ] {
        assert_eq!(headers.get(name).unwrap(), value, "{name}");
    }
    let body: serde_json::Value = serde_json::from_str(&text(rejected).await).unwrap();
    let id = headers.get("x-evenkeel-rejection-id").unwrap().to_str().unwrap();
    let expected = serde_json::json!({
        "code": 429, "id": id, "reason": "concurrency-limit",
        "message": "all seats of this priority level are taken",
        "flowSchema": "all", "priorityLevel": "main", "flow": "", "retryAfterSeconds": 1,
        "waiting": 0, "seatsInUse": 1, "limit": 1,
    });
    assert_eq!(body, expected);

    server.gates.held.add_permits(1);
    let served = held.await.unwrap();
    assert_eq!(served.status(), StatusCode::OK);
    let uid = served.headers().get("x-kubernetes-pf-flowschema-uid").unwrap().clone();
    assert_eq!((uid.to_str().unwrap(), &*text(served).await), ("uid-of-schema-all", "served"));
    server.until((0, 0, 0)).await;
}

#[tokio::test]
async fn a_request_waits_and_is_then_served() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let first = server.client().await.start("/held");
    server.until((0, 1, 1)).await;
    let second = server.client().await.start("/quick");
    server.until((1, 1, 1)).await;
    assert_eq!(server.served(), 1, "the second has not been called");

    server.gates.held.add_permits(1);
    assert_eq!(text(first.await.unwrap()).await, "served");
    assert_eq!(text(second.await.unwrap()).await, "served");
    server.until((0, 0, 0)).await;
    assert_eq!(server.served(), 2);
}

#[tokio::test]
async fn a_full_queue_rejects() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 1)).await;
    let _first = server.client().await.start("/held");
    server.until((0, 1, 1)).await;
    let _second = server.client().await.start("/quick");
    server.until((1, 1, 1)).await;
    let third = server.get("/quick").await;
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(third.headers().get("x-evenkeel-reason").unwrap(), "queue-full");
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_waits_frees_its_place() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let first = server.client().await.start("/held");
    server.until((0, 1, 1)).await;
    let second = server.client().await.start("/quick");
    server.until((1, 1, 1)).await;
    second.abort();
    server.until((0, 1, 1)).await;

    server.gates.held.add_permits(1);
    assert_eq!(text(first.await.unwrap()).await, "served");
    server.until((0, 0, 0)).await;
    assert_eq!(server.served(), 1);
}

#[tokio::test]
async fn a_client_that_goes_away_while_it_is_served_frees_its_seat() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let first = server.client().await.start("/held");
    server.until((0, 1, 1)).await;
    let second = server.client().await.start("/quick");
    server.until((1, 1, 1)).await;
    first.abort();
    assert_eq!(text(second.await.unwrap()).await, "served");
    server.until((0, 0, 0)).await;
}

#[tokio::test]
async fn a_stream_keeps_its_seat_until_it_ends() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let mut client = server.client().await;
    let mut stream = client.get("/stream").await.into_body();
    server.chunks.send(Bytes::from_static(b"one")).await.unwrap();
    let one = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!((one, server.numbers()), (Bytes::from_static(b"one"), (0, 1, 1)));

    let Server { address: _, layer, gates: _, chunks } = server;
    drop(chunks);
    assert!(stream.frame().await.is_none());
    support::server::until(&layer, (0, 0, 0)).await;
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_stream_frees_its_seat() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let mut client = server.client().await;
    let stream = client.get("/stream").await;
    server.until((0, 1, 1)).await;
    drop((stream, client));
    server.until((0, 0, 0)).await;
}

#[tokio::test]
async fn a_slow_reader_loses_its_seat_after_the_hold_and_no_sooner_is_another_served() {
    let settings =
        Settings { response_hold: Some(Duration::from_millis(300)), ..Settings::default() };
    let server = one_seat(FairnessLayer::builder().settings(settings), queue(1, 10)).await;
    let mut client = server.client().await;
    let began = std::time::Instant::now();
    let mut stream = client.get("/stream").await.into_body();
    let second = server.client().await.start("/quick");
    assert_eq!(text(second.await.unwrap()).await, "served");
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    server.until((0, 0, 0)).await;

    // It is still answered, only without a seat.
    server.chunks.send(Bytes::from_static(b"late")).await.unwrap();
    let late = stream.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(late, Bytes::from_static(b"late"));
}

#[tokio::test]
async fn a_stream_may_give_its_seat_back_at_its_head() {
    let builder = FairnessLayer::builder().body(BodyPolicy::ReleaseAtHead);
    let server = one_seat(builder, queue(1, 10)).await;
    let mut client = server.client().await;
    let _stream = client.get("/stream").await;
    server.until((0, 0, 0)).await;
    assert_eq!(text(server.get("/quick").await).await, "served");
}

#[tokio::test]
async fn a_watch_takes_seats_at_its_start_or_none_at_all() {
    for (treatment, seats) in [(LongRunning::ReleaseAtHead, 1), (LongRunning::Bypass, 0)] {
        let builder = FairnessLayer::builder().kubernetes_api().long_running(treatment);
        let server = one_seat(builder, Handling::Reject).await;
        let starting = server.client().await.start("/api/v1/held?watch=true");
        server.gates.began.notified().await;
        assert_eq!(server.numbers(), (0, seats, u64::from(seats)), "{treatment:?}");
        server.gates.held.add_permits(1);
        starting.await.unwrap();

        let mut client = server.client().await;
        let _watching = client.get("/api/v1/stream?watch=true").await;
        server.until((0, 0, 0)).await;
        assert_eq!(text(server.get("/quick").await).await, "served");
    }
}

#[tokio::test]
async fn an_upgrade_takes_seats_at_its_start_unless_the_server_itself_lets_it_pass() {
    let upgrade = || {
        let request = Request::get("/upgrade").header("connection", "upgrade");
        request.header("upgrade", "test").body(Empty::<Bytes>::new()).unwrap()
    };
    let builders = [
        (FairnessLayer::builder(), 1),
        // Any client can ask for an upgrade.
        (FairnessLayer::builder().long_running(LongRunning::Bypass), 1),
        (
            FairnessLayer::builder()
                .classify_long_running(|head, _| head.upgrades().then_some(LongRunning::Bypass)),
            0,
        ),
    ];
    for (builder, dispatched) in builders {
        let server = one_seat(builder, Handling::Reject).await;
        let mut client = server.client().await;
        let response = client.send(upgrade()).await;
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        let _upgraded = hyper::upgrade::on(response).await.unwrap();
        server.until((0, 0, 0)).await;
        let count = server.layer.dispatcher().levels()[0]
            .view(|view| view.schemas().map(|(_, stats)| stats.dispatched).sum::<u64>());
        assert_eq!(count, dispatched);
    }
}

#[tokio::test]
async fn requests_that_wait_survive_another_configuration() {
    let server = one_seat(FairnessLayer::builder(), queue(1, 10)).await;
    let mut waiting = Vec::new();
    for n in 0..6 {
        waiting.push(server.client().await.start("/held"));
        server.until((n, 1, 1)).await;
    }
    let mut bad = one_level(queue(1, 10));
    bad.levels[0].shares = 0;
    let error = server.layer.configure(bad, 4).unwrap_err();
    assert!(error.to_string().contains("shares"), "{error}");
    assert_eq!(server.numbers(), (5, 1, 1), "the old one stays");

    server.layer.configure(one_level(queue(4, 10)), 4).unwrap();
    server.until((2, 4, 4)).await;
    server.layer.configure(with_exempt(Handling::Reject), 4).unwrap();
    assert_eq!(server.numbers(), (2, 4, 4));
    server.gates.held.add_permits(6);
    for request in waiting {
        assert_eq!(text(request.await.unwrap()).await, "served");
    }
    server.until((0, 0, 0)).await;

    let mut client = server.client().await;
    let exempt = Request::get("/quick").header("x-exempt", "yes");
    let response = client.send(exempt.body(Empty::new()).unwrap()).await;
    assert_eq!(text(response).await, "served");
    let levels = server.layer.dispatcher().levels();
    let exempt = levels.iter().find(|level| &*level.name == "exempt").unwrap();
    let count = exempt.view(|view| view.schemas().map(|(_, stats)| stats.dispatched).sum::<u64>());
    assert_eq!(count, 1, "the header that the new configuration looks at is handed on");
}
