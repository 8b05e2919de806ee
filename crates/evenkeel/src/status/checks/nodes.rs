//! Whether nodes say what hints are made from.

use std::collections::BTreeSet;

use super::{Check, Group, named};
use crate::status::facts::{Asked, Node};

/// Control plane nodes carry no workload, and count for nothing here.
pub(super) fn checks(nodes: &Asked<Vec<Node>>) -> Vec<Check> {
    let nodes = match nodes {
        Ok(nodes) => nodes,
        Err(problem) => return vec![Group::Nodes.unknown("nodes", problem)],
    };
    let workers: Vec<&Node> = nodes.iter().filter(|node| !node.is_control_plane).collect();
    let ready: Vec<&Node> = workers.iter().copied().filter(|node| node.is_ready).collect();
    let mut checks = vec![are_ready(&workers, &ready)];
    if !ready.is_empty() {
        checks.extend([have_a_zone(&ready), have_cpu(&ready), zones(&ready)]);
    }
    checks
}

fn are_ready(workers: &[&Node], ready: &[&Node]) -> Check {
    let silent: Vec<&str> =
        workers.iter().filter(|node| !node.is_ready).map(|node| &*node.name).collect();
    match (ready.len(), silent.as_slice()) {
        (0, _) => Group::Nodes.failed(
            "no worker node is ready".to_owned(),
            "add nodes, or see `kubectl get nodes` for why they are not ready",
        ),
        (n, []) => Group::Nodes.ok(format!("all of {n} worker nodes are ready")),
        (n, silent) => Group::Nodes.warning(
            format!(
                "{n} of {} worker nodes are ready; not ready: {}",
                workers.len(),
                named(silent)
            ),
            "see `kubectl describe node` for why",
        ),
    }
}

fn have_a_zone(ready: &[&Node]) -> Check {
    let without: Vec<&str> =
        ready.iter().filter(|node| node.zone.is_none()).map(|node| &*node.name).collect();
    match without.is_empty() {
        true => Group::Nodes.ok("every ready node has a zone".to_owned()),
        false => Group::Nodes.failed(
            format!("without the label topology.kubernetes.io/zone: {}", named(&without)),
            "label them: one node without a zone keeps every Service from Auto hints",
        ),
    }
}

fn have_cpu(ready: &[&Node]) -> Check {
    let without: Vec<&str> =
        ready.iter().filter(|node| !node.has_cpu).map(|node| &*node.name).collect();
    match without.is_empty() {
        true => Group::Nodes.ok("every ready node says how much CPU it has".to_owned()),
        false => Group::Nodes.failed(
            format!("without status.allocatable.cpu: {}", named(&without)),
            "see their kubelets: one node without CPU keeps every Service from Auto hints",
        ),
    }
}

fn zones(ready: &[&Node]) -> Check {
    let zones: BTreeSet<&str> = ready.iter().filter_map(|node| node.zone.as_deref()).collect();
    let zones: Vec<&str> = zones.into_iter().collect();
    match zones.as_slice() {
        [] | [_] => Group::Nodes.failed(
            format!("ready nodes are in {} zone", zones.len()),
            "hints need nodes in at least 2 zones; check the zone labels",
        ),
        many => {
            Group::Nodes.ok(format!("ready nodes are in {} zones: {}", many.len(), named(many)))
        }
    }
}
