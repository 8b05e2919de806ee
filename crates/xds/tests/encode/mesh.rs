use std::{sync::Arc, time::Duration};

use envoy_types::pb::envoy::{
    config::{
        cluster::v3::{
            Cluster as ClusterMessage,
            cluster::{CommonLbConfig, LbConfig, LbPolicy},
        },
        listener::v3::{Listener as ListenerMessage, filter::ConfigType},
        route::v3::{
            RouteConfiguration, route::Action, route_action::ClusterSpecifier,
            route_match::PathSpecifier,
        },
    },
    extensions::filters::network::{
        http_connection_manager::v3::{
            HttpConnectionManager, http_connection_manager::RouteSpecifier,
        },
        tcp_proxy::v3::{TcpProxy, tcp_proxy},
    },
};
use evenkeel_model::mesh::*;
use evenkeel_xds::encode;
use prost::Message;

fn cluster() -> Cluster {
    Cluster {
        name: "backend".into(),
        protocol: MeshProtocol::Tcp,
        connect_timeout: Duration::from_secs(5),
        endpoints: ClusterEndpoints::Discovered,
        load_balancer: LoadBalancer::RoundRobin,
        locality_weighted: false,
        panic_threshold: None,
        health_checks: Vec::new(),
        outlier_detection: None,
        limits: None,
    }
}

fn sent(cluster: &Cluster) -> ClusterMessage {
    ClusterMessage::decode(encode::cluster(cluster).body()).unwrap()
}

fn routes(matches: RouteMatch, action: RouteAction) -> RouteConfiguration {
    let table = RouteTable { name: "r".into(), routes: vec![Route { matches, action }] };
    RouteConfiguration::decode(encode::route_table(&table).body()).unwrap()
}

fn forward(clusters: &[(&str, u32)]) -> RouteAction {
    let clusters = clusters.iter().map(|(name, weight)| ((*name).into(), *weight)).collect();
    RouteAction::Forward {
        split: Split { clusters, hash_source_ip: false },
        hash_policies: Vec::new(),
        timeout: None,
    }
}

fn action(action: RouteAction) -> Action {
    routes(RouteMatch::default(), action).virtual_hosts[0].routes[0].action.clone().unwrap()
}

fn listener(traffic: Traffic) -> ListenerMessage {
    let listener = Listener {
        name: "l".into(),
        address: "127.0.0.1:8080".parse().unwrap(),
        direction: Direction::Outbound,
        traffic,
    };
    ListenerMessage::decode(encode::listener(&listener).body()).unwrap()
}

#[test]
fn only_what_is_set_is_sent_of_a_cluster() {
    let message = sent(&cluster());
    assert_eq!(message.common_lb_config, None);
    assert!(!message.ignore_health_on_host_removal);
    assert!(message.typed_extension_protocol_options.is_empty());
    assert!(message.eds_cluster_config.is_some());
}

fn check() -> HealthCheck {
    HealthCheck {
        kind: HealthCheckKind::Tcp { send: None, receive: Vec::new() },
        interval: Duration::ZERO,
        timeout: Duration::from_secs(1),
        unhealthy_threshold: 3,
        healthy_threshold: 1,
        initial_jitter: None,
        interval_jitter: None,
        interval_jitter_percent: None,
        no_traffic_interval: None,
        reuse_connection: true,
        always_log_failures: false,
    }
}

#[test]
fn active_checks_do_not_keep_endpoints_that_discovery_removed() {
    let message = sent(&Cluster { health_checks: vec![check()], ..cluster() });
    assert!(message.ignore_health_on_host_removal);
    let at_once = CommonLbConfig {
        update_merge_window: Some(envoy_types::pb::google::protobuf::Duration::default()),
        ..CommonLbConfig::default()
    };
    assert_eq!(message.common_lb_config, Some(at_once), "what checks find is not collected");
    let interval = message.health_checks[0].interval.unwrap();
    assert!(interval.nanos > 0, "Envoy refuses 0");
}

/// Envoy refuses several checks without names. The generated types drop the field.
#[test]
fn several_checks_have_names() {
    let body =
        |n| encode::cluster(&Cluster { health_checks: vec![check(); n], ..cluster() }).body();
    let has = |body: &[u8], text: &[u8]| body.windows(text.len()).any(|window| window == text);
    assert!(has(&body(2), b"\xda\x01\x07check-0") && has(&body(2), b"\xda\x01\x07check-1"));
    assert!(!has(&body(1), b"check-"));
    let message = sent(&Cluster { health_checks: vec![check(); 2], ..cluster() });
    assert_eq!(message.health_checks.len(), 2);
}

#[test]
fn panic_threshold_and_locality_weights_go_together() {
    let message = sent(&Cluster { panic_threshold: Some(0), locality_weighted: true, ..cluster() });
    let common = message.common_lb_config.unwrap();
    assert_eq!(common.healthy_panic_threshold.unwrap().value, 0.0);
    assert!(common.locality_config_specifier.is_some());
}

#[test]
fn load_balancers_have_their_names() {
    let balancers = [
        (LoadBalancer::RoundRobin, LbPolicy::RoundRobin),
        (LoadBalancer::LeastRequest(LeastRequest::default()), LbPolicy::LeastRequest),
        (LoadBalancer::RingHash(RingHash::default()), LbPolicy::RingHash),
        (LoadBalancer::Random, LbPolicy::Random),
        (LoadBalancer::Maglev(Maglev::default()), LbPolicy::Maglev),
    ];
    for (load_balancer, expected) in balancers {
        assert_eq!(sent(&Cluster { load_balancer, ..cluster() }).lb_policy(), expected);
    }
}

#[test]
fn a_ring_is_never_larger_than_its_maximum() {
    let sizes = |min_ring_size, max_ring_size| {
        let ring = RingHash { min_ring_size, max_ring_size, ..RingHash::default() };
        let message = sent(&Cluster { load_balancer: LoadBalancer::RingHash(ring), ..cluster() });
        let Some(LbConfig::RingHashLbConfig(config)) = message.lb_config else { panic!() };
        let value = |size: Option<envoy_types::pb::google::protobuf::UInt64Value>| {
            size.map(|size| size.value)
        };
        (value(config.minimum_ring_size), value(config.maximum_ring_size))
    };
    assert_eq!(sizes(None, None), (None, None));
    assert_eq!(sizes(None, Some(5000)), (None, Some(5000)));
    assert_eq!(sizes(None, Some(100)), (Some(100), Some(100)), "the default minimum is 1024");
    assert_eq!(sizes(Some(u32::MAX), Some(100)), (Some(100), Some(100)));
    assert_eq!(sizes(Some(u32::MAX), None), (Some(8 << 20), None));
}

#[test]
fn http2_is_said_by_one_option() {
    for protocol in [MeshProtocol::Http2, MeshProtocol::Grpc] {
        assert_eq!(
            sent(&Cluster { protocol, ..cluster() }).typed_extension_protocol_options.len(),
            1
        );
    }
}

#[test]
fn a_route_with_one_cluster_has_no_weights() {
    let Action::Route(route) = action(forward(&[("a", 3)])) else { panic!() };
    assert_eq!(route.cluster_specifier, Some(ClusterSpecifier::Cluster("a".into())));
}

#[test]
fn weights_of_clusters_add_up_to_32_bits_and_0_is_left_out() {
    let Action::Route(route) = action(forward(&[("a", u32::MAX), ("none", 0), ("b", u32::MAX)]))
    else {
        panic!()
    };
    let Some(ClusterSpecifier::WeightedClusters(split)) = route.cluster_specifier else { panic!() };
    let weights: Vec<_> = split
        .clusters
        .iter()
        .map(|c| (c.name.as_str(), u64::from(c.weight.unwrap().value)))
        .collect();
    assert_eq!((weights[0].0, weights[1].0), ("a", "b"));
    assert_eq!(weights[0].1, weights[1].1);
    assert!(weights[0].1 * 2 <= u32::MAX.into());
}

#[test]
fn a_route_without_clusters_answers_503() {
    let why = RouteAction::Unavailable { why: "no endpoints in zone-1".into() };
    for unavailable in [why, forward(&[]), forward(&[("a", 0)])] {
        let Action::DirectResponse(response) = action(unavailable) else { panic!() };
        assert_eq!(response.status, 503);
    }
}

#[test]
fn prefixes_match_whole_path_elements() {
    let path = |path: PathMatch| {
        let table = routes(RouteMatch { path, ..RouteMatch::default() }, forward(&[("a", 1)]));
        let matches = table.virtual_hosts[0].routes[0].r#match.clone().unwrap();
        matches.path_specifier.unwrap()
    };
    let separated = |text: &str| PathSpecifier::PathSeparatedPrefix(text.into());
    assert_eq!(path(PathMatch::Prefix("/a".into())), separated("/a"));
    assert_eq!(path(PathMatch::Prefix("/a/".into())), separated("/a"));
    for root in ["/", "//", ""] {
        assert_eq!(path(PathMatch::Prefix(root.into())), PathSpecifier::Prefix("/".into()));
    }
    assert_eq!(path(PathMatch::Any), PathSpecifier::Prefix("/".into()));
}

#[test]
fn http_listeners_ask_for_their_routes_on_the_same_stream() {
    let http = Traffic::Http { route_table: "table".into(), protocol: MeshProtocol::Http };
    let message = listener(http);
    let Some(ConfigType::TypedConfig(any)) = &message.filter_chains[0].filters[0].config_type
    else {
        panic!()
    };
    let manager = HttpConnectionManager::decode(&*any.value).unwrap();
    let Some(RouteSpecifier::Rds(rds)) = manager.route_specifier else { panic!() };
    assert_eq!(rds.route_config_name, "table");
}

#[test]
fn tcp_listeners_split_connections() {
    let clusters: Vec<(Arc<str>, u32)> = vec![("a".into(), 1), ("b".into(), 2)];
    let message = listener(Traffic::Tcp(Split { clusters, hash_source_ip: true }));
    let Some(ConfigType::TypedConfig(any)) = &message.filter_chains[0].filters[0].config_type
    else {
        panic!()
    };
    let proxy = TcpProxy::decode(&*any.value).unwrap();
    assert_eq!(proxy.hash_policy.len(), 1);
    let Some(tcp_proxy::ClusterSpecifier::WeightedClusters(split)) = proxy.cluster_specifier else {
        panic!()
    };
    assert_eq!(split.clusters.iter().map(|c| c.weight).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_tcp_listener_without_clusters_closes_connections() {
    let message = listener(Traffic::Tcp(Split::default()));
    assert!(message.filter_chains[0].filters.is_empty());
    assert_eq!(message.filter_chains.len(), 1);
}
