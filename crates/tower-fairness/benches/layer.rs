//! The whole layer around a handler that does nothing, under Kubernetes' default configuration.

use std::{
    cell::Cell,
    convert::Infallible,
    future::ready,
    hint::black_box,
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
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

/// How long `n` requests take, one after the other, through what `wrap` makes of the handler.
///
/// The handler gives the request back, so that making and freeing it is not measured.
fn serve<B, S, R>(n: u64, user: usize, body: B, wrap: impl FnOnce(Handler<B>) -> S) -> Duration
where
    B: Clone,
    S: Service<Request<()>, Response = Response<R>, Error = Infallible>,
    R: http_body::Body<Data = Bytes, Error = Infallible>,
{
    let back = Rc::new(Cell::new(Some(request(user))));
    let mut service = wrap(Handler { back: back.clone(), body });
    let mut cx = Context::from_waker(Waker::noop());
    let began = Instant::now();
    for _ in 0..n {
        let request = back.take().expect("the handler gave it back");
        let mut response = pin!(service.call(request));
        let Poll::Ready(Ok(response)) = response.as_mut().poll(&mut cx) else { panic!("it waits") };
        let mut body = pin!(response.into_body().collect());
        assert!(black_box(body.as_mut().poll(&mut cx)).is_ready());
    }
    began.elapsed()
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

fn one_worker(c: &mut Criterion) {
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
    group.bench_function("bare", |b| b.iter_custom(|n| serve(n, 0, empty, |handler| handler)));
    group.bench_function("empty-body", |b| {
        b.iter_custom(|n| serve(n, 0, empty, |handler| layer.layer(handler)));
    });
    group.bench_function("full-body", |b| {
        b.iter_custom(|n| serve(n, 0, full.clone(), |handler| layer.layer(handler)));
    });
    group.bench_function("kubernetes-headers", |b| {
        b.iter_custom(|n| serve(n, 0, empty, |handler| headers.layer(handler)));
    });
    group.finish();
}

/// Time per request while all workers send, each for its own user.
fn workers(c: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let layer =
        FairnessLayer::new(kubernetes::defaults().compile().config, 600).expect("a configuration");
    let worker = |n, user| {
        let _entered = runtime.enter();
        serve(n, user, Empty::<Bytes>::new(), |handler| layer.layer(handler))
    };
    let mut group = c.benchmark_group("workers");
    for n_workers in [1, 2] {
        group.bench_function(BenchmarkId::from_parameter(n_workers), |b| {
            b.iter_custom(|n| {
                std::thread::scope(|scope| {
                    let workers = (0..n_workers).map(|user| scope.spawn(move || worker(n, user)));
                    let workers: Vec<_> = workers.collect();
                    let times = workers.into_iter().map(|w| w.join().expect("a worker"));
                    times.max().unwrap_or_default()
                })
            });
        });
    }
    group.finish();
}

criterion_group!(benches, one_worker, workers);
criterion_main!(benches);
