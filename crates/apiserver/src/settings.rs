//! What a server is told when it starts, and the feature gates.

use std::net::SocketAddr;
use std::path::PathBuf;

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
    pub first: std::net::IpAddr,
    pub prefix: u8,
}

/// Feature gates, by Kubernetes' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    pub service_traffic_distribution: bool,
}

impl Default for Features {
    fn default() -> Features {
        Features { service_traffic_distribution: true }
    }
}
