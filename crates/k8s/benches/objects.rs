//! From API objects to the model: conversion, manifests, and the JSON of a watch in the form that
//! watches decode into and by way of whole objects.

use std::{hint::black_box, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_k8s::{Objects, convert::endpoint_slice, manifest, snapshot, watched};
use evenkeel_model::{Slice, Topology};
use k8s_openapi::{List, api::discovery::v1::EndpointSlice};
use kube::core::ObjectList;
use serde_json::json;

const ENDPOINT: &str = r#"{
    "addresses": ["$ip"],
    "conditions": {"ready": true, "serving": true, "terminating": false},
    "targetRef": {"kind": "Pod", "namespace": "shop", "name": "web-7d4b9c6f5-$nth",
        "uid": "0b6c8a52-6f0e-4d3a-9a57-0000000$nth"},
    "nodeName": "$node",
    "zone": "$zone",
    "hints": {"forZones": [{"name": "$zone"}]}
}"#;

const SLICE: &str = r#"{
    "kind": "EndpointSlice",
    "apiVersion": "discovery.k8s.io/v1",
    "metadata": {
        "name": "web-$first", "generateName": "web-", "namespace": "shop",
        "uid": "4f6c8a52-6f0e-4d3a-9a57-0000000$first", "resourceVersion": "$first",
        "generation": 7, "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "web", "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"},
        "annotations": {
            "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "web",
            "uid": "9e0f5f8e-6f0e-4d3a-9a57-000000000000",
            "controller": true, "blockOwnerDeletion": true}],
        "managedFields": [{"manager": "kube-controller-manager", "operation": "Update",
            "apiVersion": "discovery.k8s.io/v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": {
                "f:addressType": {}, "f:endpoints": {}, "f:metadata": {
                    "f:annotations": {".": {},
                        "f:endpoints.kubernetes.io/last-change-trigger-time": {}},
                    "f:generateName": {},
                    "f:labels": {".": {}, "f:app": {}, "f:kubernetes.io/service-name": {},
                        "f:endpointslice.kubernetes.io/managed-by": {}},
                    "f:ownerReferences": {".": {},
                        "k:{\"uid\":\"9e0f5f8e-6f0e-4d3a-9a57-000000000000\"}": {}}},
                "f:ports": {}}}]
    },
    "addressType": "IPv4",
    "endpoints": [$endpoints],
    "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]
}"#;

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

fn whole(criterion: &mut Criterion) {
    for (endpoints, nodes) in [(100, 30), (1_000, 100), (100_000, 1_000)] {
        let slices = slices(endpoints, nodes);
        let mut topology = Topology::default();
        let mut group = criterion.benchmark_group(format!("{endpoints} endpoints"));
        group.throughput(Throughput::Elements(endpoints as u64));
        group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
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
                snapshot::build(&objects).expect("the objects are right")
            });
        });
    }
    group.finish();
}

/// Slices of `each` endpoints as an API server writes them: with these fields, in this order, and
/// without white space.
fn slices_on_the_wire(endpoints: usize, each: usize, nodes: usize) -> Vec<String> {
    let [slice, endpoint] =
        [SLICE, ENDPOINT].map(|text| text.split_whitespace().collect::<String>());
    let endpoint = |nth: usize| {
        let (high, low) = (nth % nodes / 256, nth % nodes % 256);
        endpoint
            .replace("$ip", &format!("10.{}.{}.{}", nth >> 16, nth >> 8 & 255, nth & 255))
            .replace("$nth", &format!("{nth:05}"))
            .replace("$node", &format!("ip-10-0-{high}-{low}.eu-central-1.compute.internal"))
            .replace("$zone", ["eu-central-1a", "eu-central-1b", "eu-central-1c"][nth % 3])
    };
    let slice = |first: usize| {
        let nths = first..endpoints.min(first + each);
        let list: Vec<_> = nths.map(endpoint).collect();
        slice.replace("$first", &format!("{first:05}")).replace("$endpoints", &list.join(","))
    };
    (0..endpoints).step_by(each).map(slice).collect()
}

type Way<T> = fn(&[u8], &mut Topology) -> T;

fn as_watched(json: &[u8], topology: &mut Topology) -> Slice {
    let slice: watched::EndpointSlice = serde_json::from_slice(json).expect("the JSON is a slice");
    slice.seen(topology).expect("the slice is right").slice
}

fn by_way_of_objects(json: &[u8], topology: &mut Topology) -> Slice {
    let slice: EndpointSlice = serde_json::from_slice(json).expect("the JSON is a slice");
    endpoint_slice(topology, &slice).expect("the slice is right")
}

fn list_as_watched(json: &[u8], topology: &mut Topology) -> Vec<Slice> {
    let list: ObjectList<watched::EndpointSlice> =
        serde_json::from_slice(json).expect("the JSON is a list");
    let slices = list.items.iter().map(|slice| slice.seen(topology).map(|seen| seen.slice));
    slices.collect::<Result<_, _>>().expect("the slices are right")
}

fn list_by_way_of_objects(json: &[u8], topology: &mut Topology) -> Vec<Slice> {
    let list: List<EndpointSlice> = serde_json::from_slice(json).expect("the JSON is a list");
    let slices = list.items.iter().map(|slice| endpoint_slice(topology, slice));
    slices.collect::<Result<_, _>>().expect("the slices are right")
}

/// Slices one by one, as they come in a watch, and all in one list.
fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    group.sample_size(20);
    for (endpoints, each, nodes) in [(1_000, 100, 100), (100_000, 100, 1_000), (100_000, 10, 1_000)]
    {
        let slices = slices_on_the_wire(endpoints, each, nodes);
        let list = format!(
            r#"{{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{{}},"items":[{}]}}"#,
            slices.join(",")
        );
        let mut topology = Topology::default();
        group.throughput(Throughput::Bytes(slices.iter().map(|json| json.len() as u64).sum()));
        let ways: [(&str, Way<Slice>); 2] =
            [("watched", as_watched), ("objects", by_way_of_objects)];
        for (name, way) in ways {
            group.bench_function(format!("{endpoints} by {each} {name}"), |bench| {
                bench.iter_with_large_drop(|| {
                    let slices = black_box(&slices).iter();
                    slices.map(|json| way(json.as_bytes(), &mut topology)).collect::<Vec<_>>()
                });
            });
        }
        group.throughput(Throughput::Bytes(list.len() as u64));
        let ways: [(&str, Way<Vec<Slice>>); 2] =
            [("watched", list_as_watched), ("objects", list_by_way_of_objects)];
        for (name, way) in ways {
            group.bench_function(format!("{endpoints} by {each} {name} list"), |bench| {
                let list = list.as_bytes();
                bench.iter_with_large_drop(|| way(black_box(list), &mut topology));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, whole, manifests, decode);
criterion_main!(benches);
