//! From API objects to what decisions read: the fast paths beside full conversion, and manifests.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_k8s::{Objects, convert::endpoint_slice, fast, manifest, snapshot};
use evenkeel_model::Topology;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::json;

/// Slices of 100 endpoints in three zones, in the order a controller that packs slices as Pods
/// come leaves them: `nodes` nodes, neighbours in different zones.
fn slices(endpoints: usize, nodes: usize) -> Vec<EndpointSlice> {
    let endpoint = |nth: usize| {
        let zone = format!("eu-central-1{}", ["a", "b", "c"][nth % 3]);
        json!({
            "addresses": [format!("10.{}.{}.{}", nth >> 16, nth >> 8 & 255, nth & 255)],
            "conditions": {"ready": true, "serving": true, "terminating": false},
            "nodeName": format!("ip-10-0-{}-{}.eu-central-1.compute.internal", nth % nodes / 256, nth % nodes % 256),
            "zone": zone,
            "targetRef": {"kind": "Pod", "namespace": "shop", "name": format!("web-{nth}"),
                "uid": format!("uid-{nth}")},
            "hints": {"forZones": [{"name": zone}]},
        })
    };
    let slice = |first: usize| {
        let endpoints: Vec<_> = (first..endpoints.min(first + 100)).map(endpoint).collect();
        json!({"metadata": {"name": format!("web-{first}")}, "addressType": "IPv4",
            "endpoints": endpoints})
    };
    let slices = (0..endpoints).step_by(100).map(slice);
    slices.map(|json| serde_json::from_value(json).expect("the JSON is a slice")).collect()
}

fn fast_paths(criterion: &mut Criterion) {
    for (endpoints, nodes) in [(100, 30), (1_000, 100), (100_000, 1_000)] {
        let slices = slices(endpoints, nodes);
        let mut topology = Topology::default();
        let mut group = criterion.benchmark_group(format!("{endpoints} endpoints"));
        group.throughput(Throughput::Elements(endpoints as u64));
        group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
        group.bench_function("candidates", |bench| {
            bench.iter(|| fast::candidates(black_box(&slices), &mut topology));
        });
        group.bench_function("ready_zones", |bench| {
            bench.iter(|| fast::ready_zones(black_box(&slices), &mut topology));
        });
        group.sample_size(10);
        group.bench_function("endpoint_slice", |bench| {
            bench.iter(|| {
                for slice in black_box(&slices) {
                    black_box(endpoint_slice(&mut topology, slice).expect("the slice is right"));
                }
            });
        });
        group.finish();
    }
}

fn manifests(criterion: &mut Criterion) {
    let node = |nth: usize| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{nth}"),
            "labels": {"topology.kubernetes.io/zone": "eu-central-1a"}},
            "status": {"allocatable": {"cpu": "3920m"},
                "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    let json: String = (0..1_000).map(|nth| node(nth).to_string()).collect();
    let yaml = (0..1_000).map(|nth| {
        format!(
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: n{nth}\n  labels:\n    \
             topology.kubernetes.io/zone: eu-central-1a\nstatus:\n  allocatable:\n    \
             cpu: 3920m\n  conditions:\n  - type: Ready\n    status: \"True\"\n"
        )
    });
    let yaml: String = yaml.collect();
    let mut group = criterion.benchmark_group("1000 nodes");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    group.sample_size(20);
    for (name, text) in [("json", json), ("yaml", yaml)] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let mut objects = Objects::default();
                manifest::parse(name, black_box(&text), &mut objects).expect("the text is right");
                snapshot::build(objects).expect("the objects are right")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, fast_paths, manifests);
criterion_main!(benches);
