//! Policies of Evenkeel's own, as the producer writes them: zone shares, regions, thresholds.

mod balanced;
mod carrier;
mod regions;
mod thresholds;

use std::collections::BTreeMap;

use evenkeel_model::{Service, Slice, ZoneShares, label};
use evenkeel_testkit::{Cluster, ServiceExt, World, service};
use evenkeel_topology::Settings;

/// A table by names: client zone, zone, part.
pub(crate) type Table = BTreeMap<String, BTreeMap<String, u16>>;

/// The Service `web` under one of our policies.
pub(crate) fn under(policy: &str) -> Service {
    service("web").annotated(label::TRAFFIC_DISTRIBUTION, policy)
}

/// Slices as Evenkeel's controller signs them.
pub(crate) fn world(cluster: Cluster, service: Service) -> World {
    let settings = Settings { controller_name: label::EVENKEEL.into(), ..Settings::default() };
    World::new(cluster, service, settings)
}

/// The slices that carry a table.
pub(crate) fn carriers(world: &World) -> Vec<&Slice> {
    world.slices.iter().filter(|slice| slice.shares.is_some()).collect()
}

/// The only table of the world.
pub(crate) fn table(world: &World) -> Table {
    match carriers(world).as_slice() {
        [carrier] => {
            named(world, carrier.shares.as_ref().and_then(|s| s.valid()).expect("a valid table"))
        }
        others => panic!("{} slices carry a table", others.len()),
    }
}

pub(crate) fn named(world: &World, shares: &ZoneShares) -> Table {
    let name = |zone| world.cluster.zone_name(zone).to_owned();
    let row = |parts: &[(_, u16)]| parts.iter().map(|(zone, part)| (name(*zone), *part)).collect();
    shares.rows().iter().map(|r| (name(r.client), row(&r.parts))).collect()
}

pub(crate) fn rows(rows: &[(&str, &[(&str, u16)])]) -> Table {
    let row = |parts: &[(&str, u16)]| parts.iter().map(|(z, n)| ((*z).to_owned(), *n)).collect();
    rows.iter().map(|(client, parts)| ((*client).to_owned(), row(parts))).collect()
}
