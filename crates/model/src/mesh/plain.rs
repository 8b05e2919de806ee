//! A Service of Kubernetes as a destination: its instances, and which of them its own topology gives
//! to clients. The crate `topology` selects; a policy of the mesh may decide otherwise.

use core::net::SocketAddr;
use std::{collections::BTreeMap, num::NonZeroU16, sync::Arc};

use super::{MeshProtocol, Tags};
use crate::Selection;

/// One port of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainService {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub port: NonZeroU16,
    pub port_name: Option<Arc<str>>,
    pub labels: Tags,
    pub protocol: MeshProtocol,
    /// Each address once.
    pub instances: Vec<Instance>,
    pub selections: Selections,
}

/// One endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub address: SocketAddr,
    pub tags: Tags,
    pub state: InstanceState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    Ready,
    NotReady,
    /// About to end; `serving`: it still answers.
    Terminating {
        serving: bool,
    },
}

/// Which instances clients use, by index. The first entry for a client's place counts: its zone in
/// `ruled_zones`, its node, its zone in `zones`, `elsewhere`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selections {
    pub ruled_zones: BTreeMap<Arc<str>, Selection>,
    pub nodes: BTreeMap<Arc<str>, Selection>,
    pub zones: BTreeMap<Arc<str>, Selection>,
    pub elsewhere: Selection,
}

// === impl PlainService ===

impl PlainService {
    /// Its name in a mesh, which is that of Kuma: `NAME_NAMESPACE_svc_PORT`.
    pub fn mesh_name(name: &str, namespace: &str, port: NonZeroU16) -> Arc<str> {
        format!("{name}_{namespace}_svc_{port}").into()
    }
}

// === impl Selections ===

impl Selections {
    /// What clients of a zone, on a node, use.
    pub fn of(&self, zone: Option<&str>, node: Option<&str>) -> &Selection {
        let ruled = zone.and_then(|zone| self.ruled_zones.get(zone));
        let of_node = || self.nodes.get(node?);
        let of_zone = || self.zones.get(zone?);
        ruled.or_else(of_node).or_else(of_zone).unwrap_or(&self.elsewhere)
    }

    /// Clients of one zone may differ.
    pub fn is_by_node(&self) -> bool {
        !self.nodes.is_empty()
    }
}
