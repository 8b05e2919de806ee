//! The view of consumers: loading it, and one change at a time. `cargo xtask bench consumer`.
//!
//! Targets: 10,000 Services of 10 endpoints in 150 ms (and 60 MB: `tests/consumer/cost.rs`); a slice of
//! 100 endpoints of which one changed, to the delta of the selection, in 5 µs, with 100 endpoints and
//! with 5,000.

use std::{collections::BTreeMap, hint::black_box, net::Ipv4Addr, sync::Arc, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_model::{
    Address, AddressType, Conditions, Endpoint, EndpointPort, Few, Frontends, Hints, Id, NodeId,
    Protocol, RareFrontends, Service, ServiceKey, SharesAnnotation, Slice, Viewpoint, ZoneId,
    ZoneShares, label,
};
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Settings,
    consumer::{Delta, Selector, View},
};

fn zone(index: usize) -> ZoneId {
    ZoneId::from_index(1 + u32::try_from(index % 3).expect("small"))
}

fn address(index: usize) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 + u32::try_from(index).expect("small"))
}

fn endpoint(index: usize) -> Endpoint {
    Endpoint {
        addresses: Few::One(Address::Ip(address(index).into())),
        conditions: Conditions::READY,
        hostname: None,
        target: None,
        node: Some(NodeId::from_index(1 + u32::try_from(index % 100).expect("small"))),
        zone: Some(zone(index)),
        hints: Some(Hints::zone(zone(index))),
    }
}

fn slice(service: &Service, name: String, first: usize, n: usize) -> Slice {
    Slice {
        name: name.into(),
        address_type: AddressType::IPv4,
        ports: vec![EndpointPort {
            name: "http".into(),
            protocol: Protocol::Tcp,
            port: Some(8080),
            app_protocol: None,
        }],
        endpoints: (first..first + n).map(endpoint).collect(),
        owner: Some(Arc::clone(&service.uid)),
        labels: BTreeMap::from([
            (label::SERVICE_NAME.into(), Arc::clone(&service.key.name)),
            (label::MANAGED_BY.into(), label::EVENKEEL.into()),
        ]),
        shares: None,
    }
}

fn services(n: usize) -> Vec<Service> {
    let one = |i: usize| Service {
        key: ServiceKey::new("shop", format!("service-{i}")),
        frontends: Frontends::new(
            Few::One(Ipv4Addr::from(0x0b00_0000 + u32::try_from(i).expect("small")).into()),
            RareFrontends::default(),
        ),
        ..service(&format!("service-{i}"))
    };
    (0..n).map(one).collect()
}

fn from() -> Viewpoint {
    Viewpoint { node: Some(NodeId::from_index(1)), zone: Some(zone(0)) }
}

fn load(c: &mut Criterion) {
    let services = services(10_000);
    let namespace: Arc<str> = "shop".into();
    let slice = |(i, s): (usize, &Service)| slice(s, format!("{}-x", s.key.name), i * 10, 10);
    let slices: Vec<Slice> = services.iter().enumerate().map(slice).collect();
    let mut group = c.benchmark_group("load");
    group.sample_size(10).throughput(Throughput::Elements(10_000));
    for selecting in [false, true] {
        let name = if selecting { "and select" } else { "view" };
        group.bench_function(BenchmarkId::new(name, "10000 x 10"), |b| {
            b.iter_batched(
                || services.clone(),
                |services| {
                    let mut view: View = View::new(Settings::default());
                    for (service, slice) in services.into_iter().zip(&slices) {
                        view.apply_service(service);
                        view.apply_slice(&namespace, slice);
                    }
                    if selecting {
                        let (mut selector, mut delta) = (Selector::new(from()), Delta::default());
                        let changes = view.changes();
                        for change in changes.ports() {
                            selector.update(&changes, &change, &mut delta);
                            black_box(&delta);
                        }
                    }
                    view
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// One slice in two states.
struct Churn {
    view: View,
    selector: Selector,
    delta: Delta,
    states: [Slice; 2],
    next: usize,
}

impl Churn {
    fn new(n: usize, service: Service, change: impl Fn(&mut Slice)) -> Self {
        let service = Service { key: ServiceKey::new("shop", "web"), ..service };
        let rows = |i| (zone(i), vec![(zone(i), 750), (zone(i + 1), 250)]);
        let table = ZoneShares::new((0..3).map(rows));
        let mut slices: Vec<Slice> = (0..n.div_ceil(100))
            .map(|i| slice(&service, format!("web-{i:03}"), i * 100, 100))
            .collect();
        slices[0].shares = Some(SharesAnnotation::Valid(Arc::new(table)));
        let before = slices[slices.len() / 2].clone();
        let mut after = before.clone();
        change(&mut after);
        let settings = Settings { controller_name: label::EVENKEEL.into(), ..Settings::default() };
        let mut churn = Churn {
            view: View::new(settings),
            selector: Selector::new(from()),
            delta: Delta::default(),
            states: [after, before],
            next: 0,
        };
        churn.view.apply_service(service);
        for slice in &slices {
            churn.view.apply_slice(&"shop".into(), slice);
        }
        churn.follow();
        churn
    }

    fn follow(&mut self) {
        let changes = self.view.changes();
        for change in changes.ports() {
            self.selector.update(&changes, &change, &mut self.delta);
        }
    }

    fn step(&mut self, namespace: &Arc<str>) {
        self.view.apply_slice(namespace, &self.states[self.next]);
        self.next = 1 - self.next;
        self.follow();
        black_box(&self.delta);
    }
}

fn one_change(c: &mut Criterion) {
    let namespace: Arc<str> = "shop".into();
    let mut group = c.benchmark_group("one change");
    let unready = |slice: &mut Slice| {
        slice.endpoints[57].conditions.ready = Some(false);
        slice.endpoints[57].conditions.serving = Some(false);
    };
    let gone = |slice: &mut Slice| drop(slice.endpoints.remove(57));
    let replaced = |slice: &mut Slice| slice.endpoints[57] = endpoint(100_000);
    let balanced = || service("web").annotated(label::TRAFFIC_DISTRIBUTION, "Balanced");
    for n in [100, 5_000] {
        let cases: [(&str, Churn); 5] = [
            ("ready and not, hints", Churn::new(n, service("web"), unready)),
            ("ready and not, Balanced", Churn::new(n, balanced(), unready)),
            ("gone and back, hints", Churn::new(n, service("web"), gone)),
            ("another Pod, hints", Churn::new(n, service("web"), replaced)),
            ("nothing changed", Churn::new(n, service("web"), |_| ())),
        ];
        for (name, mut churn) in cases {
            group.bench_function(BenchmarkId::new(name, n), |b| b.iter(|| churn.step(&namespace)));
        }
    }
    group.finish();
}

/// A change of the rule looks at every endpoint once.
fn rule_change(c: &mut Criterion) {
    let namespace: Arc<str> = "shop".into();
    let mut group = c.benchmark_group("rule change");
    for n in [100, 5_000] {
        let mut churn = Churn::new(n, service("web"), |slice| slice.endpoints[57].hints = None);
        group.bench_function(BenchmarkId::new("a hint goes and comes", n), |b| {
            b.iter(|| churn.step(&namespace));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2)).sample_size(30);
    targets = load, one_change, rule_change
}
criterion_main!(benches);
