//! The core alone: from model to decision. `cargo xtask bench topology`.
//!
//! What Kubernetes' own Go code needs on a machine like the one the targets were set on: hints for
//! 10 / 100 / 1,000 / 10,000 endpoints 4 / 18 / 150 / 1,400 µs; selection 0.55 / 4.5 / 40 / 400 µs;
//! the slices of 1,000 Pods 8 ms, also when nothing changed.

use std::{borrow::Cow, collections::BTreeMap, hint::black_box};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_model::{
    Address, AddressType, Candidate, Conditions, Endpoint, Exposure, Few, Hints, Node, Pod,
    Routing, Slice, Topology, Viewpoint,
};
use evenkeel_testkit::{ServiceExt, pod, service};
use evenkeel_topology::{
    Capacity, Draft, Role, Settings, Sync,
    auto::{
        self, bounds,
        least_change::{self, Position},
    },
    measure, plan,
    plan::NodeTable,
    select,
};

const ZONES: [&str; 3] = ["zone-a", "zone-b", "zone-c"];
const SIZES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];

/// Three zones of slightly different CPU, endpoints spread unevenly: some must be given away.
struct World {
    topology: Topology,
    nodes: Vec<Node>,
    capacity: Capacity,
}

fn world(n_nodes: usize) -> World {
    let mut topology = Topology::default();
    let nodes: Vec<Node> = (0..n_nodes)
        .map(|i| Node {
            id: topology.nodes.intern(&format!("node-{i}")),
            zone: Some(topology.zones.intern(ZONES[i % 3])),
            region: None,
            cpu_milli: 4000 + (i % 3) as u64 * 100,
            ready: true,
            control_plane: false,
        })
        .collect();
    let capacity = measure(&nodes, &topology, &Settings::default()).expect("three full zones");
    World { topology, nodes, capacity }
}

fn endpoint(world: &World, i: usize) -> Endpoint {
    // Half of all endpoints are in the first zone.
    let index = i % world.nodes.len();
    let node = &world.nodes[if i.is_multiple_of(2) { index / 3 * 3 } else { index }];
    Endpoint {
        addresses: Few::One(Address::Ip(std::net::Ipv4Addr::from(0x0a00_0000 + i as u32).into())),
        conditions: Conditions::READY,
        hostname: None,
        target: None,
        node: Some(node.id),
        zone: node.zone,
        hints: None,
    }
}

fn slices(world: &World, n: usize) -> Vec<Slice> {
    let endpoints: Vec<Endpoint> = (0..n).map(|i| endpoint(world, i)).collect();
    endpoints
        .chunks(100)
        .enumerate()
        .map(|(i, chunk)| Slice {
            name: format!("web-{i}").into(),
            address_type: AddressType::IPv4,
            ports: Vec::new(),
            endpoints: chunk.to_vec(),
            owner: None,
            labels: BTreeMap::new(),
            shares: None,
        })
        .collect()
}

fn drafts(slices: &[Slice]) -> Vec<Draft<'static>> {
    let draft = |s: &Slice| Draft { role: Role::Update, slice: Cow::Owned(s.clone()) };
    slices.iter().map(draft).collect()
}

fn allocate(c: &mut Criterion) {
    let world = world(300);
    let mut group = c.benchmark_group("allocate");
    for n in SIZES {
        group.throughput(Throughput::Elements(n as u64));
        let places: Vec<Position> = (0..n)
            .map(|i| {
                let zone = endpoint(&world, i).zone.expect("every node has a zone");
                Position { home: world.capacity.index_of(zone), hinted: u16::MAX }
            })
            .collect();
        group.bench_function(BenchmarkId::new("core", n), |b| {
            b.iter(|| {
                let bounds = bounds(&world.capacity, n as u32, 0.2).expect("enough endpoints");
                least_change::assign(black_box(&places), &bounds)
            });
        });
        let slices = slices(&world, n);
        for (name, settings) in
            [("slices", Settings::default()), ("slices-kubernetes", Settings::kubernetes())]
        {
            group.bench_function(BenchmarkId::new(name, n), |b| {
                b.iter_batched_ref(
                    || drafts(&slices),
                    |drafts| auto::assign(drafts, Ok(&world.capacity), false, &settings),
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

fn selection(c: &mut Criterion) {
    let world = world(300);
    let settings = Settings::default();
    let mut group = c.benchmark_group("select");
    for n in SIZES {
        group.throughput(Throughput::Elements(n as u64));
        let candidates: Vec<Candidate> = (0..n)
            .map(|i| {
                let mut endpoint = endpoint(&world, i);
                endpoint.hints = endpoint.zone.map(Hints::zone);
                Candidate::from(&endpoint)
            })
            .collect();
        let from = Viewpoint { node: Some(world.nodes[1].id), zone: world.nodes[1].zone };
        group.bench_function(BenchmarkId::new("candidates", n), |b| {
            b.iter(|| {
                select(from, Exposure::default(), black_box(&candidates), Routing::Hints, &settings)
            });
        });
        let endpoints: Vec<Endpoint> = (0..n)
            .map(|i| {
                let endpoint = endpoint(&world, i);
                Endpoint { hints: endpoint.zone.map(Hints::zone), ..endpoint }
            })
            .collect();
        group.bench_function(BenchmarkId::new("endpoints", n), |b| {
            b.iter(|| {
                select(from, Exposure::default(), black_box(&endpoints), Routing::Hints, &settings)
            });
        });
    }
    group.finish();
}

fn pods(world: &World, n: usize) -> Vec<Pod> {
    let node = |i: usize| world.nodes[i % world.nodes.len()].id;
    (0..n).map(|i| pod(&format!("pod-{i:05}"), node(i), i)).collect()
}

fn slice_plan(c: &mut Criterion) {
    let world = world(300);
    let settings = Settings::default();
    let nodes: NodeTable = world.nodes.iter().cloned().collect();
    let service = service("web").auto();
    let mut group = c.benchmark_group("plan");
    for n in [100, 1_000, 10_000] {
        group.throughput(Throughput::Elements(n as u64));
        let pods = pods(&world, n);
        let pods: Vec<&Pod> = pods.iter().collect();
        let demand = evenkeel_topology::Demand::default();
        let sync = |existing| Sync {
            service: &service,
            pods: &pods,
            nodes: &nodes,
            capacity: Ok(&world.capacity),
            demand: &demand,
            existing,
            populated: true,
            settings: &settings,
        };
        let mut existing = plan(&sync(&[])).create;
        for (i, slice) in existing.iter_mut().enumerate() {
            slice.name = format!("web-{i}").into();
        }
        let existing: Vec<&Slice> = existing.iter().collect();
        assert!(plan(&sync(&existing)).is_empty(), "planning twice changes nothing");
        group.bench_function(BenchmarkId::new("from-nothing", n), |b| {
            b.iter(|| plan(&sync(black_box(&[]))));
        });
        group.bench_function(BenchmarkId::new("unchanged", n), |b| {
            b.iter(|| plan(&sync(black_box(&existing))));
        });
    }
    group.finish();
}

/// 5,000 Services with 100,000 endpoints in all on 5,000 nodes.
fn cluster(c: &mut Criterion) {
    let world = world(5_000);
    let settings = Settings::default();
    let services: Vec<Vec<Slice>> = (0..5_000).map(|_| slices(&world, 20)).collect();
    let mut group = c.benchmark_group("cluster");
    group.sample_size(20).throughput(Throughput::Elements(100_000));
    group.bench_function("hints of 5000 Services, 100000 endpoints", |b| {
        b.iter_batched_ref(
            || services.iter().map(|s| drafts(s)).collect::<Vec<_>>(),
            |services| {
                for drafts in services {
                    auto::assign(drafts, Ok(&world.capacity), false, &settings)
                        .expect("twenty endpoints are enough");
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("capacity of 5000 nodes", |b| {
        b.iter(|| measure(black_box(&world.nodes), &world.topology, &settings));
    });
    group.finish();
}

/// Cost grows linearly: 100,000 endpoints as 100 Services of 1,000 and as one Service. Both touch
/// as much memory, so that caches favour neither.
fn linear(c: &mut Criterion) {
    let world = world(300);
    let settings = Settings::default();
    let from = Viewpoint { node: Some(world.nodes[1].id), zone: world.nodes[1].zone };
    let mut group = c.benchmark_group("linear");
    group.sample_size(20).throughput(Throughput::Elements(100_000));
    for (n_services, n) in [(100, 1_000), (1, 100_000)] {
        let services: Vec<Vec<Slice>> = (0..n_services).map(|_| slices(&world, n)).collect();
        let name = format!("{n_services} x {n}");
        group.bench_function(BenchmarkId::new("allocate", &name), |b| {
            b.iter_batched_ref(
                || services.iter().map(|s| drafts(s)).collect::<Vec<_>>(),
                |services| {
                    for drafts in services {
                        auto::assign(drafts, Ok(&world.capacity), false, &settings)
                            .expect("enough endpoints");
                    }
                },
                BatchSize::LargeInput,
            );
        });
        let hinted = |s: &Slice| -> Vec<Endpoint> {
            let hints = |e: &Endpoint| Endpoint { hints: e.zone.map(Hints::zone), ..e.clone() };
            s.endpoints.iter().map(hints).collect()
        };
        let endpoints: Vec<Vec<Endpoint>> =
            services.iter().map(|slices| slices.iter().flat_map(hinted).collect()).collect();
        group.bench_function(BenchmarkId::new("select", &name), |b| {
            b.iter(|| {
                for endpoints in &endpoints {
                    let exposure = Exposure::default();
                    black_box(select(
                        from,
                        exposure,
                        black_box(endpoints),
                        Routing::Hints,
                        &settings,
                    ));
                }
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2)).sample_size(30);
    targets = allocate, selection, slice_plan, cluster, linear
}
criterion_main!(benches);
