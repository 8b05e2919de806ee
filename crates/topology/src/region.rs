//! Hints of the policies that look at regions: PreferSameRegion and PreferSameZoneThenRegion.
//!
//! Source: KEP-2433, "Future Expansion" (regions), and KEP-4444, "Implementation specific
//! heuristics". An endpoint is hinted for several zones: under PreferSameRegion for all zones of its
//! region, under PreferSameZoneThenRegion for its own zone and the zones of its region where no
//! endpoint is ready. Consumers as kube-proxy obey such hints unchanged: clients of a region without
//! endpoints use all.
//!
//! The API allows [`MOST_ZONES`] zones for each endpoint. Where one would need more, no endpoint gets
//! hints (a consumer would ignore them all), and zone shares say the same: a row for each client zone
//! whose region has ready endpoints, with parts in proportion to the ready endpoints of the zones that
//! it uses. O(endpoints + zones²).

use evenkeel_model::{Endpoint, Few, Hints, PARTS, RegionId, ShareRow, ZoneId, ZoneShares};
use rustc_hash::FxHashMap;

use crate::{Demand, Draft, Role, auto::ZoneCounts, draft::remove_hints};

/// `forZones` of an endpoint takes no more.
pub const MOST_ZONES: usize = 8;

/// How far an endpoint is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All zones of its region.
    Region,
    /// Its own zone, and zones of its region where no endpoint is ready.
    ZoneThenRegion,
}

/// Hints name all zones, or are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expressed {
    ByHints,
    /// An endpoint would need hints for this many zones: zone shares must say it.
    ByShares {
        zones: usize,
    },
}

/// Gives every ready endpoint its hints, or takes all off if one would need too many.
pub fn assign(drafts: &mut [Draft<'_>], demand: &Demand, reach: Reach) -> Expressed {
    let endpoints = || drafts.iter().flat_map(|draft| &draft.slice.endpoints);
    let zones = zones_served(endpoints(), demand, reach);
    let most = zones.values().map(Vec::len).max().unwrap_or_default();
    if most > MOST_ZONES {
        remove_hints(drafts);
        return Expressed::ByShares { zones: most };
    }
    let wanted: FxHashMap<ZoneId, Few<ZoneId>> =
        zones.into_iter().map(|(zone, served)| (zone, served.into_iter().collect())).collect();
    for draft in drafts {
        let hints = |e: &Endpoint| e.zone.and_then(|zone| wanted.get(&zone));
        let is_wrong = |e: &Endpoint| {
            let has = e.hints.as_ref();
            let zones = has.map_or(&[][..], |has| has.zones.as_slice());
            e.is_ready()
                && (zones != hints(e).map_or(&[][..], Few::as_slice) || !e.node_hints().is_empty())
        };
        if draft.role == Role::Unchanged && !draft.slice.endpoints.iter().any(is_wrong) {
            continue;
        }
        for endpoint in draft.change().iter_mut().filter(|e| e.is_ready()) {
            let zones = hints(endpoint).cloned();
            endpoint.hints = zones.map(|zones| Hints { zones, nodes: Few::None });
        }
    }
    Expressed::ByHints
}

/// The zones that an endpoint serves, by the zone it is in; its own is first, the others are in the
/// order of their names.
fn zones_served<'a>(
    endpoints: impl Iterator<Item = &'a Endpoint>,
    demand: &Demand,
    reach: Reach,
) -> FxHashMap<ZoneId, Vec<ZoneId>> {
    let ready = endpoints.filter(|e| e.is_ready()).filter_map(|e| e.zone);
    let mut served: FxHashMap<ZoneId, Vec<ZoneId>> = FxHashMap::default();
    for zone in ready.filter(|zone| *zone != ZoneId::EMPTY) {
        served.entry(zone).or_insert_with(|| vec![zone]);
    }
    let homes: Vec<ZoneId> = served.keys().copied().collect();
    for home in homes {
        let others = others_served(home, demand, reach, |zone| served.contains_key(&zone));
        let others: Vec<ZoneId> = others.collect();
        served.entry(home).or_default().extend(others);
    }
    served
}

fn others_served(
    home: ZoneId,
    demand: &Demand,
    reach: Reach,
    has_ready: impl Fn(ZoneId) -> bool,
) -> impl Iterator<Item = ZoneId> {
    let region = demand.region_of(home);
    let zones = demand.zones().iter().filter(move |other| other.region == region);
    let zones = zones.map(|other| other.zone).filter(move |zone| *zone != home);
    zones.filter(move |zone| reach == Reach::Region || !has_ready(*zone))
}

/// Whether shares in force may stay: each row names the zones of the wanted one, and no endpoint gets
/// more than `keep_excess` above what it would.
pub fn may_stay(in_force: &ZoneShares, wanted: &ZoneShares, keep_excess: f64) -> bool {
    let is_near = |(has, wanted): (&ShareRow, &ShareRow)| {
        has.client == wanted.client
            && has.parts.len() == wanted.parts.len()
            && has.parts.iter().zip(&wanted.parts).all(|((zone, has), (other, wanted))| {
                zone == other && f64::from(*has) <= f64::from(*wanted) * (1.0 + keep_excess) + 1.0
            })
    };
    in_force.rows().len() == wanted.rows().len()
        && in_force.rows().iter().zip(wanted.rows()).all(is_near)
}

/// The same preference as zone shares. `None`: fewer than two client zones, or nothing is ready.
pub fn shares(demand: &Demand, ready: &ZoneCounts, reach: Reach) -> Option<ZoneShares> {
    if demand.zones().len() < 2 || ready.total() == 0 {
        return None;
    }
    let mut by_region: FxHashMap<RegionId, Vec<(ZoneId, u32)>> = FxHashMap::default();
    for (zone, count) in ready.iter().filter(|(zone, n)| *n > 0 && *zone != ZoneId::EMPTY) {
        by_region.entry(demand.region_of(zone)).or_default().push((zone, count));
    }
    let row = |client: ZoneId| {
        let used = by_region.get(&demand.region_of(client))?;
        let own = used.iter().filter(|(zone, _)| *zone == client);
        let own: Vec<(ZoneId, u32)> = own.copied().collect();
        let used = if reach == Reach::ZoneThenRegion && !own.is_empty() { &own } else { used };
        Some((client, in_proportion(used, demand)))
    };
    Some(ZoneShares::new(demand.zones().iter().filter_map(|client| row(client.zone))))
}

/// Parts in proportion to the counts, by largest remainder, ties by name.
fn in_proportion(counts: &[(ZoneId, u32)], demand: &Demand) -> Vec<(ZoneId, u16)> {
    let total: u64 = counts.iter().map(|(_, count)| u64::from(*count)).sum();
    let exact = |count: u32| u64::from(count) * u64::from(PARTS);
    let mut parts: Vec<(ZoneId, u16, u64)> = counts
        .iter()
        .map(|&(zone, count)| {
            let floor = u16::try_from(exact(count) / total).expect("at most 1,000");
            (zone, floor, exact(count) % total)
        })
        .collect();
    let rank = |zone: ZoneId| demand.place(zone).rank;
    parts.sort_by_key(|(zone, _, rest)| (std::cmp::Reverse(*rest), rank(*zone), *zone));
    let left = PARTS - parts.iter().map(|(_, part, _)| part).sum::<u16>();
    for part in parts.iter_mut().take(usize::from(left)) {
        part.1 += 1;
    }
    parts.into_iter().map(|(zone, part, _)| (zone, part)).collect()
}
