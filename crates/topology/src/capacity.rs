//! Zone capacity: which part of the cluster's CPU each zone has.
//!
//! Source: KEP-2433 ("EndpointSlice Controller", "Assumptions") and the docs page's third
//! safeguard. Counted are nodes that are ready and not control plane. Any counted node without a
//! zone, or without CPU unless [`UnknownCpu::OneCorePerNode`] is set, leaves the cluster without
//! capacity, and so without Auto hints. O(nodes).

use std::sync::Arc;

use evenkeel_model::{Id, Names, Node, ZoneId};

use crate::{Settings, UnknownCpu, reason::NoHints};

/// A zone's index in [`Capacity::zones`]: zones in the order of their names.
pub type ZoneIdx = u16;

/// No zone that has capacity.
pub const NO_ZONE: ZoneIdx = ZoneIdx::MAX;

#[derive(Clone, Debug, PartialEq)]
pub struct ZoneCapacity {
    pub zone: ZoneId,
    pub name: Arc<str>,
    pub cpu_milli: u64,
    /// Its part of the cluster's CPU; all ratios sum to one.
    pub ratio: f64,
    pub nodes: u32,
}

/// The zones that Auto allocates endpoints to: two or more, sorted by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    zones: Vec<ZoneCapacity>,
    index: Vec<ZoneIdx>,
}

/// Sums up the CPU of each zone, or says why it can't be known.
pub fn measure(
    nodes: &[Node],
    topology: &evenkeel_model::Topology,
    settings: &Settings,
) -> Result<Capacity, NoHints> {
    let counted = || nodes.iter().filter(|n| is_counted(n));
    // The first by name is reported, so that every process reports the same.
    let no_cpu = |n: &Node| n.cpu_milli == 0 && settings.unknown_cpu == UnknownCpu::NoHints;
    let offends = |n: &&Node| n.zone.is_none() || no_cpu(n);
    if let Some(node) = counted().filter(offends).min_by_key(|n| topology.nodes.name(n.id)) {
        let name = Arc::clone(topology.nodes.name(node.id));
        return Err(match node.zone {
            None => NoHints::NodeWithoutZone { node: name },
            Some(_) => NoHints::NodeWithoutCpu { node: name },
        });
    }
    let one_core_each = counted().any(|n| n.cpu_milli == 0);
    let cpu = |node: &Node| if one_core_each { 1000 } else { node.cpu_milli };

    let mut sums = vec![(0u64, 0u32); topology.zones.bound()];
    for node in counted() {
        let zone = node.zone.expect("checked above");
        let sum = &mut sums[zone.index()];
        sum.0 = sum.0.saturating_add(cpu(node));
        sum.1 += 1;
    }
    Capacity::from_sums(&sums, &topology.zones)
}

/// Whether a node counts towards the capacity of its zone.
pub fn is_counted(node: &Node) -> bool {
    node.ready && !node.control_plane
}

// === impl Capacity ===

impl Capacity {
    /// `sums[zone]` is the zone's CPU and its number of nodes; zones without nodes don't count.
    fn from_sums(sums: &[(u64, u32)], names: &Names<ZoneId>) -> Result<Self, NoHints> {
        let total: u64 = sums.iter().fold(0, |sum, s| sum.saturating_add(s.0));
        let mut zones: Vec<ZoneCapacity> = (0u32..)
            .zip(sums)
            .filter(|(_, (_, nodes))| *nodes > 0)
            .map(|(index, &(cpu_milli, nodes))| {
                let zone = ZoneId::from_index(index);
                ZoneCapacity {
                    zone,
                    name: Arc::clone(names.name(zone)),
                    cpu_milli,
                    ratio: cpu_milli as f64 / total as f64,
                    nodes,
                }
            })
            .collect();
        zones.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        match zones.as_slice() {
            [] => return Err(NoHints::NoReadyNodes),
            [only] => {
                return Err(NoHints::OneZoneOnly { zone: Arc::clone(&only.name) });
            }
            _ => {}
        }
        let mut index = vec![NO_ZONE; names.bound()];
        for (idx, zone) in zones.iter().enumerate() {
            let idx = ZoneIdx::try_from(idx).ok().filter(|&idx| idx != NO_ZONE);
            index[zone.zone.index()] = idx.ok_or(NoHints::TooManyZones { zones: zones.len() })?;
        }
        Ok(Capacity { zones, index })
    }

    /// Two or more, sorted by name.
    pub fn zones(&self) -> &[ZoneCapacity] {
        &self.zones
    }

    /// The zone's index in [`Capacity::zones`], or [`NO_ZONE`].
    #[inline]
    pub fn index_of(&self, zone: ZoneId) -> ZoneIdx {
        self.index.get(zone.index()).copied().unwrap_or(NO_ZONE)
    }
}
