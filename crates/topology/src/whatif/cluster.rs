//! Where clients are: the zones with ready worker nodes, and each node's part of its zone.

use std::sync::Arc;

use evenkeel_model::{Id, Node, RegionId, Snapshot, ZoneId};

use crate::{Capacity, Demand, NoHints, Settings, capacity::is_counted, demand, measure};

/// A cluster, whole or without one zone.
#[derive(Debug)]
pub(super) struct Cluster {
    pub capacity: Result<Capacity, NoHints>,
    pub demand: Demand,
    /// By name; last, if nodes lack a zone, the zone of the empty name: to consumers it is one.
    pub zones: Vec<ZoneId>,
    /// By index of the node: its zone and its part of the zone's CPU.
    pub nodes: Vec<Option<(usize, f64)>>,
}

/// A zone of clients and its part of the cluster's CPU.
pub(super) type ZonePart = (Arc<str>, f64);

/// The cluster, and the parts of its zones.
pub(super) fn whole(snapshot: &Snapshot, settings: &Settings) -> (Cluster, Vec<ZonePart>) {
    let names = &snapshot.topology.zones;
    let cpu_of = cpu_by_zone(&snapshot.nodes, snapshot);
    let total: f64 = cpu_of.iter().sum();
    let mut zones: Vec<ZoneId> = counted(&snapshot.nodes).map(zone_of).collect();
    zones.sort_unstable_by_key(|&zone| (zone == ZoneId::EMPTY, names.name(zone)));
    zones.dedup();
    let part = |zone: &ZoneId| (Arc::clone(names.name(*zone)), cpu_of[zone.index()] / total);
    let parts = zones.iter().map(part).collect();
    (Cluster::new(&snapshot.nodes, zones, snapshot, settings), parts)
}

/// The traffic of the zones that are left when one is lost. Its clients move to them in proportion
/// to their traffic, or if they have none, to their CPU.
pub(super) fn moved(gb: &[f64], parts: &[ZonePart], lost: usize) -> Vec<f64> {
    let others = || (0..gb.len()).filter(|&zone| zone != lost);
    let traffic: f64 = others().map(|zone| gb[zone]).sum();
    if traffic > 0.0 {
        return others().map(|zone| gb[zone] * (1.0 + gb[lost] / traffic)).collect();
    }
    let cpu: f64 = others().map(|zone| parts[zone].1).sum();
    others().map(|zone| gb[lost] * parts[zone].1 / cpu).collect()
}

fn counted(nodes: &[Node]) -> impl Iterator<Item = &Node> {
    nodes.iter().filter(|n| is_counted(n))
}

fn zone_of(node: &Node) -> ZoneId {
    node.zone.unwrap_or(ZoneId::EMPTY)
}

/// A node that does not report CPU counts one core: better than nothing in a forecast.
fn cpu(node: &Node) -> f64 {
    if node.cpu_milli == 0 { 1000.0 } else { node.cpu_milli as f64 }
}

fn cpu_by_zone(nodes: &[Node], snapshot: &Snapshot) -> Vec<f64> {
    let mut cpu_of = vec![0.0; snapshot.topology.zones.bound()];
    for node in counted(nodes) {
        cpu_of[zone_of(node).index()] += cpu(node);
    }
    cpu_of
}

// === impl Cluster ===

impl Cluster {
    fn new(nodes: &[Node], zones: Vec<ZoneId>, snapshot: &Snapshot, settings: &Settings) -> Self {
        let cpu_of = cpu_by_zone(nodes, snapshot);
        let mut position = vec![0; cpu_of.len()];
        for (index, zone) in zones.iter().enumerate() {
            position[zone.index()] = index;
        }
        let mut clients = vec![None; snapshot.topology.nodes.bound()];
        for node in counted(nodes) {
            let zone = zone_of(node).index();
            clients[node.id.index()] = Some((position[zone], cpu(node) / cpu_of[zone]));
        }
        Cluster {
            capacity: measure(nodes, &snapshot.topology, settings),
            demand: demand(nodes, &snapshot.topology),
            nodes: clients,
            zones,
        }
    }

    /// The cluster when `lost` has failed.
    pub(super) fn without(&self, lost: ZoneId, snapshot: &Snapshot, settings: &Settings) -> Self {
        let nodes = snapshot.nodes.iter().filter(|n| n.zone != Some(lost));
        let nodes: Vec<Node> = nodes.cloned().collect();
        let zones = self.zones.iter().copied().filter(|&zone| zone != lost).collect();
        Cluster::new(&nodes, zones, snapshot, settings)
    }

    /// The zones that can fail: those with a name.
    pub(super) fn named_zones(&self) -> impl Iterator<Item = ZoneId> {
        self.zones.iter().copied().filter(|&zone| zone != ZoneId::EMPTY)
    }

    /// Whether nodes are in more than one region that has a name.
    pub(super) fn has_regions(&self) -> bool {
        let regions = self.demand.zones().iter().map(|zone| zone.region);
        let mut named = regions.filter(|region| *region != RegionId::EMPTY);
        let first = named.next();
        named.any(|region| Some(region) != first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_a_zone_with_all_traffic_move_by_cpu() {
        let parts = [("a".into(), 0.5), ("b".into(), 0.2), ("c".into(), 0.3)];
        let close = |got: &[f64], wanted: [f64; 2]| {
            got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9)
        };
        assert!(close(&moved(&[100.0, 0.0, 0.0], &parts, 0), [40.0, 60.0]));
        assert!(close(&moved(&[50.0, 10.0, 40.0], &parts, 0), [20.0, 80.0]));
        assert!(moved(&[100.0], &parts[..1], 0).is_empty());
    }
}
