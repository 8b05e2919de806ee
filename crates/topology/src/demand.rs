//! Demand: which part of a Service's traffic the clients of each zone are expected to send.
//!
//! As for Auto ([`crate::capacity`]) that is the zone's CPU share, counting Nodes that are ready and
//! not control plane. Unlike there, the answer never fails:
//!
//! - a counted Node without allocatable CPU counts as the mean of the other counted Nodes; if none
//!   reports CPU, all count the same;
//! - a zone whose Nodes all don't count has demand 0, and is still a client zone;
//! - if no Node counts, all Nodes with a zone do;
//! - Nodes without a zone count for nothing: no row of a table of zone shares is for them.
//!
//! A zone is in the region that most of its Nodes name, counted or not; the first by name if several
//! have as many. Zones whose Nodes name none share [`RegionId::EMPTY`]. CPU is summed in integers, so
//! that the order of Nodes changes nothing. O(nodes + zones log zones).

use std::sync::Arc;

use evenkeel_model::{Id, Names, Node, RegionId, Topology, ZoneId};

use crate::capacity::is_counted;

/// What the clients of one zone send.
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneDemand {
    pub zone: ZoneId,
    pub name: Arc<str>,
    pub region: RegionId,
    /// Its part of a Service's traffic; all parts sum to one.
    pub part: f64,
    /// Nodes that count.
    pub nodes: u32,
}

/// The client zones: all that have a Node, sorted by name.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    zones: Vec<ZoneDemand>,
    /// By zone id, for all zones of the topology.
    places: Vec<Place>,
    /// The region of no name, then the other regions of client zones.
    regions: Vec<(RegionId, Arc<str>)>,
}

/// Where a zone is found in a [`Demand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index into the client zones, if it is one.
    pub(crate) client: Option<u32>,
    /// Index into the regions.
    pub(crate) region: u32,
    /// Its position among all zones by name. Ids say nothing about that.
    pub(crate) rank: u32,
}

/// What the Nodes of one zone sum to.
#[derive(Clone, Debug, Default)]
struct Sum {
    /// Nodes, whether they count or not.
    present: u32,
    counted: u32,
    with_cpu: u32,
    cpu_milli: u128,
    regions: Vec<(RegionId, u32)>,
}

/// What each zone is expected to send.
pub fn demand<'a>(
    nodes: impl IntoIterator<Item = &'a Node> + Clone,
    topology: &Topology,
) -> Demand {
    let counts = |node: &Node| zone_of(node).is_some() && is_counted(node);
    let any_counts = nodes.clone().into_iter().any(counts);
    let mut sums = vec![Sum::default(); topology.zones.bound()];
    for node in nodes {
        // An id from another table is like no zone.
        if let Some(sum) = zone_of(node).and_then(|zone| sums.get_mut(zone.index())) {
            sum.add(node, !any_counts || is_counted(node));
        }
    }
    Demand::from_sums(&sums, topology)
}

fn zone_of(node: &Node) -> Option<ZoneId> {
    node.zone.filter(|&zone| zone != ZoneId::EMPTY)
}

// === impl Sum ===

impl Sum {
    fn add(&mut self, node: &Node, counts: bool) {
        self.present += 1;
        if counts {
            self.counted += 1;
            self.with_cpu += u32::from(node.cpu_milli > 0);
            self.cpu_milli += u128::from(node.cpu_milli);
        }
        let Some(region) = node.region.filter(|&region| region != RegionId::EMPTY) else { return };
        match self.regions.iter_mut().find(|(known, _)| *known == region) {
            Some((_, nodes)) => *nodes += 1,
            None => self.regions.push((region, 1)),
        }
    }

    /// The region that most Nodes name.
    fn region(&self, names: &Names<RegionId>) -> RegionId {
        let by_votes = |a: &&(RegionId, u32), b: &&(RegionId, u32)| {
            a.1.cmp(&b.1).then_with(|| names.name(b.0).cmp(names.name(a.0)))
        };
        let known = self.regions.iter().filter(|(region, _)| region.index() < names.bound());
        known.max_by(by_votes).map_or(RegionId::EMPTY, |(region, _)| *region)
    }
}

// === impl Demand ===

/// The same clients, whatever other names there are.
impl PartialEq for Demand {
    fn eq(&self, other: &Self) -> bool {
        self.zones == other.zones
    }
}

impl Demand {
    fn from_sums(sums: &[Sum], topology: &Topology) -> Self {
        let with_cpu: u128 = sums.iter().map(|sum| u128::from(sum.with_cpu)).sum();
        let cpu_milli: u128 = sums.iter().map(|sum| sum.cpu_milli).sum();
        // Everything times the number of Nodes with CPU, so that their mean is an integer.
        let weight = |sum: &Sum| match with_cpu {
            0 => u128::from(sum.counted),
            n => sum.cpu_milli * n + u128::from(sum.counted - sum.with_cpu) * cpu_milli,
        };
        let total: u128 = sums.iter().map(weight).sum();
        let mut zones: Vec<ZoneDemand> = (0u32..)
            .zip(sums)
            .filter(|(_, sum)| sum.present > 0)
            .map(|(index, sum)| {
                let zone = ZoneId::from_index(index);
                ZoneDemand {
                    zone,
                    name: Arc::clone(topology.zones.name(zone)),
                    region: sum.region(&topology.regions),
                    part: weight(sum) as f64 / total as f64,
                    nodes: sum.counted,
                }
            })
            .collect();
        zones.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let regions = regions(&zones, &topology.regions);
        let places = places(&zones, &regions, &topology.zones);
        Demand { zones, places, regions }
    }

    /// The client zones, sorted by name.
    pub fn zones(&self) -> &[ZoneDemand] {
        &self.zones
    }

    /// What the clients of `zone` send; `None` if it has no Node.
    pub fn of(&self, zone: ZoneId) -> Option<&ZoneDemand> {
        self.place(zone).client.map(|client| &self.zones[client as usize])
    }

    /// The region of a zone; [`RegionId::EMPTY`] if it is not known.
    pub fn region_of(&self, zone: ZoneId) -> RegionId {
        self.of(zone).map_or(RegionId::EMPTY, |zone| zone.region)
    }

    /// The name of a region that a client zone is in.
    pub fn region_name(&self, region: RegionId) -> Option<&Arc<str>> {
        self.regions.iter().find(|(known, _)| *known == region).map(|(_, name)| name)
    }

    /// One more than every [`Place::region`].
    pub(crate) fn n_regions(&self) -> usize {
        self.regions.len().max(1)
    }

    pub(crate) fn place(&self, zone: ZoneId) -> Place {
        let unknown = Place { client: None, region: 0, rank: u32::MAX };
        self.places.get(zone.index()).copied().unwrap_or(unknown)
    }
}

fn regions(zones: &[ZoneDemand], names: &Names<RegionId>) -> Vec<(RegionId, Arc<str>)> {
    let mut known: Vec<RegionId> = zones.iter().map(|zone| zone.region).collect();
    known.push(RegionId::EMPTY);
    known.sort_unstable_by_key(|region| names.name(*region));
    known.dedup();
    known.into_iter().map(|region| (region, Arc::clone(names.name(region)))).collect()
}

fn places(
    zones: &[ZoneDemand],
    regions: &[(RegionId, Arc<str>)],
    names: &Names<ZoneId>,
) -> Vec<Place> {
    let mut by_name: Vec<u32> = (0u32..).take(names.bound()).collect();
    by_name.sort_unstable_by_key(|&index| names.name(ZoneId::from_index(index)));
    let mut places = vec![Place { client: None, region: 0, rank: 0 }; names.bound()];
    for (rank, index) in (0u32..).zip(by_name) {
        places[index as usize].rank = rank;
    }
    let mut region_idx = vec![0u32; 1 + regions.iter().map(|r| r.0.index()).max().unwrap_or(0)];
    for (idx, (region, _)) in (0u32..).zip(regions) {
        region_idx[region.index()] = idx;
    }
    for (client, zone) in (0u32..).zip(zones) {
        let place = &mut places[zone.zone.index()];
        place.client = Some(client);
        place.region = region_idx[zone.region.index()];
    }
    places
}
