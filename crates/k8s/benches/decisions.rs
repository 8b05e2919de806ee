//! From decoded API objects to decisions, end to end. `cargo xtask bench topology`.
//!
//! Slices are in the form that decisions have them in, which is the model's (*slim*). The core alone
//! is measured in `topology/benches/topology.rs`, where Kubernetes' own figures stand too.

use std::{borrow::Cow, hint::black_box, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_k8s::convert;
use evenkeel_model::{Endpoint, Exposure, Node, Routing, Slice, Topology, Viewpoint};
use evenkeel_testkit::{ServiceExt, service};
use evenkeel_topology::{
    Capacity, Draft, Role, Settings, Sync, auto, measure, plan, plan::NodeTable, select,
};
use k8s_openapi::api::{core::v1::Pod, discovery::v1::EndpointSlice};
use serde_json::json;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const ZONES: [&str; 3] = ["eu-central-1a", "eu-central-1b", "eu-central-1c"];

struct World {
    topology: Topology,
    nodes: Vec<Node>,
    capacity: Capacity,
}

fn node_name(i: usize) -> String {
    format!("ip-10-0-{}-{}.eu-central-1.compute.internal", i / 256, i % 256)
}

fn world(n_nodes: usize) -> World {
    let mut topology = Topology::default();
    let nodes: Vec<Node> = (0..n_nodes)
        .map(|i| Node {
            id: topology.nodes.intern(&node_name(i)),
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

/// Half of the endpoints are in the first zone, so that some must be given away.
fn objects(n: usize, hinted: bool) -> Vec<EndpointSlice> {
    let endpoint = |i: usize| {
        let zone = ZONES[if i.is_multiple_of(2) { 0 } else { i % 3 }];
        let hints = json!({"forZones": [{"name": zone}]});
        json!({
            "addresses": [format!("10.{}.{}.{}", i >> 16, i >> 8 & 255, i & 255)],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": node_name(i % 300),
            "zone": zone,
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": format!("web-{i}"),
                "uid": format!("uid-{i}")},
            "hints": if hinted { hints } else { json!(null) },
        })
    };
    let slice = |first: usize| {
        let endpoints: Vec<_> = (first..n.min(first + 100)).map(endpoint).collect();
        json!({"metadata": {"name": format!("web-{first}")}, "addressType": "IPv4",
            "endpoints": endpoints})
    };
    let slices = (0..n).step_by(100).map(slice);
    slices.map(|json| serde_json::from_value(json).expect("the JSON is a slice")).collect()
}

fn slim(objects: &[EndpointSlice], topology: &mut Topology) -> Vec<Slice> {
    let slice = |o| convert::endpoint_slice(topology, o).expect("the object is right");
    objects.iter().map(slice).collect()
}

fn drafts(slices: &[Slice]) -> Vec<Draft<'_>> {
    let draft = |s: &Slice| Draft { role: Role::Update, slice: Cow::Owned(s.clone()) };
    slices.iter().map(draft).collect()
}

fn allocate(c: &mut Criterion) {
    let mut world = world(300);
    let settings = Settings::default();
    let mut group = c.benchmark_group("decisions/allocate");
    for n in SIZES {
        group.throughput(Throughput::Elements(n as u64));
        let objects = objects(n, false);
        let slices = slim(&objects, &mut world.topology);
        group.bench_function(BenchmarkId::new("slim", n), |b| {
            b.iter_batched_ref(
                || drafts(&slices),
                |drafts| auto::assign(drafts, Ok(&world.capacity), false, &settings),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn selection(c: &mut Criterion) {
    let mut world = world(300);
    let settings = Settings::default();
    let from = Viewpoint { node: Some(world.nodes[1].id), zone: world.nodes[1].zone };
    let mut group = c.benchmark_group("decisions/select");
    for n in SIZES {
        group.throughput(Throughput::Elements(n as u64));
        let objects = objects(n, true);
        let slices = slim(&objects, &mut world.topology);
        let endpoints: Vec<Endpoint> = slices.into_iter().flat_map(|s| s.endpoints).collect();
        group.bench_function(BenchmarkId::new("slim", n), |b| {
            b.iter(|| {
                select(from, Exposure::default(), black_box(&endpoints), Routing::Hints, &settings)
            });
        });
    }
    group.finish();
}

fn pods(n: usize) -> Vec<Pod> {
    let pod = |i: usize| {
        json!({
            "metadata": {"namespace": "default", "name": format!("web-{i:05}"), "uid": format!("uid-{i:05}"),
                "labels": {"app": "web"}},
            "spec": {"nodeName": node_name(i % 300), "containers": [{"name": "web"}]},
            "status": {"phase": "Running", "podIP": format!("10.0.{}.{}", i >> 8, i & 255),
                "podIPs": [{"ip": format!("10.0.{}.{}", i >> 8, i & 255)}],
                "conditions": [{"type": "Ready", "status": "True"}]},
        })
    };
    (0..n).map(|i| serde_json::from_value(pod(i)).expect("the JSON is a Pod")).collect()
}

/// The slices of a Service from its Pods as API objects, and the slices that exist.
fn slice_plan(c: &mut Criterion) {
    let mut world = world(300);
    let settings = Settings::default();
    let nodes: NodeTable = world.nodes.iter().cloned().collect();
    let service = service("web").auto();
    let mut group = c.benchmark_group("decisions/plan");
    for n in [100, 1_000, 10_000] {
        group.throughput(Throughput::Elements(n as u64));
        let objects = pods(n);
        let mut run = |existing: &[Slice]| {
            let pod = |o| convert::pod(&mut world.topology, o).expect("the object is right");
            let pods: Vec<_> = objects.iter().map(pod).collect();
            plan(&Sync {
                service: &service,
                pods: &pods.iter().collect::<Vec<_>>(),
                nodes: &nodes,
                capacity: Ok(&world.capacity),
                demand: &evenkeel_topology::Demand::default(),
                existing: &existing.iter().collect::<Vec<_>>(),
                populated: true,
                settings: &settings,
            })
        };
        let mut existing = run(&[]).create;
        for (i, slice) in existing.iter_mut().enumerate() {
            slice.name = format!("web-{i}").into();
        }
        assert!(run(&existing).is_empty(), "planning twice changes nothing");
        group.bench_function(BenchmarkId::new("from-nothing", n), |b| {
            b.iter(|| run(black_box(&[])));
        });
        group.bench_function(BenchmarkId::new("unchanged", n), |b| {
            b.iter(|| run(black_box(&existing)));
        });
    }
    group.finish();
}

/// 5,000 Services with 100,000 endpoints in all on 5,000 nodes: all hints.
fn cluster(c: &mut Criterion) {
    let mut world = world(5_000);
    let settings = Settings::default();
    let services: Vec<Vec<Slice>> =
        (0..5_000).map(|_| slim(&objects(20, false), &mut world.topology)).collect();
    let mut group = c.benchmark_group("decisions/cluster");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    group.bench_function("hints of 5000 Services, 100000 endpoints", |b| {
        b.iter_batched_ref(
            || services.iter().map(|slices| drafts(slices)).collect::<Vec<_>>(),
            |services| {
                for drafts in services {
                    black_box(auto::assign(drafts, Ok(&world.capacity), false, &settings).is_ok());
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    targets = allocate, selection, slice_plan, cluster
}
criterion_main!(benches);
