//! Why an endpoint that stays ready is no longer meant for a zone it was meant for.
//!
//! Clients of that zone lose it, so there must be a reason for each. O(endpoints of the slices that
//! are written).

use std::{fmt, sync::Arc};

use evenkeel_model::{Address, Endpoint, Reason, Slice, ZoneId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::{
    Assignment, Capacity, Draft, NoHints, Role,
    auto::bounds::minimum,
    capacity::ZoneCapacity,
    plan::{HintOutcome, Sync},
    region::Expressed,
};

/// One endpoint, ready before and after, that a zone loses.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    pub endpoint: Address,
    pub from: ZoneId,
    pub why: MoveReason,
}

/// Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum MoveReason {
    /// Another zone would have been overloaded.
    ZoneBelowMinimum {
        zone: Arc<str>,
        had: u32,
        minimum: u32,
    },
    /// Another zone has less than its part of the endpoints, and the slice is written anyway.
    ZoneBelowPart {
        zone: Arc<str>,
    },
    /// The endpoint is hinted for its own zone again: its slice is written anyway, or more than the
    /// allowed part of the endpoints were hinted for other zones.
    Locality,
    /// The zone has no capacity any more: no client is there to use the endpoint.
    ZoneWithoutCapacity,
    /// Only under [`crate::Assignment::WholeSlices`]: a slice that is written is allocated again.
    Reallocated,
    /// Hints are taken off altogether.
    HintsRefused {
        why: NoHints,
    },
    NoLongerRequested,
    /// The policy gives each endpoint to the zone it is in.
    OwnZone,
    /// The policy gives each endpoint to zones of its region.
    OwnRegion,
    /// An endpoint would need hints for more zones than the API allows: zone shares say the same.
    TooManyHints {
        zones: usize,
    },
}

/// An endpoint that leaves a zone, and the zones it is hinted for now.
struct Left<'a> {
    endpoint: &'a Address,
    from: ZoneId,
    after: &'a Endpoint,
}

/// The moves of one address family. `drafts` carry their new hints.
pub(crate) fn moves(
    existing: &[&Slice],
    drafts: &[Draft<'_>],
    hints: &HintOutcome,
    sync: &Sync<'_>,
) -> Vec<Move> {
    let written = drafts.iter().filter(|draft| draft.role == Role::Update);
    let mut left: Vec<Left<'_>> = Vec::new();
    for draft in written {
        let Some(old) = existing.iter().find(|old| old.name == draft.slice.name) else { continue };
        let now: FxHashMap<&Address, &Endpoint> =
            draft.slice.endpoints.iter().filter_map(|e| Some((e.address()?, e))).collect();
        for before in old.endpoints.iter().filter(|e| e.is_ready()) {
            let Some(endpoint) = before.address() else { continue };
            let Some(&after) = now.get(endpoint).filter(|after| after.is_ready()) else { continue };
            let lost = before.zone_hints().iter().filter(|z| !after.zone_hints().contains(z));
            left.extend(lost.map(|&from| Left { endpoint, from, after }));
        }
    }
    if left.is_empty() {
        return Vec::new();
    }
    let below = below_minimum(existing, drafts, sync);
    let moved = |left: &Left<'_>| Move {
        endpoint: left.endpoint.clone(),
        from: left.from,
        why: reason(left, hints, &below, sync),
    };
    left.iter().map(moved).collect()
}

fn reason(left: &Left<'_>, hints: &HintOutcome, below: &Below, sync: &Sync<'_>) -> MoveReason {
    match hints {
        HintOutcome::AutoRefused(why) => MoveReason::HintsRefused { why: why.clone() },
        HintOutcome::NotRequested => MoveReason::NoLongerRequested,
        HintOutcome::OwnZone | HintOutcome::OwnNode => MoveReason::OwnZone,
        HintOutcome::Balanced { hints: Err(why), .. } => {
            MoveReason::HintsRefused { why: why.clone() }
        }
        HintOutcome::Region { expressed: Expressed::ByHints, .. } => MoveReason::OwnRegion,
        HintOutcome::Region { expressed: Expressed::ByShares { zones }, .. } => {
            MoveReason::TooManyHints { zones: *zones }
        }
        HintOutcome::Auto(_) | HintOutcome::Balanced { hints: Ok(_), .. } => {
            let zones = sync.capacity.map(Capacity::zones).unwrap_or_default();
            let to = zones.iter().find(|zone| left.after.zone_hints().contains(&zone.zone));
            match (sync.settings.assignment, to) {
                _ if !zones.iter().any(|zone| zone.zone == left.from) => {
                    MoveReason::ZoneWithoutCapacity
                }
                (Assignment::LeastChange, Some(to)) => {
                    let own = || match left.after.zone == Some(to.zone) {
                        true => MoveReason::Locality,
                        false => MoveReason::ZoneBelowPart { zone: Arc::clone(&to.name) },
                    };
                    let below = below.iter().find(|(zone, _)| *zone == to.zone);
                    below.map_or_else(own, |(_, why)| why.clone())
                }
                _ => below.first().map_or(MoveReason::Reallocated, |(_, why)| why.clone()),
            }
        }
    }
}

/// Zones that the hints as they were would have left below their minimum.
type Below = Vec<(ZoneId, MoveReason)>;

fn below_minimum(existing: &[&Slice], drafts: &[Draft<'_>], sync: &Sync<'_>) -> Below {
    let Ok(capacity) = sync.capacity else { return Vec::new() };
    let ready = drafts.iter().flat_map(|d| &d.slice.endpoints).filter(|e| e.is_ready());
    let total = f64::from(u32::try_from(ready.clone().count()).unwrap_or(u32::MAX));
    let stays: FxHashSet<&Address> = ready.filter_map(Endpoint::address).collect();
    let mut had: FxHashMap<ZoneId, u32> = FxHashMap::default();
    let before = existing.iter().flat_map(|s| &s.endpoints).filter(|e| e.is_ready());
    for endpoint in before.filter(|e| e.address().is_some_and(|a| stays.contains(a))) {
        for zone in endpoint.zone_hints() {
            *had.entry(*zone).or_default() += 1;
        }
    }
    let below = |zone: &ZoneCapacity| {
        let minimum = minimum(total * zone.ratio, sync.settings.keep_threshold);
        let had = had.get(&zone.zone).copied().unwrap_or(0);
        let why = || MoveReason::ZoneBelowMinimum { zone: Arc::clone(&zone.name), had, minimum };
        (had < minimum).then(|| (zone.zone, why()))
    };
    capacity.zones().iter().filter_map(below).collect()
}

// === impl MoveReason ===

impl Reason for MoveReason {}

impl fmt::Display for MoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoveReason::ZoneBelowMinimum { zone, had, minimum } => {
                write!(f, "zone {zone} would have {had} of the {minimum} endpoints it needs")
            }
            MoveReason::ZoneBelowPart { zone } => {
                write!(f, "zone {zone} had less than its part of the endpoints")
            }
            MoveReason::Locality => write!(f, "it is hinted for its own zone again"),
            MoveReason::ZoneWithoutCapacity => write!(f, "no node of the zone is ready"),
            MoveReason::Reallocated => write!(f, "its slice was reallocated"),
            MoveReason::HintsRefused { why } => write!(f, "hints are taken off: {why}"),
            MoveReason::NoLongerRequested => write!(f, "hints are no longer requested"),
            MoveReason::OwnZone => write!(f, "each endpoint is meant for the zone it is in"),
            MoveReason::OwnRegion => write!(f, "each endpoint is meant for zones of its region"),
            MoveReason::TooManyHints { zones } => {
                write!(f, "hints can't name {zones} zones; zone shares are set instead")
            }
        }
    }
}
