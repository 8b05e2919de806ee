//! Regions as the nodes name them, for policies that look at them.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_model::{Node, RegionId, Snapshot, ZoneId};
use serde::Serialize;

use crate::{Demand, Policy};

/// A region with its zones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RegionView {
    /// Empty: the zones whose nodes name no region. They count as one region.
    pub name: Arc<str>,
    /// Sorted by name.
    pub zones: Vec<Arc<str>>,
}

/// What is wrong with the labels `topology.kubernetes.io/region`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegionLabels {
    /// Worker nodes in a zone, and those of them without a region, the first by its name.
    pub nodes: usize,
    pub without: usize,
    pub first: Arc<str>,
    /// Zones whose nodes name several regions, which these are, and which one counts.
    pub mixed: Vec<MixedZone>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MixedZone {
    pub zone: Arc<str>,
    pub regions: Vec<Arc<str>>,
    pub counts: Arc<str>,
}

/// Whether the policy needs to know regions.
pub(crate) fn is_regional(policy: Policy) -> bool {
    matches!(policy, Policy::PreferSameRegion | Policy::PreferSameZoneThenRegion)
}

pub(super) fn regions(demand: &Demand) -> Vec<RegionView> {
    let mut regions: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for zone in demand.zones() {
        let name = demand.region_name(zone.region).cloned().unwrap_or_default();
        regions.entry(name).or_default().push(Arc::clone(&zone.name));
    }
    regions.into_iter().map(|(name, zones)| RegionView { name, zones }).collect()
}

/// O(nodes · regions of a zone).
pub(crate) fn labels(snapshot: &Snapshot, demand: &Demand) -> RegionLabels {
    let topology = &snapshot.topology;
    let workers = snapshot.nodes.iter().filter(|node| !node.control_plane);
    let zoned: Vec<(&Node, ZoneId)> = workers
        .filter_map(|node| Some((node, node.zone.filter(|z| *z != ZoneId::EMPTY)?)))
        .collect();
    let has_region = |node: &Node| node.region.is_some_and(|region| region != RegionId::EMPTY);
    let mut without = zoned.iter().filter(|(node, _)| !has_region(node)).peekable();
    let first = without.peek().map(|(node, _)| Arc::clone(topology.nodes.name(node.id)));
    let mut named: BTreeMap<&Arc<str>, (ZoneId, Vec<RegionId>)> = BTreeMap::new();
    for (node, zone) in &zoned {
        let (_, regions) =
            named.entry(topology.zones.name(*zone)).or_insert_with(|| (*zone, Vec::new()));
        let region = node.region.filter(|_| has_region(node));
        regions.extend(region.filter(|region| !regions.contains(region)));
    }
    let region_name = |region: RegionId| Arc::clone(topology.regions.name(region));
    let mixed = named.into_iter().filter(|(_, (_, regions))| regions.len() > 1);
    let mixed = mixed.map(|(name, (zone, regions))| {
        let mut regions: Vec<Arc<str>> = regions.into_iter().map(region_name).collect();
        regions.sort_unstable();
        let counts = region_name(demand.region_of(zone));
        MixedZone { zone: Arc::clone(name), regions, counts }
    });
    RegionLabels {
        nodes: zoned.len(),
        without: without.count(),
        first: first.unwrap_or_default(),
        mixed: mixed.collect(),
    }
}
