use std::time::{Duration, Instant};

use evenkeel_model::TrafficPolicy;
use evenkeel_testkit::{Cluster, ServiceExt, World, service};

use crate::{explained, settled};

fn large(service: evenkeel_model::Service) -> World {
    let mut cluster = Cluster::default();
    for i in 0..3_000 {
        cluster.add_node(&format!("node-{i}"), Some(["a", "b", "c"][i % 3]), 4);
    }
    settled(cluster, service, &[("a", 10_000), ("b", 10_000), ("c", 10_000)])
}

/// Far above what is linear, even unoptimised on a busy machine, and far below what is not.
const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn the_cost_of_an_explanation_does_not_grow_with_the_square_of_endpoints_or_nodes() {
    let near = |value| service("web").distribution(value);
    let local = near("PreferSameZone").internal(TrafficPolicy::Local);
    for service in [near("PreferSameZone"), near("PreferSameNode"), local] {
        let world = large(service);
        let start = Instant::now();
        let explanation = explained(&world);
        let took = start.elapsed();
        assert_eq!(explanation.families[0].ready, 30_000);
        assert!(took < LIMIT, "{took:?}");
    }
}
