//! Whether nodes name their regions, where a Service has a policy that looks at them.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_topology::Policy;

use super::{Check, Code, Group, named};
use crate::status::facts::{Cluster, Node};

/// Nothing is said where no Service looks at regions.
pub(super) fn checks(cluster: &Cluster) -> Vec<Check> {
    let (Ok(nodes), Ok(services)) = (&cluster.nodes, &cluster.services) else {
        return Vec::new();
    };
    let regional = [Policy::PreferSameRegion, Policy::PreferSameZoneThenRegion];
    let is_ready = |node: &&Node| node.is_ready && !node.is_control_plane;
    let ready: Vec<&Node> = nodes.iter().filter(is_ready).collect();
    if ready.is_empty() || !services.iter().any(|service| regional.contains(&service.policy)) {
        return Vec::new();
    }
    let without = ready.iter().filter(|node| node.region.is_none());
    let without: Vec<&str> = without.map(|node| &*node.name).collect();
    let mixed = mixed(&ready);
    let mut checks = Vec::new();
    if !without.is_empty() {
        checks.push(Group::Nodes.warning(
            Code::NodesWithoutRegion,
            format!("nodes without the label topology.kubernetes.io/region: {}", named(&without)),
            "label them: zones without a region count as one region",
        ));
    }
    if !mixed.is_empty() {
        checks.push(Group::Nodes.warning(
            Code::ZonesInSeveralRegions,
            format!("nodes of one zone name several regions: {}", named(&mixed)),
            "give all nodes of a zone the same region: the one that most of them name counts",
        ));
    }
    if checks.is_empty() {
        let message = "all ready nodes have a region label, one region in each zone".to_owned();
        checks.push(Group::Nodes.ok(Code::NodesHaveRegion, message));
    }
    checks
}

/// Zones with the regions that their nodes name, where those are several.
fn mixed(ready: &[&Node]) -> Vec<String> {
    let mut zones: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in ready {
        if let (Some(zone), Some(region)) = (&node.zone, &node.region) {
            zones.entry(zone).or_default().insert(region);
        }
    }
    let several = zones.into_iter().filter(|(_, regions)| regions.len() > 1);
    let words = |regions: BTreeSet<&str>| regions.into_iter().collect::<Vec<_>>().join(", ");
    several.map(|(zone, regions)| format!("{zone} ({})", words(regions))).collect()
}
