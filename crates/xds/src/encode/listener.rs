//! `Listener`.

use std::sync::Arc;

use envoy_types::pb::envoy::{
    config::{
        core::v3::TrafficDirection,
        listener::v3::{Filter, FilterChain, Listener as Message, filter::ConfigType},
    },
    extensions::filters::{
        http::router::v3::Router,
        network::{
            http_connection_manager::v3::{
                HttpConnectionManager, HttpFilter, Rds, http_connection_manager::RouteSpecifier,
                http_connection_manager::UpgradeConfig, http_filter,
            },
            tcp_proxy::v3::{
                TcpProxy,
                tcp_proxy::{ClusterSpecifier, WeightedCluster, weighted_cluster::ClusterWeight},
            },
        },
    },
    r#type::v3::{HashPolicy, hash_policy},
};
use evenkeel_model::mesh::{Direction, Listener, Split, Traffic};

use crate::{
    encode::{
        resource,
        route::weights,
        values::{address, ads, any},
    },
    resource::{Resource, ResourceType},
};

/// A listener.
pub fn listener(listener: &Listener) -> Resource {
    let direction = match listener.direction {
        Direction::Inbound => TrafficDirection::Inbound,
        Direction::Outbound => TrafficDirection::Outbound,
    };
    let filters = match &listener.traffic {
        Traffic::Http { route_table, .. } => vec![http(&listener.name, route_table)],
        // Envoy closes a connection for which there is no filter.
        Traffic::Tcp(split) => tcp(&listener.name, split).into_iter().collect(),
    };
    let message = Message {
        name: listener.name.to_string(),
        address: Some(address(listener.address)),
        filter_chains: vec![FilterChain { filters, ..FilterChain::default() }],
        traffic_direction: direction.into(),
        ..Message::default()
    };
    resource(ResourceType::Listener, &listener.name, &message)
}

/// The protocol's version is found from the first bytes of a connection.
fn http(name: &Arc<str>, route_table: &Arc<str>) -> Filter {
    let router = HttpFilter {
        name: "envoy.filters.http.router".to_owned(),
        config_type: Some(http_filter::ConfigType::TypedConfig(any(&Router::default()))),
        ..HttpFilter::default()
    };
    let rds = Rds { config_source: Some(ads()), route_config_name: route_table.to_string() };
    let manager = HttpConnectionManager {
        stat_prefix: name.to_string(),
        route_specifier: Some(RouteSpecifier::Rds(rds)),
        http_filters: vec![router],
        upgrade_configs: vec![UpgradeConfig {
            upgrade_type: "websocket".to_owned(),
            ..UpgradeConfig::default()
        }],
        ..HttpConnectionManager::default()
    };
    Filter {
        name: "envoy.filters.network.http_connection_manager".to_owned(),
        config_type: Some(ConfigType::TypedConfig(any(&manager))),
    }
}

fn tcp(name: &Arc<str>, split: &Split) -> Option<Filter> {
    let weights = weights(split);
    let cluster_specifier = match weights.as_slice() {
        [] => return None,
        [(cluster, _)] => ClusterSpecifier::Cluster(cluster.to_string()),
        many => ClusterSpecifier::WeightedClusters(WeightedCluster {
            clusters: many
                .iter()
                .map(|(name, weight)| ClusterWeight {
                    name: name.to_string(),
                    weight: *weight,
                    metadata_match: None,
                })
                .collect(),
        }),
    };
    let source = hash_policy::PolicySpecifier::SourceIp(hash_policy::SourceIp {});
    let hash_policy = split.hash_source_ip.then_some(HashPolicy { policy_specifier: Some(source) });
    let proxy = TcpProxy {
        stat_prefix: name.to_string(),
        hash_policy: hash_policy.into_iter().collect(),
        cluster_specifier: Some(cluster_specifier),
        ..TcpProxy::default()
    };
    Some(Filter {
        name: "envoy.filters.network.tcp_proxy".to_owned(),
        config_type: Some(ConfigType::TypedConfig(any(&proxy))),
    })
}
