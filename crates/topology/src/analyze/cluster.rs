//! Problems of nodes and zones, reported once instead of for each Service.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Node, NodeId, Snapshot};
use rustc_hash::FxHashSet;

use super::{Finding, Object, Problem};
use crate::{NoHints, explain::RegionLabels};

/// O(nodes + orphans).
pub(super) fn findings(snapshot: &Snapshot, capacity: Result<(), &NoHints>) -> Vec<Finding> {
    let topology = &snapshot.topology;
    let cordoned: FxHashSet<NodeId> = snapshot.cordoned.iter().copied().collect();
    let workers: Vec<&Node> = snapshot.nodes.iter().filter(|n| !n.control_plane).collect();
    let mut found = Vec::new();
    for (zone, nodes) in by_zone(&workers, snapshot) {
        if nodes.iter().all(|node| !node.ready || cordoned.contains(&node.id)) {
            found.push(Finding::new(
                Object::zone(zone),
                Problem::ZoneDrained { nodes: nodes.len() },
            ));
        }
    }
    let of = workers.len();
    let mut tell = |nodes: Vec<&Node>, problem: fn(usize, usize, Arc<str>) -> Problem| {
        if let Some(first) = nodes.first() {
            let first = Arc::clone(topology.nodes.name(first.id));
            let object = Object::node(Arc::clone(&first));
            found.push(Finding::new(object, problem(nodes.len(), of, first)));
        }
    };
    let unready = workers.iter().copied().filter(|node| !node.ready);
    tell(unready.collect(), |nodes, of, first| Problem::NodesNotReady { nodes, of, first });
    let closed = workers.iter().copied().filter(|node| cordoned.contains(&node.id));
    tell(closed.collect(), |nodes, of, first| Problem::NodesCordoned { nodes, of, first });
    if let Err(NoHints::NodeWithoutZone { node }) = capacity {
        found.push(Finding::new(Object::node(Arc::clone(node)), Problem::NodeWithoutZone));
    }
    let orphans = snapshot.orphans.iter();
    found.extend(orphans.map(|key| Finding::new(Object::service(key), Problem::OrphanedSlices)));
    found
}

/// What is wrong with the region labels.
pub(super) fn of_regions(labels: &RegionLabels) -> Vec<Finding> {
    let RegionLabels { nodes, without, first, mixed } = labels;
    let mut found = Vec::new();
    if *without > 0 {
        let first = Arc::clone(first);
        let object = Object::node(Arc::clone(&first));
        found.push(Finding::new(
            object,
            Problem::RegionLabelsMissing { nodes: *without, of: *nodes, first },
        ));
    }
    found.extend(mixed.iter().map(|zone| {
        let (regions, counts) = (zone.regions.clone(), Arc::clone(&zone.counts));
        Finding::new(
            Object::zone(Arc::clone(&zone.zone)),
            Problem::ZoneInSeveralRegions { regions, counts },
        )
    }));
    found
}

fn by_zone<'a>(workers: &[&'a Node], snapshot: &Snapshot) -> BTreeMap<Arc<str>, Vec<&'a Node>> {
    let mut zones: BTreeMap<Arc<str>, Vec<&'a Node>> = BTreeMap::new();
    for node in workers {
        if let Some(zone) = node.zone {
            let name = Arc::clone(snapshot.topology.zones.name(zone));
            zones.entry(name).or_default().push(node);
        }
    }
    zones
}
