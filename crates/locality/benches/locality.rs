//! Grouping the endpoints of a service: from 10 to 100,000 endpoints, with one rule and with the most.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{
    hint::black_box,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_locality::{
    Client, Compat, Errors, FieldPath, Strategy, assign, strategy::LocalityAwareness,
};
use evenkeel_model::mesh::{EndpointHealth, MeshEndpoint};
use serde_json::{Value, json};

const SIZES: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
const ZONES: u32 = 10;
const NODES: u32 = 20;

fn benches(c: &mut Criterion) {
    let simple = json!({"crossZone": {"failover": [{"to": {"type": "Any"}}]}});
    let rules: Vec<Value> = (0..128)
        .map(|n| json!({"to": {"type": "Only", "zones": [format!("zone-{}", n % 16)]}}))
        .collect();
    let tags: Vec<Value> =
        (0..10).map(|n| json!({"key": format!("tag-{n}"), "weight": 100 - n})).collect();
    let most = json!({"localZone": {"affinityTags": tags}, "crossZone": {"failover": rules}});
    for (name, awareness) in [("one rule", simple), ("10 tags, 128 rules", most)] {
        let strategy = strategy(&awareness);
        let mut group = c.benchmark_group(format!("assign/{name}"));
        for size in SIZES {
            let endpoints: Vec<_> = (0..size).map(endpoint).collect();
            group.throughput(Throughput::Elements(size.into()));
            group.bench_with_input(
                BenchmarkId::from_parameter(size),
                &endpoints,
                |b, endpoints| {
                    b.iter(|| assign(black_box(&client()), black_box(endpoints), &strategy));
                },
            );
        }
        group.finish();
    }
}

fn strategy(value: &Value) -> Strategy {
    let mut errors = Errors::default();
    let path = FieldPath::root("localityAwareness");
    let awareness = LocalityAwareness::decode(value, path, &mut errors);
    Strategy::new(awareness.as_ref(), Compat::Record).unwrap()
}

fn client() -> Client {
    let tags = (0..10).map(|n| (format!("tag-{n}").into(), ["node-0".into()].into()));
    Client { zone: Some("zone-0".into()), tags: tags.collect(), labels: Default::default() }
}

fn endpoint(n: u32) -> Arc<MeshEndpoint> {
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n)), 80);
    let node = format!("node-{}", n / ZONES % NODES);
    let tags = (0..10).map(|tag| (format!("tag-{tag}").into(), node.as_str().into()));
    Arc::new(MeshEndpoint {
        address,
        zone: Some(format!("zone-{}", n % ZONES).into()),
        tags: Arc::new(tags.collect()),
        weight: None,
        health: EndpointHealth::Healthy,
    })
}

criterion_group!(locality, benches);
criterion_main!(locality);
