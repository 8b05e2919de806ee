//! One layer, requests from several runtimes: any of them may end, or stand still.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{Empty, Full};
use tokio::{
    runtime::{self, Runtime},
    sync::Semaphore,
};
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_fairness::{FairnessLayer, ResponseBody};

use crate::support::{
    one_level, queue,
    server::{numbers, until},
};

/// One seat; a request may wait for a tenth of a second.
fn one_seat() -> FairnessLayer {
    let builder = FairnessLayer::builder().wait_limit(|_| Duration::from_millis(100));
    builder.build(one_level(queue(1, 10)), 1).unwrap()
}

/// A service that answers when there is a permit, behind the layer.
fn gated(
    layer: &FairnessLayer,
    permits: &Arc<Semaphore>,
) -> impl Service<
    Request<Empty<Bytes>>,
    Response = Response<ResponseBody<Full<Bytes>>>,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ 'static {
    let permits = permits.clone();
    layer.layer(service_fn(move |_: Request<Empty<Bytes>>| {
        let permits = permits.clone();
        async move {
            permits.acquire().await.unwrap().forget();
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
        }
    }))
}

fn request() -> Request<Empty<Bytes>> {
    Request::get("/").body(Empty::new()).unwrap()
}

/// Runs only while it is told to.
fn still() -> Runtime {
    runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// On a runtime of its own: one request has the seat, another waits in vain, a third is dispatched.
fn waits_end(layer: &FairnessLayer) {
    let permits = Arc::new(Semaphore::new(0));
    let service = gated(layer, &permits);
    let runtime = Runtime::new().unwrap();
    let running = runtime.spawn(service.clone().oneshot(request()));
    runtime.block_on(until(layer, (0, 1, 1)));
    let waiting = runtime.spawn(service.clone().oneshot(request()));
    let answer = runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("its wait ends")
    });
    assert_eq!(answer.unwrap().unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    permits.add_permits(1);
    runtime.block_on(running).unwrap().unwrap();
    assert_eq!(numbers(layer), (0, 0, 0));
}

#[test]
fn waits_end_although_the_runtime_of_the_first_request_has_ended() {
    let layer = one_seat();
    let first = still();
    let service = gated(&layer, &Arc::new(Semaphore::new(1)));
    first.block_on(service.oneshot(request())).unwrap();
    drop(first);
    waits_end(&layer);
}

#[test]
fn waits_end_although_the_runtime_of_the_first_request_stands_still() {
    let layer = one_seat();
    let first = still();
    let service = gated(&layer, &Arc::new(Semaphore::new(1)));
    first.block_on(service.oneshot(request())).unwrap();
    waits_end(&layer);
    drop(first);
}

#[test]
fn runtimes_that_come_and_go_leave_no_driver_behind() {
    let layer = one_seat();
    for _ in 0..3 {
        waits_end(&layer);
    }
    let runtime = still();
    let service = gated(&layer, &Arc::new(Semaphore::new(1)));
    runtime.block_on(service.oneshot(request())).unwrap();
    assert_eq!(runtime.metrics().num_alive_tasks(), 1, "the driver");
    drop(layer);
    runtime.block_on(async {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "it has ended");
}
