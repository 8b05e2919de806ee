//! Why parts of a client zone's traffic leave its zone.
//!
//! A part has one reason: that of the widest border it crosses. A part that the exact flows don't
//! have is there because the table in force is kept; one that they have, but with less than half a
//! part per 1,000, because of rounding.

use std::{fmt, sync::Arc};

use evenkeel_model::{PARTS, Reason, ZoneId, ZoneShares};
use serde::Serialize;

use super::{FlowRow, solve, solve::sane};
use crate::{
    auto::ZoneCounts,
    demand::{Demand, ZoneDemand},
    reason::count,
};

/// Why a part of a client zone's traffic leaves its zone. Parts of the traffic are parts of one. Codes
/// and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum PartReason {
    /// The client zone has no ready endpoint.
    ZoneWithoutEndpoints { zone: Arc<str> },
    /// Its ready endpoints can't take all that its clients send.
    ZoneFull { zone: Arc<str>, endpoints: u32, capacity: f64, demand: f64 },
    /// The part goes to another region: the client zone's region has no ready endpoint.
    RegionWithoutEndpoints { region: Arc<str> },
    /// The part goes to another region: the ready endpoints of the client zone's region can't take all
    /// that its clients send.
    RegionFull { region: Arc<str>, endpoints: u32, capacity: f64, demand: f64 },
    /// The shares in force are kept; the best shares have no such part.
    SharesKept,
    /// The exact part is less than half of one in 1,000.
    RoundedUp { exact: f64 },
}

/// Why the traffic of one client zone leaves it.
#[derive(Clone, Debug, PartialEq)]
pub struct LeavingRow {
    pub client: ZoneId,
    /// The parts for other zones than the client's, in the order of the table.
    pub parts: Vec<LeavingPart>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LeavingPart {
    /// The zone of the endpoints; [`ZoneId::EMPTY`] if they have none.
    pub zone: ZoneId,
    /// In parts per 1,000 of the client zone's traffic.
    pub part: u16,
    pub reason: PartReason,
}

/// The ready endpoints of a region, and what its clients send.
#[derive(Clone, Copy, Debug, Default)]
struct Balance {
    endpoints: u32,
    demand: f64,
}

/// What reasons are found in.
struct Cause<'a> {
    demand: &'a Demand,
    ready: &'a ZoneCounts,
    /// What an endpoint can take.
    most: f64,
    /// By [`Place::region`](crate::demand::Place::region).
    regions: Vec<Balance>,
}

/// For each row of `shares` with a part that leaves its zone, the reasons, in the order of the demand.
/// Rows of zones that have no Node are left out: no client uses them. O(zones² log zones).
pub fn why(
    shares: &ZoneShares,
    demand: &Demand,
    ready: &ZoneCounts,
    allowance: f64,
) -> Vec<LeavingRow> {
    let flows = solve(demand, ready, allowance);
    let mut flow_rows = flows.rows();
    let cause = Cause::new(demand, ready, allowance);
    let row = |client: &ZoneDemand| {
        let mut exact: Vec<(ZoneId, f64)> = Vec::new();
        exact.extend(flow_rows.next().iter().flat_map(FlowRow::parts));
        exact.sort_unstable_by_key(|(zone, _)| *zone);
        let leaving = shares.row(client.zone)?.iter().filter(|(zone, _)| *zone != client.zone);
        let part = |&(zone, part): &(ZoneId, u16)| {
            let found = exact.binary_search_by_key(&zone, |(zone, _)| *zone);
            let exact = found.map_or(0.0, |at| exact[at].1);
            LeavingPart { zone, part, reason: cause.of(client, zone, exact) }
        };
        let parts: Vec<LeavingPart> = leaving.map(part).collect();
        (!parts.is_empty()).then_some(LeavingRow { client: client.zone, parts })
    };
    demand.zones().iter().filter_map(row).collect()
}

// === impl Cause ===

impl<'a> Cause<'a> {
    fn new(demand: &'a Demand, ready: &'a ZoneCounts, allowance: f64) -> Self {
        let n: f64 = ready.iter().map(|(_, n)| f64::from(n)).sum();
        let mut regions = vec![Balance::default(); demand.n_regions()];
        for (zone, endpoints) in ready.iter() {
            let sum = &mut regions[demand.place(zone).region as usize].endpoints;
            *sum = sum.saturating_add(endpoints);
        }
        for zone in demand.zones() {
            regions[demand.place(zone.zone).region as usize].demand += zone.part;
        }
        Cause { demand, ready, most: (1.0 + sane(allowance)) / n, regions }
    }

    /// Why clients of one zone use endpoints of another. `exact`: with which part by the exact flows.
    fn of(&self, client: &ZoneDemand, zone: ZoneId, exact: f64) -> PartReason {
        let parts = exact * f64::from(PARTS);
        if parts < 1e-6 {
            PartReason::SharesKept
        } else if parts < 0.5 {
            PartReason::RoundedUp { exact }
        } else if self.demand.region_of(zone) == client.region {
            self.leaves_zone(client)
        } else {
            self.leaves_region(client)
        }
    }

    fn leaves_zone(&self, client: &ZoneDemand) -> PartReason {
        let zone = Arc::clone(&client.name);
        match self.ready.get(client.zone).unwrap_or(0) {
            0 => PartReason::ZoneWithoutEndpoints { zone },
            endpoints => {
                let capacity = self.most * f64::from(endpoints);
                PartReason::ZoneFull { zone, endpoints, capacity, demand: client.part }
            }
        }
    }

    fn leaves_region(&self, client: &ZoneDemand) -> PartReason {
        let region = self.demand.region_name(client.region).map(Arc::clone).unwrap_or_default();
        match self.regions[self.demand.place(client.zone).region as usize] {
            Balance { endpoints: 0, .. } => PartReason::RegionWithoutEndpoints { region },
            Balance { endpoints, demand } => {
                let capacity = self.most * f64::from(endpoints);
                PartReason::RegionFull { region, endpoints, capacity, demand }
            }
        }
    }
}

// === impl PartReason ===

impl Reason for PartReason {}

impl fmt::Display for PartReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartReason::ZoneWithoutEndpoints { zone } => {
                write!(f, "zone {zone} has no ready endpoint")
            }
            PartReason::ZoneFull { zone, endpoints, capacity, demand } => {
                write!(f, "zone {zone} is full: ")?;
                limit(f, *endpoints, *capacity, *demand)
            }
            PartReason::RegionWithoutEndpoints { region } => {
                write!(f, "{} has no ready endpoint", Region(region))
            }
            PartReason::RegionFull { region, endpoints, capacity, demand } => {
                write!(f, "{} is full: ", Region(region))?;
                limit(f, *endpoints, *capacity, *demand)
            }
            PartReason::SharesKept => {
                write!(f, "the shares in force are kept: they are close enough to the best")
            }
            PartReason::RoundedUp { exact } => {
                write!(f, "{} % is rounded up to one part in 1,000", tenths(exact * 10.0) / 10.0)
            }
        }
    }
}

fn limit(f: &mut fmt::Formatter<'_>, endpoints: u32, takes: f64, sends: f64) -> fmt::Result {
    let (verb, endpoints) =
        (if endpoints == 1 { "takes" } else { "take" }, count(endpoints, "ready endpoint"));
    let (takes, sends) = (tenths(takes), tenths(sends));
    write!(
        f,
        "its {endpoints} {verb} at most {takes} % of the traffic, and its clients send {sends} %"
    )
}

/// 0.3333 as 33.3.
fn tenths(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 10.0
}

/// A region by name; that of no name has none.
struct Region<'a>(&'a str);

impl fmt::Display for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => write!(f, "the group of zones without a region"),
            name => write!(f, "region {name}"),
        }
    }
}
