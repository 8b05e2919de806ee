//! What proxies cost that never read. Alone in its process, whose memory it measures.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod plane;

use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use evenkeel_xds::ResourceType;
use plane::{DeltaClient, Plane, breaker, client, node, server, subscribe};
use serde_json::Value;

const SILENT: usize = 50;
const SERVICES: usize = 200;

#[tokio::test]
async fn proxies_that_never_read_cost_no_more_with_each_change() {
    let services: Vec<String> = (0..SERVICES).map(|n| format!("service-{n:03}")).collect();
    let services: Vec<&str> = services.iter().map(String::as_str).collect();
    let mut objects = vec![server("s1", "web", 1, true), client("reads", &["web"])];
    objects.extend((0..SILENT).map(|n| client(&format!("silent-{n}"), &services)));
    let mut plane = Plane::start(objects).await;
    let mut reader = DeltaClient::settled(plane.ready.listen, "default.reads").await;
    let mut silent = Vec::new();
    for n in 0..SILENT {
        let first = DeltaDiscoveryRequest {
            node: Some(node(&format!("default.silent-{n}"))),
            ..subscribe(ResourceType::Cluster, &[])
        };
        silent.push(DeltaClient::open(plane.ready.listen, first).await.unwrap());
    }
    let connected = |value: &Value| value["proxies"].as_array().unwrap().len() == 1 + SILENT;
    plane.until("/mesh/proxies", connected).await;

    change_all_clusters(&mut plane, &mut reader, 0..50).await;
    let before = resident();
    change_all_clusters(&mut plane, &mut reader, 50..250).await;
    let grown = resident().saturating_sub(before);
    // If each were owed all states, that would be more than a gigabyte.
    assert!(grown < 16 << 20, "{grown} bytes more");
    drop(silent);
    plane.stop().await;
}

/// One change after the other, each of all clusters of all proxies.
async fn change_all_clusters(
    plane: &mut Plane,
    reader: &mut DeltaClient,
    changes: std::ops::Range<u32>,
) {
    for n in changes {
        plane.apply(breaker(n % 2 + 1));
        for kind in [ResourceType::Cluster, ResourceType::Endpoint] {
            assert_eq!(reader.take_news().await.type_url, kind.type_url());
        }
    }
}

/// In bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: usize = line.split_whitespace().next().unwrap().parse().unwrap();
    kilobytes << 10
}
