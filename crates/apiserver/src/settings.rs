//! Settings of a server, and the feature gates.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

/// Settings of one server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder of the journal, the keys and the kubeconfig; `None` keeps everything in memory.
    pub data: Option<PathBuf>,
    pub listen: SocketAddr,
    /// Addresses for Services; the first family is the default. One range or two of different
    /// families, as for `--service-cluster-ip-range`.
    pub service_ranges: Vec<IpRange>,
    /// Inclusive.
    pub node_ports: (u16, u16),
    pub features: Features,
    /// Collect objects whose owners are gone, and empty namespaces that are deleted.
    pub housekeeping: bool,
    /// A file of `token,user,uid,"group1,group2"` lines, as for `--token-auth-file`.
    pub tokens: Option<PathBuf>,
    pub authorization: Authorization,
    /// Whether health checks are allowed without credentials. Everything else needs them.
    pub anonymous_health: bool,
    /// Simulate a scheduler, kubelets and controllers, so that objects behave as in a real cluster.
    pub sandbox: Option<Sandbox>,
    pub service_accounts: ServiceAccounts,
    pub fairness: FairnessSettings,
    /// Install the CustomResourceDefinitions of `evenkeel.dev` at startup. Those that
    /// [`FairnessSource::Resources`] needs are installed in any case.
    pub install_definitions: bool,
}

/// How many requests the server runs at once, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairnessSettings {
    /// Classify and queue requests, as for `--enable-priority-and-fairness`. Otherwise only the two
    /// limits below apply, each to its own requests.
    pub enabled: bool,
    pub profile: FairnessProfile,
    /// With [`max_mutating_requests_inflight`](Self::max_mutating_requests_inflight), the seats of
    /// the server. 0 for both is an error.
    pub max_requests_inflight: u32,
    pub max_mutating_requests_inflight: u32,
    /// The longest time that a request waits; `None`: a quarter of the time that it may take, as in
    /// Kubernetes.
    pub queue_wait_limit: Option<Duration>,
    pub source: FairnessSource,
}

/// Where priority levels and flow schemas come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FairnessSource {
    /// The stored FlowSchemas and PriorityLevelConfigurations of `flowcontrol.apiserver.k8s.io/v1`.
    #[default]
    Kubernetes,
    /// The stored FlowSchemas and RequestPriorities of `evenkeel.dev/v1alpha1`, which is the
    /// proposal's dialect. They are custom resources; their definitions are installed.
    Resources,
    /// A folder with objects of the proposal's dialect.
    Files(PathBuf),
}

/// Whose algorithm is used where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FairnessProfile {
    #[default]
    Evenkeel,
    /// As kube-apiserver, to compare.
    Kubernetes,
    /// As the proposal of 2019.
    Proposal,
}

/// Settings of the tokens of ServiceAccounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccounts {
    /// The first one issues tokens, those of all are accepted, as for `--service-account-issuer`.
    /// There is at least one.
    pub issuers: Vec<String>,
    /// What this server accepts tokens for, as for `--api-audiences`; the issuers if empty.
    pub api_audiences: Vec<String>,
    /// The longest lifetime of a token, as for `--service-account-max-token-expiration`.
    pub max_token_expiration: Option<Duration>,
    /// Let tokens of Pods live longer than was asked for, if their clients may not read them again,
    /// as for `--service-account-extend-token-expiration`.
    pub extend_token_expiration: bool,
}

/// Settings of the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// How long a Pod takes to become ready.
    pub ready_after: Duration,
    /// How long a Pod takes to terminate, within its grace period.
    pub end_after: Duration,
    /// How long a Node may go without a heartbeat before it counts as lost.
    pub node_grace: Duration,
    /// How long Pods stay on a lost Node, unless they specify it themselves.
    pub pod_eviction: Duration,
    /// How often Nodes send heartbeats. Each is a write.
    pub heartbeat: Duration,
    /// Addresses for Pods.
    pub pod_cidr: IpRange,
    /// Addresses for Pods of the other family; always set if Services are dual-stack.
    pub second_pod_cidr: Option<IpRange>,
}

/// The authorization mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// `system:masters` is allowed everything, Nodes what concerns them, others what their roles
    /// allow, as with `--authorization-mode=Node,RBAC`.
    #[default]
    Rbac,
    /// Every authenticated user is allowed everything, as with `--authorization-mode=AlwaysAllow`.
    AlwaysAllow,
}

/// A range of addresses: `10.96.0.0/12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    pub first: IpAddr,
    pub prefix: u8,
}

/// Feature gates, by Kubernetes' names, and one of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub service_traffic_distribution: bool,
    /// `spec.trafficDistribution` accepts `<domain>/<name>` besides Kubernetes' values. Ours.
    pub traffic_distribution_domains: bool,
}

/// Kubernetes' default ranges, in memory, on a free port of the loopback address, without sandbox.
impl Default for Settings {
    fn default() -> Settings {
        Settings {
            data: None,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            service_ranges: vec![IpRange { first: [10, 96, 0, 0].into(), prefix: 12 }],
            node_ports: (30000, 32767),
            features: Features::default(),
            housekeeping: true,
            tokens: None,
            authorization: Authorization::default(),
            anonymous_health: true,
            sandbox: None,
            service_accounts: ServiceAccounts::default(),
            fairness: FairnessSettings::default(),
            install_definitions: false,
        }
    }
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox {
            ready_after: Duration::from_secs(1),
            end_after: Duration::from_secs(1),
            node_grace: Duration::from_secs(40),
            pod_eviction: Duration::from_secs(300),
            heartbeat: Duration::from_secs(10),
            pod_cidr: IpRange { first: IpAddr::V4(Ipv4Addr::new(10, 244, 0, 0)), prefix: 16 },
            second_pod_cidr: None,
        }
    }
}

impl Default for FairnessSettings {
    fn default() -> FairnessSettings {
        FairnessSettings {
            enabled: true,
            profile: FairnessProfile::default(),
            max_requests_inflight: 400,
            max_mutating_requests_inflight: 200,
            queue_wait_limit: None,
            source: FairnessSource::default(),
        }
    }
}

impl FairnessSettings {
    /// The seats of the server.
    pub fn limit(&self) -> u32 {
        self.max_requests_inflight.saturating_add(self.max_mutating_requests_inflight)
    }
}

/// The name of the API server in every cluster.
const ISSUER: &str = "https://kubernetes.default.svc";

impl Default for ServiceAccounts {
    fn default() -> ServiceAccounts {
        ServiceAccounts {
            issuers: vec![ISSUER.to_owned()],
            api_audiences: Vec::new(),
            max_token_expiration: None,
            extend_token_expiration: true,
        }
    }
}

impl ServiceAccounts {
    pub(crate) fn issuer(&self) -> &str {
        self.issuers.first().map_or(ISSUER, String::as_str)
    }

    pub(crate) fn audiences(&self) -> &[String] {
        if self.api_audiences.is_empty() { &self.issuers } else { &self.api_audiences }
    }

    pub(crate) fn max_seconds(&self) -> Option<i64> {
        self.max_token_expiration.map(|most| i64::try_from(most.as_secs()).unwrap_or(i64::MAX))
    }
}

impl Default for Features {
    fn default() -> Features {
        Features { service_traffic_distribution: true, traffic_distribution_domains: false }
    }
}
