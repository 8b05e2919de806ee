//! A request that does not wait allocates nothing.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{
    convert::Infallible,
    future::{Ready, ready},
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Empty, Full};
use tower::{Layer, Service, service_fn};
use tower_fairness::{FairnessLayer, User, evenkeel_fairness::dialect::kubernetes};

use crate::support::{one_level, queue};

fn answer(_: Request<Empty<Bytes>>) -> Ready<Result<Response<Full<Bytes>>, Infallible>> {
    ready(Ok(Response::new(Full::new(Bytes::from_static(b"text")))))
}

fn request() -> Request<Empty<Bytes>> {
    let user = User { name: "jane".into(), groups: vec!["system:authenticated".into()] };
    Request::get("/some/path").extension(user).body(Empty::new()).unwrap()
}

/// How many allocations `n` requests make, each served at once.
fn allocations(layer: &FairnessLayer, n: usize) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let mut service = layer.layer(service_fn(answer));
        // The first starts the driver and makes room for those that follow.
        service.call(request()).await.unwrap();
        let requests: Vec<_> = (0..n).map(|_| request()).collect();
        let mut taken = 0;
        for request in requests {
            let call = allocation_counter::measure(|| {
                let mut future = pin!(service.call(request));
                let mut cx = Context::from_waker(Waker::noop());
                let Poll::Ready(Ok(response)) = future.as_mut().poll(&mut cx) else {
                    panic!("it waits")
                };
                let mut body = pin!(response.into_body());
                assert!(body.as_mut().poll_frame(&mut cx).is_ready());
            });
            taken += call.count_total;
        }
        taken
    })
}

#[test]
fn a_request_that_does_not_wait_allocates_nothing() {
    let small = FairnessLayer::new(one_level(queue(8, 50)), 4).unwrap();
    assert_eq!(allocations(&small, 1000), 0);
    let kubernetes = FairnessLayer::new(kubernetes::defaults().compile().config, 600).unwrap();
    assert_eq!(allocations(&kubernetes, 1000), 0);
}
