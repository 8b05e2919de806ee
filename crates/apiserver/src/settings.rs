//! What a server is told when it starts, and the feature gates.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

/// Settings of one server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the journal, the keys and the kubeconfig are; `None` keeps all in memory.
    pub data: Option<PathBuf>,
    pub listen: SocketAddr,
    /// Addresses for Services; the first family is the default. One range or two of different
    /// families, as `--service-cluster-ip-range` has them.
    pub service_ranges: Vec<IpRange>,
    /// Inclusive.
    pub node_ports: (u16, u16),
    pub features: Features,
    /// Collect objects whose owners are gone, and empty namespaces that are deleted.
    pub housekeeping: bool,
    /// A file of `token,user,uid,"group1,group2"` lines, as `--token-auth-file`.
    pub tokens: Option<PathBuf>,
    pub authorization: Authorization,
    /// Whether health may be asked without credentials. All else needs them.
    pub anonymous_health: bool,
    /// Play a scheduler, kubelets and controllers, so that objects come alive.
    pub sandbox: Option<Sandbox>,
}

/// How the sandbox plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// How long a Pod runs before it is ready.
    pub ready_after: Duration,
    /// How long a Pod takes to end, within its grace period.
    pub end_after: Duration,
    /// How long a Node may send no heartbeat before it counts as lost.
    pub node_grace: Duration,
    /// How long Pods stay on a lost Node, where they do not say it themselves.
    pub pod_eviction: Duration,
    /// How often Nodes send heartbeats. Each is a write.
    pub heartbeat: Duration,
    /// Addresses for Pods.
    pub pod_cidr: IpRange,
    /// Addresses for Pods of the other family; where Services have two, there is always one.
    pub second_pod_cidr: Option<IpRange>,
}

/// Who may do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// `system:masters` may do all, others what Kubernetes lets everybody do.
    #[default]
    Masters,
    /// Whoever is known may do all, as `--authorization-mode=AlwaysAllow`.
    AlwaysAllow,
}

/// A range of addresses: `10.96.0.0/12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpRange {
    pub first: IpAddr,
    pub prefix: u8,
}

/// Feature gates, by Kubernetes' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub service_traffic_distribution: bool,
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

impl Default for Features {
    fn default() -> Features {
        Features { service_traffic_distribution: true }
    }
}
