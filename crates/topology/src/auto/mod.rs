//! Auto: ready endpoints are allocated to zones in proportion to the zones' CPU, unless that
//! would overload one.
//!
//! Source: KEP-2433 ("EndpointSlice Controller", "Overload") and the docs page's first three
//! safeguards. With `n` ready endpoints, a zone with the part `r` of all CPU should have `r·n`
//! endpoints and must have at least `⌈r·n / (1 + threshold)⌉`: with fewer, each of its endpoints
//! would be expected to take more than `1 + threshold` times its fair load. If the zones' minimums
//! sum to more than `n`, there are no hints.
//!
//! [`mod@bounds`] holds that arithmetic, [`least_change`] and [`whole_slices`] are the two ways to meet
//! it (see [`Assignment`]).

pub mod bounds;
mod exchange;
mod flow;
pub mod least_change;
mod open;
mod pool;
mod quota;
mod tally;
pub mod whole_slices;

use evenkeel_model::{Endpoint, ZoneId};

pub use self::bounds::{Bounds, bounds};
use self::open::Allowance;
use crate::{Assignment, Capacity, Draft, NoHints, Settings, draft::remove_hints};

/// How many ready endpoints are hinted for each zone, in no particular order. A zone that was never
/// given a count is not the same as one with zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneCounts(Vec<(ZoneId, u32)>);

/// Gives hints to the ready endpoints of one Service and address family, or takes them all off and
/// says why. `in_force`: hints are there already, so the keep threshold holds.
pub fn assign(
    drafts: &mut [Draft<'_>],
    capacity: Result<&Capacity, &NoHints>,
    in_force: bool,
    settings: &Settings,
) -> Result<ZoneCounts, NoHints> {
    let outcome = try_assign(drafts, capacity, in_force, settings);
    outcome.map_err(|why| {
        remove_hints(drafts);
        why_not_given(why, capacity, settings)
    })
}

/// With hints gone, what counts is what it would take to get them: a plan on the outcome says the
/// same.
fn why_not_given(
    why: NoHints,
    capacity: Result<&Capacity, &NoHints>,
    settings: &Settings,
) -> NoHints {
    let (NoHints::Overload { endpoints, .. }, Ok(capacity)) = (&why, capacity) else {
        return why;
    };
    bounds(capacity, *endpoints, settings.assign_threshold).err().unwrap_or(why)
}

fn try_assign(
    drafts: &mut [Draft<'_>],
    capacity: Result<&Capacity, &NoHints>,
    in_force: bool,
    settings: &Settings,
) -> Result<ZoneCounts, NoHints> {
    let capacity = capacity.map_err(NoHints::clone)?;
    let threshold = settings.threshold(in_force);
    match settings.assignment {
        Assignment::LeastChange => {
            // New endpoints are given away before old ones, as Kubernetes does it.
            drafts.sort_by_key(|draft| draft.role);
            let mut positions = least_change::places(drafts, capacity);
            let bounds = bounds(capacity, count(positions.places.len()), threshold)?;
            positions.unzoned.clone()?;
            let allowance = Allowance {
                threshold: settings.locality_threshold,
                least: &|homes| least_away(capacity, homes, settings),
            };
            let targets = least_change::assign_slices(&mut positions, &bounds, &allowance);
            Ok(least_change::write(drafts, capacity, &positions, &targets))
        }
        Assignment::WholeSlices => {
            let endpoints = drafts.iter().flat_map(|d| &d.slice.endpoints);
            let n = count(endpoints.filter(|e| e.is_ready()).count());
            whole_slices::assign(drafts, capacity, &bounds(capacity, n, threshold)?)
        }
    }
}

/// How many endpoints are hinted away from their zone when hints are given from nothing. Hints are
/// given under one threshold and kept under another; the greater number of both holds, so that
/// hints just given are within the allowance also when they are kept.
fn least_away(capacity: &Capacity, homes: &[u32], settings: &Settings) -> u32 {
    let thresholds = [settings.threshold(false), settings.threshold(true)];
    let under = |threshold| {
        let bounds = bounds(capacity, homes.iter().sum(), threshold).ok()?;
        Some(quota::from_nothing(&bounds, homes).iter().sum())
    };
    thresholds.into_iter().filter_map(under).max().unwrap_or(0)
}

fn count(endpoints: usize) -> u32 {
    u32::try_from(endpoints).expect("fewer than 2^32 endpoints")
}

/// Whether hints are in force: there are ready endpoints, and all have zone hints.
pub fn in_force<'a>(endpoints: impl IntoIterator<Item = &'a Endpoint>) -> bool {
    let mut ready = endpoints.into_iter().filter(|e| e.is_ready()).peekable();
    ready.peek().is_some() && ready.all(|e| !e.zone_hints().is_empty())
}

/// The zone of an endpoint; an empty one is none.
#[inline]
fn zone_of(endpoint: &Endpoint) -> Option<ZoneId> {
    endpoint.zone.filter(|&zone| zone != ZoneId::EMPTY)
}

/// A ready endpoint without a zone: there can be no hints.
#[cold]
fn without_zone(endpoint: &Endpoint) -> NoHints {
    let address = endpoint.address().map_or("without address".into(), |a| a.to_string().into());
    NoHints::EndpointWithoutZone { address }
}

// === impl ZoneCounts ===

impl ZoneCounts {
    pub fn add(&mut self, zone: ZoneId, endpoints: u32) {
        match self.0.iter_mut().find(|(known, _)| *known == zone) {
            Some((_, count)) => *count += endpoints,
            None => self.0.push((zone, endpoints)),
        }
    }

    /// `None`: the zone was never given a count.
    pub fn get(&self, zone: ZoneId) -> Option<u32> {
        let found = self.0.iter().find(|(known, _)| *known == zone);
        found.map(|(_, count)| *count)
    }

    pub fn iter(&self) -> impl Iterator<Item = (ZoneId, u32)> + '_ {
        self.0.iter().copied()
    }

    pub fn total(&self) -> u32 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ZoneId, u32)> for ZoneCounts {
    fn from_iter<I: IntoIterator<Item = (ZoneId, u32)>>(counts: I) -> Self {
        let mut all = ZoneCounts::default();
        for (zone, count) in counts {
            all.add(zone, count);
        }
        all
    }
}
