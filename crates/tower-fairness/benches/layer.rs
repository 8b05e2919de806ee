//! The whole layer around a handler that does nothing, under Kubernetes' default configuration.

#[path = "../../fairness/benches/together/mod.rs"]
mod together;

use std::{
    cell::Cell,
    convert::Infallible,
    future::ready,
    hint::black_box,
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use tower::{Layer, Service};
use tower_fairness::{FairnessLayer, User, evenkeel_fairness::dialect::kubernetes};

fn request(user: usize) -> Request<()> {
    let name = format!("system:serviceaccount:shop:cart-{user}");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"];
    let user = User { name, groups: groups.map(String::from).into() };
    Request::get("/api/v1/namespaces/shop/pods").extension(user).body(()).expect("a request")
}

/// Sends a request through what `wrap` makes of the handler, each time it is called.
///
/// The handler gives the request back, so that making and freeing it is not measured.
fn sender<B, S, R>(user: usize, body: B, wrap: impl FnOnce(Handler<B>) -> S) -> impl FnMut()
where
    B: Clone,
    S: Service<Request<()>, Response = Response<R>, Error = Infallible>,
    R: http_body::Body<Data = Bytes, Error = Infallible>,
{
    let back = Rc::new(Cell::new(Some(request(user))));
    let mut service = wrap(Handler { back: back.clone(), body });
    move || {
        let mut cx = Context::from_waker(Waker::noop());
        let request = back.take().expect("the handler gave it back");
        let mut response = pin!(service.call(request));
        let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut cx) else { panic!("it waits") };
        let mut body = pin!(response.into_body().collect());
        assert!(black_box(body.as_mut().poll(&mut cx)).is_ready());
    }
}

#[derive(Clone)]
struct Handler<B> {
    back: Rc<Cell<Option<Request<()>>>>,
    body: B,
}

impl<B: Clone> Service<Request<()>> for Handler<B> {
    type Response = Response<B>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<B>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        self.back.set(Some(request));
        ready(Ok(Response::new(self.body.clone())))
    }
}

fn one_thread(c: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    let empty = Empty::<Bytes>::new();
    let full = Full::new(Bytes::from_static(b"text"));
    let layer =
        FairnessLayer::new(kubernetes::defaults().compile().config, 600).expect("a configuration");
    let headers = FairnessLayer::builder().kubernetes_headers(true);
    let headers =
        headers.build(kubernetes::defaults().compile().config, 600).expect("a configuration");
    let mut group = c.benchmark_group("layer");
    group.bench_function("bare", |b| b.iter(sender(0, empty, |handler| handler)));
    group.bench_function("empty-body", |b| {
        b.iter(sender(0, empty, |handler| layer.layer(handler)));
    });
    group.bench_function("full-body", |b| {
        b.iter(sender(0, full.clone(), |handler| layer.layer(handler)));
    });
    group.bench_function("kubernetes-headers", |b| {
        b.iter(sender(0, empty, |handler| headers.layer(handler)));
    });
    group.finish();
}

/// The time that each of two threads needs for a request while the other does the same in the same
/// level, each for its own user.
fn two_threads(c: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let layer =
        FairnessLayer::new(kubernetes::defaults().compile().config, 600).expect("a configuration");
    let mut group = c.benchmark_group("layer, two threads");
    let full = Full::new(Bytes::from_static(b"text"));
    group.bench_function("empty-body", |b| {
        let work = |user| {
            let entered = runtime.enter();
            let mut send = sender(user, Empty::<Bytes>::new(), |handler| layer.layer(handler));
            move || {
                let _entered = &entered;
                send();
            }
        };
        b.iter_custom(|n| together::both(n, work));
    });
    group.bench_function("full-body", |b| {
        let work = |user| {
            let entered = runtime.enter();
            let mut send = sender(user, full.clone(), |handler| layer.layer(handler));
            move || {
                let _entered = &entered;
                send();
            }
        };
        b.iter_custom(|n| together::both(n, work));
    });
    group.finish();
}

criterion_group!(benches, one_thread, two_threads);
criterion_main!(benches);
