//! What one proxy is sent fits together.

#![expect(clippy::unwrap_used, reason = "all of it is a test")]

use std::{sync::Arc, time::Duration};

use evenkeel_model::mesh::*;
use evenkeel_xds::snapshot::check;

fn cluster(name: &str, endpoints: ClusterEndpoints) -> Arc<Cluster> {
    Arc::new(Cluster {
        name: name.into(),
        protocol: MeshProtocol::Http,
        connect_timeout: Duration::from_secs(5),
        endpoints,
        load_balancer: LoadBalancer::RoundRobin,
        locality_weighted: false,
        panic_threshold: None,
        health_checks: Vec::new(),
        outlier_detection: None,
        limits: None,
    })
}

fn split(name: &str) -> Split {
    Split { clusters: vec![(name.into(), 1)], hash_source_ip: false }
}

fn listener(name: &str, traffic: Traffic) -> Arc<Listener> {
    let address = "127.0.0.1:1".parse().unwrap();
    Arc::new(Listener { name: name.into(), address, direction: Direction::Inbound, traffic })
}

fn config() -> ProxyConfig {
    let fixed = ClusterEndpoints::Fixed("127.0.0.1:2".parse().unwrap());
    let action =
        RouteAction::Forward { split: split("a"), hash_policies: Vec::new(), timeout: None };
    let route = Route { matches: RouteMatch::default(), action };
    let http = Traffic::Http { route_table: "r".into(), protocol: MeshProtocol::Http };
    ProxyConfig {
        clusters: vec![cluster("a", ClusterEndpoints::Discovered), cluster("local", fixed)],
        listeners: vec![listener("http", http), listener("tcp", Traffic::Tcp(split("local")))],
        routes: vec![Arc::new(RouteTable { name: "r".into(), routes: vec![route] })],
    }
}

fn found(config: &ProxyConfig) -> Vec<String> {
    check(config, |name| name == "a").iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_configuration_has_no_inconsistency() {
    assert!(found(&config()).is_empty());
}

#[test]
fn what_is_missing_is_named_with_its_user() {
    let mut broken = config();
    broken.clusters = vec![cluster("b", ClusterEndpoints::Discovered)];
    assert_eq!(
        found(&broken),
        [
            "cluster b has no load assignment",
            "listener tcp uses cluster local, which does not exist",
            "route table r uses cluster a, which does not exist",
        ]
    );
    let without_routes = ProxyConfig { routes: Vec::new(), ..config() };
    assert_eq!(found(&without_routes), ["listener http uses route table r, which does not exist"]);
}

#[test]
fn names_are_unique() {
    let mut twice = config();
    twice.clusters.push(twice.clusters[0].clone());
    assert_eq!(found(&twice), ["CDS has two resources named a"]);
}
