//! The status that a Node reports, and the one of an unresponsive Node.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Node, NodeAddress, NodeStatus, NodeSystemInfo},
    apimachinery::pkg::api::resource::Quantity,
};
use sha2::{Digest, Sha256};

use super::{ready_status, uid_of};
use crate::sandbox::{
    conditions::{ConditionContent, set_of_node},
    world::name_of,
};

/// Default capacity of a Node that does not specify it.
const CAPACITY: [(&str, &str); 3] = [("cpu", "4"), ("memory", "16Gi"), ("pods", "110")];
const PRESSURES: [(&str, &str, &str); 3] = [
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
];

pub(super) fn alive(node: &Node, now: Timestamp) -> NodeStatus {
    let mut status = node.status.clone().unwrap_or_default();
    let capacity = status.capacity.get_or_insert_default();
    for (resource, amount) in CAPACITY {
        let amount = Quantity(amount.to_owned());
        capacity.entry(resource.to_owned()).or_insert(amount);
    }
    let capacity = capacity.clone();
    let allocatable = status.allocatable.get_or_insert_default();
    for (resource, amount) in capacity {
        allocatable.entry(resource).or_insert(amount);
    }
    let addresses = status.addresses.get_or_insert_default();
    let lacks = |kind: &str, known: &[NodeAddress]| !known.iter().any(|one| one.type_ == kind);
    let name = name_of(&node.metadata);
    for (kind, address) in [("InternalIP", internal_ip(name)), ("Hostname", name.to_owned())] {
        if lacks(kind, addresses) {
            addresses.push(NodeAddress { type_: kind.to_owned(), address });
        }
    }
    let info = status.node_info.get_or_insert_default();
    if info.kubelet_version.is_empty() {
        *info = system(node);
    }
    let conditions = status.conditions.get_or_insert_default();
    for (kind, reason, message) in PRESSURES {
        set_of_node(conditions, &ConditionContent::is_false(kind, reason, message.to_owned()), now);
    }
    let message = "kubelet is posting ready status".to_owned();
    let ready = ConditionContent { kind: "Ready", status: "True", reason: "KubeletReady", message };
    set_of_node(conditions, &ready, now);
    status
}

pub(super) fn lost(node: &Node, now: Timestamp) -> NodeStatus {
    let mut status = node.status.clone().unwrap_or_default();
    // A Node that never reported has no other conditions to make unknown.
    let (reason, message) = match ready_status(node) {
        Some(_) => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        None => ("NodeStatusNeverUpdated", "Kubelet never posted node status."),
    };
    let conditions = status.conditions.get_or_insert_default();
    for kind in ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"] {
        if conditions.iter().any(|one| one.type_ == kind && one.status == "Unknown") {
            continue;
        }
        let says =
            ConditionContent { kind, status: "Unknown", reason, message: message.to_owned() };
        set_of_node(conditions, &says, now);
    }
    status
}

/// A stable address for a name: from 172.16.0.0/12, the private range in the middle.
fn internal_ip(name: &str) -> String {
    let hash = Sha256::digest(name.as_bytes());
    format!("172.{}.{}.{}", 16 + hash[0] % 16, hash[1], 1 + hash[2] % 254)
}

fn system(node: &Node) -> NodeSystemInfo {
    let version = concat!("v1.36.0-evenkeel-", env!("CARGO_PKG_VERSION"));
    let uid = uid_of(&node.metadata).to_owned();
    NodeSystemInfo {
        architecture: "amd64".to_owned(),
        boot_id: uid.clone(),
        container_runtime_version: "sandbox://1.0.0".to_owned(),
        kernel_version: "6.0.0".to_owned(),
        kubelet_version: version.to_owned(),
        machine_id: uid.clone(),
        operating_system: "linux".to_owned(),
        os_image: "Evenkeel sandbox".to_owned(),
        system_uuid: uid,
        ..NodeSystemInfo::default()
    }
}
