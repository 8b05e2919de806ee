//! Clusters and tables by name.

use std::collections::BTreeMap;

use evenkeel_model::ZoneShares;
use evenkeel_testkit::Cluster;
use evenkeel_topology::{Demand, auto::ZoneCounts, demand};

/// One Node for each entry: zone, region (none if empty) and cores.
pub(crate) fn cluster(nodes: &[(&str, &str, u64)]) -> Cluster {
    let mut cluster = Cluster::default();
    for (i, &(zone, region, cores)) in nodes.iter().enumerate() {
        let region = (!region.is_empty()).then(|| cluster.topology.regions.intern(region));
        cluster.add_node(&format!("node-{i}"), Some(zone), cores).region = region;
    }
    cluster
}

pub(crate) fn demand_of(cluster: &Cluster) -> Demand {
    demand(&cluster.nodes, &cluster.topology)
}

/// Ready endpoints by zone; the zone of the empty name is none.
pub(crate) fn ready(cluster: &mut Cluster, counts: &[(&str, u32)]) -> ZoneCounts {
    counts.iter().map(|&(zone, n)| (cluster.topology.zones.intern(zone), n)).collect()
}

/// As the annotation shows it.
pub(crate) fn table(cluster: &Cluster, shares: &ZoneShares) -> String {
    let mut rows = BTreeMap::new();
    for row in shares.rows() {
        let parts = row.parts.iter().map(|&(zone, part)| (cluster.zone_name(zone), part));
        rows.insert(cluster.zone_name(row.client), parts.collect::<BTreeMap<_, _>>());
    }
    format!("{rows:?}").replace(' ', "")
}
