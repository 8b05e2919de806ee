//! Thousands of requests whose clients go away at any moment.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

mod support;

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::{Empty, Full};
use tower::{Layer, Service, service_fn};
use tower_fairness::{FairnessLayer, ResponseBody, User};

use crate::support::{one_level, queue, server::numbers};

/// A linear congruential generator, so that a failure can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// Pending for so many polls.
async fn polls(mut n: u64) {
    poll_fn(|cx| {
        n = n.saturating_sub(1);
        cx.waker().wake_by_ref();
        if n == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn storm(seed: u64, layer: &FairnessLayer) {
    let mut random = Random(seed);
    let mut service = layer.layer(service_fn(|request: Request<Empty<Bytes>>| async move {
        polls(request.uri().path().len() as u64).await;
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"text"))))
    }));
    let mut live = Vec::new();
    let mut bodies: Vec<ResponseBody<Full<Bytes>>> = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..20_000 {
        match random.below(5) {
            0 | 1 => {
                let user = User { name: format!("user-{}", random.below(9)), groups: vec![] };
                let path = &"/123456"[..=random.below(6) as usize];
                let request = Request::get(path).extension(user).body(Empty::new()).unwrap();
                live.push(Box::pin(service.call(request)));
            }
            2 if !live.is_empty() => {
                drop(live.swap_remove(random.below(live.len() as u64) as usize));
            }
            3 if !bodies.is_empty() => {
                let body = bodies.swap_remove(random.below(bodies.len() as u64) as usize);
                let mut body = pin!(body);
                let _ = Body::poll_frame(body.as_mut(), &mut cx);
            }
            _ if !live.is_empty() => {
                let at = random.below(live.len() as u64) as usize;
                if let Poll::Ready(response) = live[at].as_mut().poll(&mut cx) {
                    drop(live.swap_remove(at));
                    bodies.push(response.unwrap().into_body());
                }
            }
            _ => {}
        }
        let (_, executing, seats) = numbers(layer);
        assert!(executing <= 4 && seats <= 4, "{executing} {seats}");
    }
}

#[test]
fn nothing_is_left_behind() {
    for seed in 0..8 {
        let layer = FairnessLayer::new(one_level(queue(8, 50)), 4).unwrap();
        storm(seed, &layer);
        assert_eq!(numbers(&layer), (0, 0, 0), "seed {seed}");
    }
}

#[test]
fn nothing_is_left_behind_by_threads_either() {
    let layer = FairnessLayer::new(one_level(queue(8, 50)), 4).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let layer = &layer;
            scope.spawn(move || storm(seed, layer));
        }
    });
    assert_eq!(numbers(&layer), (0, 0, 0));
}
