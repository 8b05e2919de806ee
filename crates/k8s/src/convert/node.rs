//! Nodes.

use evenkeel_model::{Node, NodeId, Topology, ZoneId, label};
use k8s_openapi::api::core::v1 as core;

use crate::{convert::FieldError, excerpt, quantity};

/// A Node. An empty zone label is no zone, as for Kubernetes' topology cache.
pub fn node(topology: &mut Topology, node: &core::Node) -> Result<Node, FieldError> {
    let labels = node.metadata.labels.as_ref();
    let has = |key: &str| labels.is_some_and(|labels| labels.contains_key(key));
    Ok(Node {
        id: id(topology, node),
        zone: zone(topology, node),
        cpu_milli: cpu_milli(node)?,
        ready: is_ready(node),
        control_plane: has(label::CONTROL_PLANE) || has(label::MASTER),
    })
}

fn id(topology: &mut Topology, node: &core::Node) -> NodeId {
    let name = node.metadata.name.as_deref();
    topology.nodes.intern(name.unwrap_or_default())
}

fn zone(topology: &mut Topology, node: &core::Node) -> Option<ZoneId> {
    let name = node.metadata.labels.as_ref()?.get(label::ZONE)?;
    (!name.is_empty()).then(|| topology.zones.intern(name))
}

fn cpu_milli(node: &core::Node) -> Result<u64, FieldError> {
    let status = node.status.as_ref();
    let allocatable = status.and_then(|status| status.allocatable.as_ref());
    let Some(cpu) = allocatable.and_then(|allocatable| allocatable.get("cpu")) else {
        return Ok(0);
    };
    quantity::milli(&cpu.0).map_err(|error| {
        let found = excerpt::quoted(&cpu.0);
        let problem = format!("{found} {error}; expected something like 4 or 3920m");
        FieldError::new("status.allocatable.cpu", problem)
    })
}

/// The first condition of a type counts, as in Kubernetes; there should be one of each.
fn is_ready(node: &core::Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.flatten().find(|c| c.type_ == "Ready");
    ready.is_some_and(|condition| condition.status == "True")
}
