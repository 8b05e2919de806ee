//! How a client speaks to the instances of a service, and how it chooses among them.

use core::net::SocketAddr;
use std::{num::NonZeroU32, sync::Arc, time::Duration};

/// The instances of a service, or a part of them, as a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub name: Arc<str>,
    pub protocol: MeshProtocol,
    pub connect_timeout: Duration,
    pub endpoints: ClusterEndpoints,
    pub load_balancer: LoadBalancer,
    /// Weights of groups count.
    pub locality_weighted: bool,
    /// Percent of healthy endpoints below which health is ignored; Envoy takes 50 if it is not sent.
    pub panic_threshold: Option<u8>,
    pub health_checks: Vec<HealthCheck>,
    pub outlier_detection: Option<OutlierDetection>,
    pub limits: Option<ConnectionLimits>,
}

/// From where the endpoints come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterEndpoints {
    /// Endpoint discovery, under the cluster's name.
    Discovered,
    /// The workload behind an inbound listener.
    Fixed(SocketAddr),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MeshProtocol {
    #[default]
    Tcp,
    Http,
    Http2,
    Grpc,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LoadBalancer {
    #[default]
    RoundRobin,
    LeastRequest(LeastRequest),
    RingHash(RingHash),
    Random,
    Maglev(Maglev),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeastRequest {
    /// At least 2.
    pub choice_count: Option<u32>,
    /// A decimal number, at least 0.
    pub active_request_bias: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingHash {
    pub hash_function: RingHashFunction,
    pub min_ring_size: Option<u32>,
    pub max_ring_size: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RingHashFunction {
    #[default]
    XxHash,
    MurmurHash2,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Maglev {
    /// A prime number.
    pub table_size: Option<u32>,
}

/// What a hashing load balancer hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashPolicy {
    pub key: HashKey,
    /// Later policies are not consulted if this one gave a hash.
    pub terminal: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    Header(Arc<str>),
    Cookie { name: Arc<str>, ttl: Option<Duration>, path: Option<Arc<str>> },
    SourceIp,
    QueryParameter(Arc<str>),
    FilterState(Arc<str>),
}

/// Requests that a client sends to find out about health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    pub kind: HealthCheckKind,
    pub interval: Duration,
    pub timeout: Duration,
    pub unhealthy_threshold: u32,
    pub healthy_threshold: u32,
    pub initial_jitter: Option<Duration>,
    pub interval_jitter: Option<Duration>,
    pub interval_jitter_percent: Option<u32>,
    pub no_traffic_interval: Option<Duration>,
    pub reuse_connection: bool,
    pub always_log_failures: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthCheckKind {
    /// Connects; sends and expects these bytes.
    Tcp {
        send: Option<Arc<[u8]>>,
        receive: Vec<Arc<[u8]>>,
    },
    Http {
        path: Arc<str>,
        expected_statuses: Vec<u16>,
        request_headers: Vec<(Arc<str>, Arc<str>)>,
    },
    Grpc {
        service_name: Arc<str>,
        authority: Arc<str>,
    },
}

/// Endpoints that fail for real requests are ejected for a while. What is not set is Envoy's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutlierDetection {
    pub interval: Option<Duration>,
    pub base_ejection_time: Option<Duration>,
    pub max_ejection_percent: Option<u32>,
    pub split_external_and_local_errors: bool,
    /// 0 switches a detector off.
    pub consecutive_5xx: Option<u32>,
    pub consecutive_gateway_failure: Option<u32>,
    pub consecutive_local_origin_failure: Option<u32>,
    pub success_rate: Option<SuccessRate>,
    pub failure_percentage: Option<FailurePercentage>,
    /// Healthy part, in percent, below which nothing more is ejected.
    pub healthy_panic_threshold: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuccessRate {
    pub minimum_hosts: Option<u32>,
    pub request_volume: Option<u32>,
    /// Thousandths of the standard deviation.
    pub stdev_factor: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailurePercentage {
    pub minimum_hosts: Option<u32>,
    pub request_volume: Option<u32>,
    pub threshold: Option<u32>,
}

/// Limits of a cluster, as a circuit breaker has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimits {
    pub max_connections: Option<u32>,
    pub max_pending_requests: Option<u32>,
    pub max_requests: Option<u32>,
    pub max_retries: Option<u32>,
    pub max_connection_pools: Option<NonZeroU32>,
}
