use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body, routing::get};
use http::Response;
use http_body_util::BodyExt;
use tokio::{net::TcpStream, sync::Notify};

use crate::{
    serve::{
        Limits, LongRunning,
        tests::client::{begin_on, get_on, start, watch_body},
    },
    shutdown::Stop,
};

/// A request that waits until it may end, and says when it has begun.
fn waiting(begun: &Arc<Notify>, may_end: &Arc<Notify>) -> Router {
    let (begun, may_end) = (Arc::clone(begun), Arc::clone(may_end));
    let wait = move || async move {
        begun.notify_one();
        may_end.notified().await;
        "done"
    };
    Router::new().route("/wait", get(wait))
}

#[tokio::test]
async fn requests_in_flight_are_finished_and_new_connections_refused() {
    let (begun, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = start(waiting(&begun, &may_end), Limits::default(), None).await;
    let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let asked = tokio::spawn(get_on(stream, "/wait"));
    begun.notified().await;
    let (address, stop) = (server.address, server.stop.clone());
    stop.begin();
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stop.watches_end().is_cancelled(), "watches end after the requests");
    may_end.notify_one();
    assert_eq!(asked.await.unwrap(), (200, "done".to_owned()));
    assert_eq!(server.done.await.unwrap(), 0);
    assert!(stop.watches_end().is_cancelled());
}

#[tokio::test]
async fn watches_are_not_waited_for_and_end_well() {
    let kept = Arc::new(std::sync::OnceLock::<Stop>::new());
    let watch = {
        let kept = Arc::clone(&kept);
        move || async move {
            let mut response = Response::new(watch_body(kept.get().unwrap()));
            response.extensions_mut().insert(LongRunning);
            response
        }
    };
    let router = Router::new().route("/watch", get(watch));
    let server = start(router, Limits::default(), None).await;
    kept.set(server.stop.clone()).unwrap();
    let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let watching = begin_on(stream, "/watch").await;
    assert_eq!(server.stop.in_flight().requests(), 0);
    let (cut, body) = tokio::join!(server.stop(), watching.into_body().collect());
    assert_eq!(cut, 0);
    assert!(body.unwrap().to_bytes().is_empty(), "the stream has a regular end");
}

#[tokio::test]
async fn what_does_not_end_is_cut() {
    let (begun, may_end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let short = Duration::from_millis(20);
    let limits = Limits { drain: short, close: short, ..Limits::default() };
    let server = start(waiting(&begun, &may_end), limits, None).await;
    let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    tokio::spawn(begin_on(stream, "/wait"));
    begun.notified().await;
    assert_eq!(server.stop().await, 1);
}

#[tokio::test]
async fn a_body_counts_until_its_end() {
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    let receiver = Arc::new(parking_lot::Mutex::new(Some(receiver)));
    let slow = move || {
        let receiver = receiver.lock().take().unwrap();
        async move { Response::new(Body::new(super::client::Until(receiver))) }
    };
    let server = start(Router::new().route("/slow", get(slow)), Limits::default(), None).await;
    let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let answer = begin_on(stream, "/slow").await;
    assert_eq!(server.stop.in_flight().requests(), 1);
    drop(sender);
    answer.into_body().collect().await.unwrap();
    assert_eq!(server.stop().await, 0);
}

#[tokio::test]
async fn idle_connections_do_not_hold_a_stop() {
    let server = start(Router::new(), Limits::default(), None).await;
    let _idle = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let _raw = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.stop().await, 0);
}
