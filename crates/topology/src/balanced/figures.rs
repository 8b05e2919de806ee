//! What a table of zone shares does to the traffic, by the rules of consumers ([`mod@crate::select`]).
//!
//! A client zone's row counts for the endpoints that are ready now: a zone without any passes its part
//! to the others in proportion. Without a row, or when no zone of the row has a ready endpoint, all
//! ready endpoints serve equally (where hints are in the slices too, consumers without a row follow
//! them; that is not counted here). O(client zones · zones).

use evenkeel_model::{ZoneId, ZoneShares};

use crate::{
    auto::ZoneCounts,
    demand::{Demand, ZoneDemand},
};

/// What becomes of the expected traffic of one Service.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// The part of the traffic that stays in its zone.
    pub in_zone: f64,
    /// The part that stays in its region, that in its zone included.
    pub in_region: f64,
    /// The load of the most loaded endpoint over its fair part, 1/n. Zero without a ready endpoint.
    pub worst: f64,
    /// The zone of that endpoint, the first by name; [`ZoneId::EMPTY`] if it has none.
    pub worst_zone: Option<ZoneId>,
}

/// A zone with ready endpoints, and what it gets.
#[derive(Clone, Debug)]
struct Loaded {
    zone: ZoneId,
    region: u32,
    rank: u32,
    endpoints: f64,
    load: f64,
}

/// Measures `shares` on the present demand and ready endpoints.
pub fn figures(shares: &ZoneShares, demand: &Demand, ready: &ZoneCounts) -> Figures {
    let mut zones = loaded(demand, ready);
    let n: f64 = zones.iter().map(|zone| zone.endpoints).sum();
    let mut figures = Figures::default();
    if zones.is_empty() {
        return figures;
    }
    for client in demand.zones() {
        let region = demand.place(client.zone).region;
        serve(client, shares.row(client.zone), n, &mut zones, |zone, part| {
            figures.in_zone += if zone.zone == client.zone { part } else { 0.0 };
            figures.in_region += if zone.region == region { part } else { 0.0 };
        });
    }
    zones.sort_unstable_by_key(|zone| (zone.rank, zone.zone));
    for zone in &zones {
        let over = zone.load / zone.endpoints * n;
        // By more than an error of floating point, so that the first of equals is named.
        if figures.worst_zone.is_none() || over > figures.worst + 1e-9 {
            (figures.worst, figures.worst_zone) = (over, Some(zone.zone));
        }
    }
    figures
}

/// Sorted by zone, as the rows of a table are.
fn loaded(demand: &Demand, ready: &ZoneCounts) -> Vec<Loaded> {
    let loaded = |(zone, endpoints): (ZoneId, u32)| {
        let place = demand.place(zone);
        let (region, rank) = (place.region, place.rank);
        Loaded { zone, region, rank, endpoints: f64::from(endpoints), load: 0.0 }
    };
    let mut zones: Vec<Loaded> = ready.iter().filter(|(_, n)| *n > 0).map(loaded).collect();
    zones.sort_unstable_by_key(|zone| zone.zone);
    zones
}

/// Puts the traffic of one client zone on the endpoints, and reports each part of it.
fn serve(
    client: &ZoneDemand,
    row: Option<&[(ZoneId, u16)]>,
    n: f64,
    zones: &mut [Loaded],
    mut report: impl FnMut(&Loaded, f64),
) {
    let row = row.unwrap_or(&[]);
    let mut named = 0.0;
    each_named(row, zones, |_, part| named += part);
    let mut add = |zone: &mut Loaded, part: f64| {
        zone.load += part;
        report(zone, part);
    };
    if named > 0.0 {
        each_named(row, zones, |zone, part| add(zone, client.part * part / named));
    } else {
        zones.iter_mut().for_each(|zone| add(zone, client.part * zone.endpoints / n));
    }
}

/// The zones of a row that have ready endpoints, with their parts. Both lists are sorted by zone.
fn each_named(
    row: &[(ZoneId, u16)],
    zones: &mut [Loaded],
    mut visit: impl FnMut(&mut Loaded, f64),
) {
    let mut zones = zones.iter_mut().peekable();
    for &(named, part) in row {
        while zones.next_if(|zone| zone.zone < named).is_some() {}
        if let Some(zone) = zones.next_if(|zone| zone.zone == named) {
            visit(zone, f64::from(part));
        }
    }
}
