//! What a request costs from the door to its end: classify, hash, queue, seat, leave, with
//! Kubernetes' default objects, a real clock and all that is counted; alone and from two threads.

mod together;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use evenkeel_fairness::{
    Groups, Request, Settings, Time, Width,
    dialect::kubernetes,
    dispatcher::{Admission, Cost, Dispatcher},
};

const ACCOUNT: Request<'static> = Request {
    user: "system:serviceaccount:shop:web",
    groups: Groups::Borrowed(&[
        "system:serviceaccounts",
        "system:serviceaccounts:shop",
        "system:authenticated",
    ]),
    verb: "list",
    is_resource: true,
    api_group: "",
    resource: "pods",
    subresource: "",
    namespace: "shop",
    name: "",
    path: "/api/v1/namespaces/shop/pods",
    method: "GET",
    headers: &[],
};

const OTHER_ACCOUNT: Request<'static> =
    Request { user: "system:serviceaccount:shop:cart", ..ACCOUNT };

const NODE: Request<'static> = Request {
    user: "system:node:node-1",
    groups: Groups::Borrowed(&["system:nodes", "system:authenticated"]),
    verb: "patch",
    resource: "nodes",
    subresource: "status",
    namespace: "",
    name: "node-1",
    path: "/api/v1/nodes/node-1/status",
    ..ACCOUNT
};

struct Server {
    dispatcher: Dispatcher<usize>,
    start: Instant,
}

impl Server {
    fn new() -> Self {
        let config = kubernetes::defaults().compile().config;
        let dispatcher = Dispatcher::new(Time(0), config, 600, Settings::default());
        Server { dispatcher: dispatcher.expect("there are shares"), start: Instant::now() }
    }

    fn now(&self) -> Time {
        Time(self.start.elapsed().as_nanos() as u64)
    }

    fn serve(&self, request: &Request<'_>, woken: &mut Vec<usize>) {
        let now = self.now();
        let wait_until = now + Duration::from_secs(15);
        let cost = |_: &_| Cost { width: Width::ONE, wait_until, watch: false };
        let admitted = self.dispatcher.admit(now, request, cost, || 0, woken);
        let Admission::Dispatched(handle) = admitted.admission else { panic!("seats are free") };
        self.dispatcher.leave(self.now(), black_box(handle), woken);
    }
}

fn one_thread(c: &mut Criterion) {
    let mut group = c.benchmark_group("admit to leave");
    for (name, request) in [("service account", ACCOUNT), ("node", NODE)] {
        let (server, mut woken) = (Server::new(), Vec::new());
        group.bench_function(name, |b| {
            b.iter(|| server.serve(black_box(&request), &mut woken));
        });
    }
    group.finish();
}

/// The time that each of two threads needs for a request while the other does the same: as one flow, as
/// two flows of one level, and in two levels.
fn two_threads(c: &mut Criterion) {
    let mut group = c.benchmark_group("admit to leave, two threads");
    let rows = [
        ("one flow", [ACCOUNT, ACCOUNT]),
        ("one level", [ACCOUNT, OTHER_ACCOUNT]),
        ("two levels", [ACCOUNT, NODE]),
    ];
    for (name, requests) in rows {
        let server = Server::new();
        let work = |thread: usize| {
            let (server, request, mut woken) = (&server, &requests[thread], Vec::new());
            move || server.serve(black_box(request), &mut woken)
        };
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter_custom(|n| together::both(n, work));
        });
    }
    group.finish();
}

criterion_group!(benches, one_thread, two_threads);
criterion_main!(benches);
