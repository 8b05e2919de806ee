//! `Cluster`.

use std::{collections::HashMap, time::Duration};

use envoy_types::pb::envoy::{
    config::{
        cluster::v3::{
            CircuitBreakers, Cluster as Message,
            circuit_breakers::Thresholds,
            cluster::{
                ClusterDiscoveryType, CommonLbConfig, DiscoveryType, EdsClusterConfig, LbConfig,
                LbPolicy, LeastRequestLbConfig, MaglevLbConfig, RingHashLbConfig,
                common_lb_config::{LocalityConfigSpecifier, LocalityWeightedLbConfig},
                ring_hash_lb_config,
            },
        },
        core::v3::{Http2ProtocolOptions, RuntimeDouble},
        endpoint::v3::{
            ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints,
            lb_endpoint::HostIdentifier,
        },
    },
    extensions::upstreams::http::v3::{
        HttpProtocolOptions,
        http_protocol_options::{
            ExplicitHttpConfig, UpstreamProtocolOptions, explicit_http_config::ProtocolConfig,
        },
    },
};
use evenkeel_model::mesh::{
    Cluster, ClusterEndpoints, ConnectionLimits, LeastRequest, LoadBalancer, MeshProtocol,
    RingHash, RingHashFunction,
};
use prost::Message as _;

use crate::{
    encode::{
        health::{health_checks, outlier_detection},
        values::{address, ads, any, duration, long, number, percent, positive},
    },
    resource::{Resource, ResourceType},
    wire::put_bytes,
};

/// A field of `Cluster`.
const HEALTH_CHECKS: u32 = 8;

const HTTP_OPTIONS: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";

/// Envoy's bounds of a hash ring and of a Maglev table.
const MAX_RING: u32 = 8 << 20;
const DEFAULT_MIN_RING: u32 = 1024;
const MAX_TABLE: u32 = 5_000_011;

/// A cluster.
pub fn cluster(cluster: &Cluster) -> Resource {
    let mut body = message(cluster).encode_to_vec();
    for check in health_checks(&cluster.health_checks) {
        put_bytes(&mut body, HEALTH_CHECKS, &check);
    }
    Resource::new(ResourceType::Cluster, cluster.name.clone(), &body)
}

fn message(cluster: &Cluster) -> Message {
    let mut message = Message {
        name: cluster.name.to_string(),
        connect_timeout: Some(positive(cluster.connect_timeout)),
        common_lb_config: common(cluster),
        // Otherwise an endpoint that discovery took away stays until a check fails.
        ignore_health_on_host_removal: !cluster.health_checks.is_empty(),
        outlier_detection: cluster.outlier_detection.as_ref().map(outlier_detection),
        circuit_breakers: cluster.limits.as_ref().map(circuit_breakers),
        typed_extension_protocol_options: protocol(cluster.protocol),
        ..Message::default()
    };
    endpoints(&mut message, cluster);
    balance(&mut message, &cluster.load_balancer);
    message
}

fn endpoints(message: &mut Message, cluster: &Cluster) {
    let kind = match cluster.endpoints {
        ClusterEndpoints::Discovered => {
            let config = EdsClusterConfig { eds_config: Some(ads()), service_name: String::new() };
            message.eds_cluster_config = Some(config);
            DiscoveryType::Eds
        }
        ClusterEndpoints::Fixed(socket) => {
            let endpoint = Endpoint { address: Some(address(socket)), ..Endpoint::default() };
            let endpoint = LbEndpoint {
                host_identifier: Some(HostIdentifier::Endpoint(endpoint)),
                ..LbEndpoint::default()
            };
            message.load_assignment = Some(ClusterLoadAssignment {
                cluster_name: cluster.name.to_string(),
                endpoints: vec![LocalityLbEndpoints {
                    lb_endpoints: vec![endpoint],
                    ..LocalityLbEndpoints::default()
                }],
                ..ClusterLoadAssignment::default()
            });
            DiscoveryType::Static
        }
    };
    message.cluster_discovery_type = Some(ClusterDiscoveryType::Type(kind.into()));
}

fn balance(message: &mut Message, balancer: &LoadBalancer) {
    let (policy, config) = match balancer {
        LoadBalancer::RoundRobin => (LbPolicy::RoundRobin, None),
        LoadBalancer::Random => (LbPolicy::Random, None),
        LoadBalancer::LeastRequest(settings) => {
            let config = LbConfig::LeastRequestLbConfig(least_request(settings));
            (LbPolicy::LeastRequest, Some(config))
        }
        LoadBalancer::RingHash(settings) => {
            (LbPolicy::RingHash, Some(LbConfig::RingHashLbConfig(ring_hash(settings))))
        }
        LoadBalancer::Maglev(settings) => {
            let table_size = settings.table_size.map(|size| long(size.clamp(1, MAX_TABLE)));
            (LbPolicy::Maglev, Some(LbConfig::MaglevLbConfig(MaglevLbConfig { table_size })))
        }
    };
    message.lb_policy = policy.into();
    message.lb_config = config;
}

fn least_request(settings: &LeastRequest) -> LeastRequestLbConfig {
    let bias = settings.active_request_bias.as_deref().and_then(|text| text.parse::<f64>().ok());
    LeastRequestLbConfig {
        choice_count: settings.choice_count.map(|count| number(count.max(2))),
        active_request_bias: bias.filter(|bias| bias.is_finite() && *bias >= 0.0).map(|bias| {
            // Envoy demands the name of a runtime setting that may replace the value.
            let runtime_key = "upstream.least_request.active_request_bias".to_owned();
            RuntimeDouble { default_value: bias, runtime_key }
        }),
        slow_start_config: None,
    }
}

fn ring_hash(settings: &RingHash) -> RingHashLbConfig {
    use ring_hash_lb_config::HashFunction;
    let function = match settings.hash_function {
        RingHashFunction::XxHash => HashFunction::XxHash,
        RingHashFunction::MurmurHash2 => HashFunction::MurmurHash2,
    };
    let maximum = settings.max_ring_size.map(|size| size.clamp(1, MAX_RING));
    // A maximum below the default of the minimum would be refused.
    let smaller = maximum.filter(|maximum| *maximum < DEFAULT_MIN_RING);
    let minimum = settings.min_ring_size.or(smaller);
    let minimum = minimum.map(|size| size.min(maximum.unwrap_or(MAX_RING)));
    RingHashLbConfig {
        minimum_ring_size: minimum.map(long),
        maximum_ring_size: maximum.map(long),
        hash_function: function.into(),
    }
}

fn common(cluster: &Cluster) -> Option<CommonLbConfig> {
    let outlier = cluster.outlier_detection.as_ref();
    let panic = cluster.panic_threshold.or(outlier.and_then(|o| o.healthy_panic_threshold));
    let weighted = cluster
        .locality_weighted
        .then_some(LocalityConfigSpecifier::LocalityWeightedLbConfig(LocalityWeightedLbConfig {}));
    // Otherwise Envoy collects what it finds out about health by itself for a second before its workers act
    // on it. What is discovered takes effect at once in any case.
    let finds_out = !cluster.health_checks.is_empty() || outlier.is_some();
    let merge_window = finds_out.then(|| duration(Duration::ZERO));
    if panic.is_none() && weighted.is_none() && merge_window.is_none() {
        return None;
    }
    Some(CommonLbConfig {
        healthy_panic_threshold: panic.map(percent),
        locality_config_specifier: weighted,
        update_merge_window: merge_window,
        ..CommonLbConfig::default()
    })
}

fn circuit_breakers(limits: &ConnectionLimits) -> CircuitBreakers {
    CircuitBreakers {
        thresholds: vec![Thresholds {
            max_connections: limits.max_connections.map(number),
            max_pending_requests: limits.max_pending_requests.map(number),
            max_requests: limits.max_requests.map(number),
            max_retries: limits.max_retries.map(number),
            max_connection_pools: limits.max_connection_pools.map(|n| number(n.get())),
            ..Thresholds::default()
        }],
        per_host_thresholds: Vec::new(),
    }
}

/// HTTP/1.1 is Envoy's default.
fn protocol(protocol: MeshProtocol) -> HashMap<String, envoy_types::pb::google::protobuf::Any> {
    if matches!(protocol, MeshProtocol::Tcp | MeshProtocol::Http) {
        return HashMap::new();
    }
    let http2 = ProtocolConfig::Http2ProtocolOptions(Http2ProtocolOptions::default());
    let explicit = ExplicitHttpConfig { protocol_config: Some(http2) };
    let options = HttpProtocolOptions {
        upstream_protocol_options: Some(UpstreamProtocolOptions::ExplicitHttpConfig(explicit)),
        ..HttpProtocolOptions::default()
    };
    HashMap::from([(HTTP_OPTIONS.to_owned(), any(&options))])
}
