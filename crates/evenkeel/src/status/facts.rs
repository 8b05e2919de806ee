//! The facts about a cluster that the checks are made from.

use evenkeel_k8s::live::ClusterSource;
use evenkeel_model::ServiceKey;
use evenkeel_topology::Policy;

use super::LeaseName;
use crate::access::{Answer, Permission};

/// What was read, or why it could not be read.
pub(super) type Fetched<T> = Result<T, String>;

#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// `None`: no kubeconfig was found.
    pub source: Option<ClusterSource>,
    pub cluster: Result<Box<Cluster>, Unreachable>,
}

/// No request to the API server can be made.
#[derive(Clone, Debug)]
pub(super) struct Unreachable {
    pub problem: String,
    pub help: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// The version of Kubernetes.
    pub version: Fetched<String>,
    /// In seconds since 1970.
    pub now: i64,
    pub access: Vec<(Permission, Answer)>,
    pub nodes: Fetched<Vec<Node>>,
    /// The Leases that a controller may hold. Those that do not exist are left out.
    pub leases: Fetched<Vec<Lease>>,
    /// What the proxies of nodes report.
    pub proxies: Fetched<Vec<Proxy>>,
    pub services: Fetched<Vec<Service>>,
    pub slices: Fetched<Vec<Slice>>,
    /// Events about failed syncs.
    pub failures: Fetched<Vec<Failure>>,
    pub metrics: Metrics,
    /// `None`: no URL of a mesh's control plane is known.
    pub mesh: Option<Mesh>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub name: String,
    pub is_ready: bool,
    /// `spec.unschedulable`.
    pub is_cordoned: bool,
    pub is_control_plane: bool,
    pub zone: Option<String>,
    pub region: Option<String>,
    pub has_cpu: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub name: LeaseName,
    pub holder: Option<String>,
    /// In seconds since 1970.
    pub renewed: Option<i64>,
    pub duration_seconds: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Proxy {
    pub node: String,
    /// In seconds since 1970.
    pub renewed: Option<i64>,
    pub valid_for_seconds: i64,
    /// Services that it can't serve as they are.
    pub exceptions: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Service {
    pub key: ServiceKey,
    /// In seconds since 1970.
    pub created: Option<i64>,
    /// With a selector of either kind, so that a controller writes its slices.
    pub has_selector: bool,
    /// The policy it requests, with all feature gates on.
    pub policy: Policy,
    /// Of the types that the controller writes, with and without prefix.
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub kind: String,
    pub status: bool,
    pub reason: String,
    pub message: String,
}

#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub service: ServiceKey,
    pub manager: String,
    pub endpoints: usize,
    pub ready: usize,
    pub shares: Shares,
}

/// The annotation `evenkeel.dev/zone-shares`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shares {
    #[default]
    None,
    Valid,
    /// Why the table is ignored.
    Invalid(String),
}

#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub service: ServiceKey,
    /// In seconds since 1970.
    pub at: Option<i64>,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Metrics {
    /// Their URL is not known.
    NotChecked,
    Unreachable {
        url: String,
        problem: String,
    },
    Read {
        url: String,
        syncs: Syncs,
    },
}

/// Syncs since the controller started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Syncs {
    pub success: u64,
    pub stale: u64,
    pub error: u64,
}

/// The control plane of a mesh.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    pub url: String,
    pub found: Fetched<ControlPlane>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ControlPlane {
    /// Why it is not ready.
    pub unready: Option<String>,
    pub connected: usize,
    /// Dataplanes whose proxy is not connected.
    pub not_connected: usize,
    /// Proxies that reject what they were sent.
    pub rejecting: Vec<String>,
    /// Resources, each with what is wrong with it.
    pub invalid: Vec<String>,
}

// === impl Lease ===

impl Lease {
    /// Seconds since a holder renewed it; `None` if nobody holds it.
    pub(super) fn age(&self, now: i64) -> Option<i64> {
        self.holder.as_deref().filter(|holder| !holder.is_empty())?;
        Some(now.saturating_sub(self.renewed?).max(0))
    }

    /// Whether its holder is active.
    pub(super) fn is_fresh(&self, now: i64) -> bool {
        self.age(now).is_some_and(|age| age <= self.duration_seconds)
    }
}

// === impl Proxy ===

impl Proxy {
    pub(super) fn is_fresh(&self, now: i64) -> bool {
        self.renewed.is_some_and(|renewed| now.saturating_sub(renewed) <= self.valid_for_seconds)
    }
}

/// The Lease of the controller: the one renewed last of those that are held, else any.
///
/// A Lease in another namespace may be left over from an earlier installation.
pub(super) fn current_lease(leases: &[Lease], now: i64) -> Option<&Lease> {
    leases.iter().min_by_key(|lease| (!lease.is_fresh(now), lease.age(now).unwrap_or(i64::MAX)))
}
