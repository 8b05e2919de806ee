use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body, routing::get};
use http::Response;
use http_body_util::BodyExt;
use tokio::{
    net::TcpStream,
    sync::{Notify, Semaphore},
};

use crate::{
    serve::{
        DetachFlag, Limits, LongRunning,
        tests::client::{begin_on, get_on, get_on_http2, start, watch_body},
    },
    shutdown::Stop,
};

/// A request that waits until it may end, and signals that it has begun.
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

/// Two requests on an aborted connection: one runs to completion, one is cancelled.
#[tokio::test]
async fn a_request_with_a_raised_shield_outlives_its_client_and_a_stop_waits_for_it() {
    for alpn in [&b"http/1.1"[..], b"h2"] {
        let work = Work::default();
        let server = start(work.router(), Limits::default(), None).await;
        let connect = || server.connect(Arc::new(server.config(None, alpn)));
        let clients = [connect().await, connect().await].into_iter().zip(["/detached", "/plain"]);
        let clients: Vec<_> = clients
            .map(|(stream, path)| match alpn {
                b"h2" => tokio::spawn(async move { drop(get_on_http2(stream, path).await) }),
                _ => tokio::spawn(async move { drop(get_on(stream, path).await) }),
            })
            .collect();
        work.begun.acquire_many(2).await.unwrap().forget();
        clients.iter().for_each(tokio::task::JoinHandle::abort);
        work.dropped.acquire().await.unwrap().forget();
        // The one that runs to completion is left.
        while server.stop.in_flight().requests() > 1 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.stop.in_flight().requests(), 1);
        let stop = server.stop.clone();
        let stopping = tokio::spawn(server.stop());
        stop.stopping().await;
        assert!(!stopping.is_finished());
        work.may_end.notify_one();
        assert_eq!(stopping.await.unwrap(), 0);
        assert_eq!(work.ended.available_permits(), 1, "it ran to its end");
        assert_eq!(stop.in_flight().requests(), 0);
    }
}

#[tokio::test]
async fn a_panic_after_the_client_is_gone_ends_the_request_alone() {
    let work = Work::default();
    let server = start(work.router(), Limits::default(), None).await;
    let stream = server.connect(Arc::new(server.config(None, b"http/1.1"))).await;
    let client = tokio::spawn(get_on(stream, "/panics"));
    work.begun.acquire().await.unwrap().forget();
    client.abort();
    let _ = client.await;
    work.may_end.notify_one();
    server.stop.in_flight().drained().await;
    assert_eq!(server.stop().await, 0);
}

/// Handlers that wait until they may end, and report their progress.
#[derive(Clone)]
struct Work {
    begun: Arc<Semaphore>,
    may_end: Arc<Notify>,
    ended: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
}

impl Default for Work {
    fn default() -> Work {
        let none = || Arc::new(Semaphore::new(0));
        Work { begun: none(), may_end: Arc::default(), ended: none(), dropped: none() }
    }
}

impl Work {
    fn router(&self) -> Router {
        let handler = |is_shielded: bool, panics: bool| {
            let work = self.clone();
            move |request: axum::extract::Request| async move {
                if is_shielded {
                    request.extensions().get::<DetachFlag>().unwrap().set();
                }
                let told = Dropped(work.dropped.clone(), is_shielded);
                work.begun.add_permits(1);
                work.may_end.notified().await;
                assert!(!panics, "as was asked for");
                work.ended.add_permits(1);
                drop(told);
            }
        };
        Router::new()
            .route("/detached", get(handler(true, false)))
            .route("/plain", get(handler(false, false)))
            .route("/panics", get(handler(true, true)))
    }
}

struct Dropped(Arc<Semaphore>, bool);

impl Drop for Dropped {
    fn drop(&mut self) {
        if !self.1 {
            self.0.add_permits(1);
        }
    }
}
