//! Random clusters of zones in regions, with endpoints.

use evenkeel_model::{ZoneId, ZoneShares};
use evenkeel_testkit::Cluster;
use evenkeel_topology::{Demand, auto::ZoneCounts, balanced::Flows, demand};
use proptest::{collection::vec, prelude::*};

/// More cases than proptest's own default; `PROPTEST_CASES` may ask for more still.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: default.cases.max(1500), ..default }
}

#[derive(Clone, Debug)]
pub(crate) struct ZoneSpec {
    /// 0: no label.
    pub(crate) region: u8,
    /// The cores of its one Node; 0: a Node that does not count.
    pub(crate) cores: u64,
    pub(crate) endpoints: u32,
}

/// Zones, and what the allowance is, in tenths.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) zones: Vec<ZoneSpec>,
    /// Endpoints without a zone, and in a zone that has no Node.
    pub(crate) unzoned: u32,
    pub(crate) orphans: u32,
    pub(crate) tenths: u32,
}

/// A case in ids.
pub(crate) struct Built {
    pub(crate) demand: Demand,
    pub(crate) ready: ZoneCounts,
    /// By zone of the case.
    pub(crate) ids: Vec<ZoneId>,
}

/// Up to seven zones in up to three regions, and some zones without a region.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let tenths = prop_oneof![2 => Just(0), 1 => 1..10u32];
    let few = || prop_oneof![6 => Just(0), 1 => 1..4u32];
    (vec(zone(), 1..8), few(), few(), tenths).prop_map(|(zones, unzoned, orphans, tenths)| Case {
        zones,
        unzoned,
        orphans,
        tenths,
    })
}

fn zone() -> impl Strategy<Value = ZoneSpec> {
    let cores = prop_oneof![1 => Just(0), 8 => 1..20u64];
    let endpoints = prop_oneof![2 => Just(0), 6 => 1..5u32, 1 => 5..40u32];
    let zone = (0..4u8, cores, endpoints);
    zone.prop_map(|(region, cores, endpoints)| ZoneSpec { region, cores, endpoints })
}

// === impl Case ===

impl Case {
    pub(crate) fn allowance(&self) -> f64 {
        f64::from(self.tenths) / 10.0
    }

    /// What each zone sends, in whole numbers.
    pub(crate) fn cores(&self) -> Vec<u64> {
        let counts = self.zones.iter().any(|zone| zone.cores > 0);
        self.zones.iter().map(|zone| if counts { zone.cores } else { 1 }).collect()
    }

    pub(crate) fn n(&self) -> u32 {
        let zones = self.zones.iter().map(|zone| zone.endpoints);
        zones.sum::<u32>() + self.unzoned + self.orphans
    }

    pub(crate) fn build(&self) -> Built {
        self.build_named(&(0..self.zones.len()).collect::<Vec<_>>())
    }

    /// `names[i]` is the number in the name of zone `i`. Ids are handed out in the order of names
    /// backwards, so that neither order is that of the case.
    pub(crate) fn build_named(&self, names: &[usize]) -> Built {
        self.build_in(Cluster::default(), names)
    }

    /// In a process that saw these zones before, in the order of their names.
    pub(crate) fn build_later(&self) -> Built {
        let mut cluster = Cluster::default();
        for number in 0..self.zones.len() {
            cluster.topology.zones.intern(&format!("zone-{number}"));
            cluster.topology.regions.intern(&format!("region-{}", number + 1));
        }
        self.build_in(cluster, &(0..self.zones.len()).collect::<Vec<_>>())
    }

    fn build_in(&self, mut cluster: Cluster, names: &[usize]) -> Built {
        let mut numbered: Vec<(usize, &ZoneSpec)> =
            names.iter().copied().zip(&self.zones).collect();
        numbered.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
        for (number, spec) in numbered {
            let region = (spec.region > 0)
                .then(|| cluster.topology.regions.intern(&format!("region-{}", spec.region)));
            let (node, zone) = (format!("node-{number}"), format!("zone-{number}"));
            let node = cluster.add_node(&node, Some(&zone), spec.cores);
            node.region = region;
            node.control_plane = spec.cores == 0;
        }
        let zone = |number: &usize| cluster.topology.zones.find(&format!("zone-{number}"));
        let ids: Vec<ZoneId> = names.iter().map(|number| zone(number).unwrap()).collect();
        let orphan = cluster.topology.zones.intern("zone-without-node");
        let counts = ids.iter().zip(&self.zones).map(|(id, spec)| (*id, spec.endpoints));
        let others = [(ZoneId::EMPTY, self.unzoned), (orphan, self.orphans)];
        Built {
            demand: demand(&cluster.nodes, &cluster.topology),
            ready: counts.chain(others).collect(),
            ids,
        }
    }
}

// === impl Built ===

impl Built {
    /// The load of each zone with endpoints over what is fair, by the exact flows.
    pub(crate) fn loads(&self, flows: &Flows) -> Vec<f64> {
        let n = f64::from(self.ready.total());
        let with_endpoints = self.ready.iter().filter(|(_, endpoints)| *endpoints > 0);
        let load = |zone| {
            let rows = flows.rows().zip(self.demand.zones());
            let part = rows.map(|(row, client)| client.part * flows.part(row.client(), zone));
            part.sum::<f64>()
        };
        with_endpoints.map(|(zone, endpoints)| load(zone) * n / f64::from(endpoints)).collect()
    }

    /// Parts of all traffic, by the exact flows: out of zones, and out of regions.
    pub(crate) fn leaving(&self, flows: &Flows) -> (f64, f64) {
        let (mut out_of_zone, mut out_of_region) = (0.0, 0.0);
        for (row, client) in flows.rows().zip(self.demand.zones()) {
            for (zone, part) in row.parts() {
                let leaves = |stays: bool| if stays { 0.0 } else { client.part * part };
                out_of_zone += leaves(zone == client.zone);
                out_of_region += leaves(self.demand.region_of(zone) == client.region);
            }
        }
        (out_of_zone, out_of_region)
    }
}

/// All parts of a table, in parts of one.
pub(crate) fn exact(shares: &ZoneShares, client: ZoneId, zone: ZoneId) -> f64 {
    let row = shares.row(client).unwrap_or(&[]);
    let part = row.iter().find(|(to, _)| *to == zone);
    part.map_or(0.0, |(_, part)| f64::from(*part) / 1000.0)
}
