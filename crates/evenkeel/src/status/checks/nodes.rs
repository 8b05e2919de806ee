//! Whether nodes have what hints are computed from.

use std::collections::BTreeSet;

use super::{Check, Code, Group, named};
use crate::status::facts::{Fetched, Node};

/// Control plane nodes carry no workload and are ignored here.
pub(super) fn checks(nodes: &Fetched<Vec<Node>>) -> Vec<Check> {
    let nodes = match nodes {
        Ok(nodes) => nodes,
        Err(problem) => {
            return vec![Group::Nodes.not_listed(Code::NodesNotListed, "nodes", problem)];
        }
    };
    let workers: Vec<&Node> = nodes.iter().filter(|node| !node.is_control_plane).collect();
    let ready: Vec<&Node> = workers.iter().copied().filter(|node| node.is_ready).collect();
    let mut checks = vec![are_ready(&workers, &ready)];
    if !ready.is_empty() {
        checks.extend([are_schedulable(&ready), have_zone(&ready), have_cpu(&ready)]);
        checks.push(zones(&ready));
    }
    checks
}

fn are_ready(workers: &[&Node], ready: &[&Node]) -> Check {
    let not_ready = names(workers, |node| !node.is_ready);
    let (n, all) = (ready.len(), workers.len());
    match (n, not_ready.as_slice()) {
        (0, _) => Group::Nodes.failed(
            Code::NoReadyNodes,
            "no worker node is ready".to_owned(),
            "add nodes, or run `kubectl describe nodes` to see why they are not ready",
        ),
        (_, []) => Group::Nodes.ok(Code::NodesReady, format!("all {n} worker nodes are ready")),
        (_, not_ready) => Group::Nodes.warning(
            Code::NodesNotReady,
            format!("{n} of {all} worker nodes are ready; not ready: {}", named(not_ready)),
            format!("run `kubectl describe node {}` to see why", not_ready[0]),
        ),
    }
}

fn are_schedulable(ready: &[&Node]) -> Check {
    let cordoned = names(ready, |node| node.is_cordoned);
    let Some(first) = cordoned.first() else {
        let message = "no ready node is cordoned".to_owned();
        return Group::Nodes.ok(Code::NodesSchedulable, message);
    };
    let zones = |is_cordoned: bool| -> BTreeSet<&str> {
        let nodes = ready.iter().filter(|node| node.is_cordoned == is_cordoned);
        nodes.filter_map(|node| node.zone.as_deref()).collect()
    };
    let (with, without) = (zones(true), zones(false));
    let drained: Vec<&&str> = with.difference(&without).collect();
    let mut message =
        format!("{} of {} ready nodes cordoned: {}", cordoned.len(), ready.len(), named(&cordoned));
    if !drained.is_empty() {
        message += &format!("; no schedulable node in {}", named(&drained));
    }
    let help = format!("run `kubectl uncordon {first}` when its maintenance is done");
    Group::Nodes.warning(Code::NodesCordoned, message, help)
}

fn have_zone(ready: &[&Node]) -> Check {
    let without = names(ready, |node| node.zone.is_none());
    match without.is_empty() {
        true => {
            Group::Nodes.ok(Code::NodesHaveZone, "all ready nodes have a zone label".to_owned())
        }
        false => Group::Nodes.failed(
            Code::NodesWithoutZone,
            format!("nodes without the label topology.kubernetes.io/zone: {}", named(&without)),
            "label them: one node without a zone disables Auto hints for every Service",
        ),
    }
}

fn have_cpu(ready: &[&Node]) -> Check {
    let without = names(ready, |node| !node.has_cpu);
    match without.is_empty() {
        true => {
            Group::Nodes.ok(Code::NodesHaveCpu, "all ready nodes report allocatable CPU".to_owned())
        }
        false => Group::Nodes.failed(
            Code::NodesWithoutCpu,
            format!("nodes without status.allocatable.cpu: {}", named(&without)),
            "check their kubelets: one node without CPU disables Auto hints for every Service",
        ),
    }
}

fn zones(ready: &[&Node]) -> Check {
    let zones: BTreeSet<&str> = ready.iter().filter_map(|node| node.zone.as_deref()).collect();
    let zones: Vec<&str> = zones.into_iter().collect();
    let help = "topology hints need nodes in at least 2 zones; check the zone labels";
    let message = match zones.as_slice() {
        [] => "no ready node has a zone".to_owned(),
        [zone] => format!("all ready nodes are in one zone: {zone}"),
        many => {
            let message = format!("ready nodes are in {} zones: {}", many.len(), named(many));
            return Group::Nodes.ok(Code::NodesInSeveralZones, message);
        }
    };
    Group::Nodes.failed(Code::NodesInOneZone, message, help)
}

fn names<'a>(nodes: &[&'a Node], filter: impl Fn(&Node) -> bool) -> Vec<&'a str> {
    nodes.iter().filter(|node| filter(node)).map(|node| &*node.name).collect()
}
