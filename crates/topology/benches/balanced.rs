//! Zone shares of many Services: flows, rounding, figures and the decision. `cargo xtask bench topology`.
//!
//! Target: 5,000 Services on 10 zones in 3 regions in less than 50 ms in all.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use evenkeel_model::{ZoneId, ZoneShares};
use evenkeel_testkit::Cluster;
use evenkeel_topology::{
    Demand,
    auto::ZoneCounts,
    balanced::{Tuning, decide, round, solve},
    demand,
};

const SERVICES: u32 = 5_000;

/// Zones of different CPU in three regions.
fn cluster(zones: u32) -> (Demand, Vec<ZoneId>) {
    let mut cluster = Cluster::default();
    for i in 0..zones {
        let region = cluster.topology.regions.intern(["eu", "us", "asia"][i as usize % 3]);
        let name = format!("zone-{i}");
        cluster.add_node(&name, Some(&name), u64::from(8 + i % 4)).region = Some(region);
    }
    let ids = cluster.nodes.iter().filter_map(|node| node.zone).collect();
    (demand(&cluster.nodes, &cluster.topology), ids)
}

/// 1 to 60 endpoints, unevenly spread, `more` in the first zone.
fn services(ids: &[ZoneId], more: u32) -> Vec<ZoneCounts> {
    let service = |number: u32| {
        let mut seed = number;
        let mut next = |bound: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % bound
        };
        let mut counts: ZoneCounts = [(ids[0], more)].into_iter().collect();
        for _ in 0..1 + next(60) {
            counts.add(ids[next(ids.len() as u32) as usize], 1);
        }
        counts
    };
    (0..SERVICES).map(service).collect()
}

fn shares(c: &mut Criterion) {
    let (demand, ids) = cluster(10);
    let tuning = Tuning::default();
    let ready = services(&ids, 0);
    let best = |ready: &ZoneCounts| decide(&demand, ready, None, false, &tuning).shares;
    let in_force: Vec<Option<ZoneShares>> = ready.iter().map(best).collect();
    let mut group = c.benchmark_group("balanced");
    group.sample_size(20).throughput(Throughput::Elements(u64::from(SERVICES)));
    group.bench_function("flows of 5000 Services, 10 zones", |b| {
        b.iter(|| ready.iter().for_each(|ready| drop(black_box(solve(&demand, ready, 0.0)))));
    });
    group.bench_function("flows and rounding of 5000 Services, 10 zones", |b| {
        let table = |ready| round(&solve(&demand, ready, 0.0));
        b.iter(|| ready.iter().for_each(|ready| drop(black_box(table(ready)))));
    });
    group.bench_function("shares of 5000 Services, 10 zones, from nothing", |b| {
        b.iter(|| ready.iter().for_each(|ready| drop(black_box(best(ready)))));
    });
    for (name, more) in [("unchanged", 0), ("one endpoint more", 1)] {
        let ready = services(&ids, more);
        group.bench_function(format!("shares of 5000 Services, 10 zones, {name}"), |b| {
            b.iter(|| {
                for (ready, in_force) in ready.iter().zip(&in_force) {
                    black_box(decide(&demand, ready, in_force.as_ref(), false, &tuning));
                }
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(std::time::Duration::from_millis(500)).measurement_time(std::time::Duration::from_secs(2)).sample_size(30);
    targets = shares
}
criterion_main!(benches);
