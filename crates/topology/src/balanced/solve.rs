//! The exact flows: how much of each client zone's traffic goes to the endpoints of which zone.
//!
//! Given are the demand `d` of each client zone (parts of one), the ready endpoints `e` of each zone
//! (`n` in all), and the allowance. The endpoints of a zone take at most `c = (1 + allowance)·e/n`.
//! Wanted: as little traffic as possible leaves its zone, then its region. Endpoints without a zone
//! are a zone of their own; zones without a known region are one region.
//!
//! 1. **Zone.** Each zone keeps `min(d, c)`. The rest of its demand is its *excess*, the rest of its
//!    capacity is *spare*; a zone never has both.
//! 2. **Region.** With the excess `X` and the spare capacity `S` of a region's zones, `min(X, S)` stays
//!    in the region.
//! 3. **Everywhere.** What is left of all excess goes to what is left of all spare capacity. It fits:
//!    capacity is `1 + allowance` in all, and demand is one.
//!
//! In 2 and 3 sources give in proportion to their excess, and sinks fill to an equal load for each of
//! their endpoints: the least loaded first, until they are as loaded as the next (water-filling).
//!
//! **It is optimal.** A zone can keep no more than `min(d, c)` whatever the others do, and step 1 keeps
//! that. The zones of a region can keep no more than `min(Σd, Σc)` among themselves. If `X ≤ S` all
//! their demand stays; otherwise all their capacity is filled with their own demand: steps 1 and 2
//! reach that bound too. Both costs are at their least at once, and how sources and sinks are matched
//! within a step has no part in either: only the sums count. So that choice is free for what it is
//! made for: no ties to break, and flows that change little when the input does.
//!
//! **It is continuous**, as is each step: one endpoint more or less changes capacities by at most
//! `(1 + allowance)/n` in all, and moves at most [`MOST_MOVED`] times that of the Service's traffic.
//!
//! A zone without demand has the row that a very small demand would get: its own endpoints, otherwise
//! what sinks of its region take of others' excess, or would take first. Where its region is exactly
//! full and has no excess, all endpoints of the region serve it equally.
//!
//! All sources of a region give to the same sinks in the same proportions, so that the table is kept
//! as three numbers for each row and two for each column. O(zones²) for the flows, and as much
//! to write them out.

use evenkeel_model::ZoneId;

use crate::{
    auto::ZoneCounts,
    demand::{Demand, ZoneDemand},
};

/// With one endpoint more or less at most this times `(1 + allowance)/n` of the traffic goes to another
/// zone, before rounding; `n` is the larger number of endpoints. Not proven: the most that a search
/// by hill climbing found is 3.6. Of random inputs half move 1 or less, and 99 of 100 less than 2.
pub const MOST_MOVED: f64 = 4.0;

/// Parts of the traffic below this are errors of floating point.
const NOTHING: f64 = 1e-12;

/// The least amount that sinks are filled with. A smaller one is divided in the same proportions, so
/// that sinks that differ by an error of floating point count as equally loaded.
const LEAST_FILL: f64 = 1e-6;

/// For each client zone, which part of its traffic goes to the endpoints of which zone. Parts of a row
/// sum to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    rows: Vec<Row>,
    sinks: Vec<Sink>,
}

/// The row of one client zone.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow<'a> {
    row: &'a Row,
    sinks: &'a [Sink],
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    client: ZoneId,
    region: u32,
    /// Its index among the sinks, if it has endpoints.
    sink: Option<u32>,
    /// The parts for its own zone, for its region and for everywhere; they sum to one.
    own: f64,
    near: f64,
    far: f64,
}

/// A zone with ready endpoints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sink {
    pub(super) zone: ZoneId,
    /// The position of its name.
    pub(super) rank: u32,
    pub(super) endpoints: u32,
    region: u32,
    load: f64,
    /// Its part of what sources of its region give within the region.
    near: f64,
    /// Its part of what sources give outside of their regions.
    far: f64,
}

/// What is left after the zones of a region keep what they can.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    excess: f64,
    spare: f64,
    endpoints: f64,
}

/// The flows with the least traffic out of zones, then out of regions, with no endpoint above
/// `(1 + allowance)/n`. An allowance that is not a number above zero is zero. Without a ready endpoint
/// there are no rows.
pub fn solve(demand: &Demand, ready: &ZoneCounts, allowance: f64) -> Flows {
    let mut sinks = sinks(demand, ready);
    let n: f64 = sinks.iter().map(|sink| f64::from(sink.endpoints)).sum();
    if sinks.is_empty() {
        return Flows { rows: Vec::new(), sinks };
    }
    let most = (1.0 + sane(allowance)) / n;
    let mut levels = vec![Level::default(); demand.n_regions()];
    let mut rows = keep_in_zone(demand, &mut sinks, most, &mut levels);
    for sink in &sinks {
        let level = &mut levels[sink.region as usize];
        level.spare += (most * f64::from(sink.endpoints) - sink.load).max(0.0);
        level.endpoints += f64::from(sink.endpoints);
    }
    let left = fill_regions(&mut sinks, &levels);
    fill(&mut sinks, left, |sink, part| sink.far = part);
    for row in &mut rows {
        let rest = 1.0 - row.own;
        row.near = rest * levels[row.region as usize].stays();
        row.far = rest - row.near;
    }
    Flows { rows, sinks }
}

/// The allowance, if it is one.
pub(super) fn sane(allowance: f64) -> f64 {
    // Beyond a million everything fits into any endpoint; infinity would give NaN.
    if allowance > 0.0 { allowance.min(1e6) } else { 0.0 }
}

/// Zones with endpoints by region, then by name: every process sums in the same order.
fn sinks(demand: &Demand, ready: &ZoneCounts) -> Vec<Sink> {
    let sink = |(zone, endpoints)| {
        let place = demand.place(zone);
        let (region, rank) = (place.region, place.rank);
        Sink { zone, rank, endpoints, region, load: 0.0, near: 0.0, far: 0.0 }
    };
    let mut sinks: Vec<Sink> = ready.iter().filter(|(_, n)| *n > 0).map(sink).collect();
    sinks.sort_unstable_by_key(|sink| (sink.region, sink.rank, sink.zone));
    sinks
}

/// Step 1. Rows get the part that stays; sinks are loaded with it, and excess is summed by region.
fn keep_in_zone(demand: &Demand, sinks: &mut [Sink], most: f64, levels: &mut [Level]) -> Vec<Row> {
    let mut own_sink = vec![None; demand.zones().len()];
    for (idx, sink) in (0u32..).zip(&*sinks) {
        if let Some(client) = demand.place(sink.zone).client {
            own_sink[client as usize] = Some(idx);
        }
    }
    let row = |(zone, sink): (&ZoneDemand, Option<u32>)| {
        let region = demand.place(zone.zone).region;
        let own = match sink.map(|idx| &mut sinks[idx as usize]) {
            None => 0.0,
            Some(sink) => {
                let takes = most * f64::from(sink.endpoints);
                sink.load = zone.part.min(takes);
                if zone.part > takes { takes / zone.part } else { 1.0 }
            }
        };
        levels[region as usize].excess += zone.part * (1.0 - own);
        Row { client: zone.zone, region, sink, own, near: 0.0, far: 0.0 }
    };
    demand.zones().iter().zip(own_sink).map(row).collect()
}

/// Step 2. Returns what is left for step 3.
fn fill_regions(sinks: &mut [Sink], levels: &[Level]) -> Level {
    for of_region in sinks.chunk_by_mut(|a, b| a.region == b.region) {
        let level = levels[of_region[0].region as usize];
        fill(of_region, level, |sink, part| sink.near = part);
        for sink in of_region {
            sink.load += sink.near * level.moved();
        }
    }
    let add = |left: Level, level: &Level| Level {
        excess: left.excess + (level.excess - level.moved()),
        spare: left.spare + (level.spare - level.moved()),
        endpoints: left.endpoints + level.endpoints,
    };
    levels.iter().fold(Level::default(), add)
}

/// Gives each sink its part of what sources move: the part that raises all sinks it reaches to the same
/// load for each endpoint. Sinks already above that get nothing.
fn fill(sinks: &mut [Sink], level: Level, set: impl Fn(&mut Sink, f64)) {
    let amount = level.moved().max(LEAST_FILL).min(level.spare);
    if amount <= NOTHING {
        return sinks.iter_mut().for_each(|s| set(s, f64::from(s.endpoints) / level.endpoints));
    }
    let height = fill_height(sinks, amount);
    let takes = |sink: &Sink| (height * f64::from(sink.endpoints) - sink.load).max(0.0);
    let sum: f64 = sinks.iter().map(takes).sum();
    for sink in sinks {
        let part = takes(sink) / sum;
        set(sink, part);
    }
}

/// The load for each endpoint to which `amount` raises the least loaded sinks.
fn fill_height(sinks: &[Sink], amount: f64) -> f64 {
    let mut height = f64::INFINITY;
    let mut reached = usize::MAX;
    // Without the sinks above it the height falls, and more may be above. Each turn leaves out one at
    // least; two or three turns are usual.
    loop {
        let (mut count, mut load, mut endpoints) = (0, amount, 0.0);
        for sink in sinks {
            let of_sink = f64::from(sink.endpoints);
            if sink.load < height * of_sink {
                count += 1;
                load += sink.load;
                endpoints += of_sink;
            }
        }
        // Not fewer: an error of floating point may bring one back.
        if count >= reached || count == 0 {
            return height;
        }
        reached = count;
        height = load / endpoints;
    }
}

// === impl Level ===

impl Level {
    /// What sources move to sinks.
    fn moved(self) -> f64 {
        self.excess.min(self.spare)
    }

    /// Which part of the excess of each source that is.
    fn stays(self) -> f64 {
        if self.excess > NOTHING {
            self.moved() / self.excess
        } else if self.endpoints > 0.0 {
            1.0
        } else {
            0.0
        }
    }
}

// === impl Flows ===

impl Flows {
    /// One for each client zone, in the order of the demand.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = FlowRow<'_>> {
        self.rows.iter().map(|row| FlowRow { row, sinks: &self.sinks })
    }

    /// Which part of the traffic of `client` goes to the endpoints of `zone`.
    pub fn part(&self, client: ZoneId, zone: ZoneId) -> f64 {
        let row = self.rows().find(|row| row.client() == client);
        let found = row.and_then(|row| row.parts().find(|(to, _)| *to == zone));
        found.map_or(0.0, |(_, part)| part)
    }

    pub(super) fn n_sinks(&self) -> usize {
        self.sinks.len()
    }
}

// === impl FlowRow ===

impl<'a> FlowRow<'a> {
    pub fn client(&self) -> ZoneId {
        self.row.client
    }

    /// Zones of endpoints with their parts, each above zero. [`ZoneId::EMPTY`]: endpoints without a
    /// zone.
    pub fn parts(&self) -> impl Iterator<Item = (ZoneId, f64)> + use<'a> {
        self.by_sink().map(|(sink, part)| (sink.zone, part))
    }

    /// All of the zone's traffic stays in it.
    pub fn stays(&self) -> bool {
        self.row.own == 1.0
    }

    pub(super) fn by_sink(&self) -> impl Iterator<Item = (&'a Sink, f64)> + use<'a> {
        let row = self.row;
        let part = move |(idx, sink): (u32, &'a Sink)| {
            let own = if row.sink == Some(idx) { row.own } else { 0.0 };
            let near = if row.region == sink.region { row.near * sink.near } else { 0.0 };
            (sink, own + near + row.far * sink.far)
        };
        (0u32..).zip(self.sinks).map(part).filter(|(_, part)| *part > 0.0)
    }
}
