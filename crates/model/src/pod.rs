//! A Pod, as far as it becomes an endpoint.

use core::net::IpAddr;
use std::sync::Arc;

use crate::{NodeId, Protocol};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodPhase {
    Pending,
    #[default]
    Running,
    Succeeded,
    Failed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerPort {
    pub name: Arc<str>,
    pub port: u16,
    pub protocol: Protocol,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    /// All of `status.podIPs`, in order.
    pub ips: Vec<IpAddr>,
    pub node: Option<NodeId>,
    pub phase: PodPhase,
    /// The Ready condition is true.
    pub ready: bool,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    pub hostname: Option<Arc<str>>,
    pub subdomain: Option<Arc<str>>,
    /// Named ports of containers, then of restartable init containers (sidecars): the order in
    /// which a named target port is looked up.
    pub ports: Vec<ContainerPort>,
    /// Bound to a part of the nodes by a node selector or a required node affinity.
    pub confined: bool,
    /// Owned by a DaemonSet. Read from manifests and lists; watches leave it out.
    pub daemon_set: bool,
}

impl Pod {
    /// Whether the Pod belongs into a slice at all: it has an address and has not run to its end.
    pub fn has_endpoint(&self) -> bool {
        !self.ips.is_empty() && !matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }
}
