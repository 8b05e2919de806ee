//! Why an endpoint that stays ready is no longer meant for a zone it was meant for.
//!
//! Clients of that zone lose it, so there must be a reason for each. O(endpoints of the slices that
//! are written).

use std::{fmt, sync::Arc};

use evenkeel_model::{Address, Endpoint, Reason, Slice, ZoneId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::{
    Draft, NoHints, Role,
    auto::bounds::minimum,
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

/// The moves of one address family. `drafts` carry their new hints.
pub(crate) fn moves(
    existing: &[&Slice],
    drafts: &[Draft<'_>],
    hints: &HintOutcome,
    sync: &Sync<'_>,
) -> Vec<Move> {
    let written = drafts.iter().filter(|draft| draft.role == Role::Update);
    let mut left: Vec<(Address, ZoneId)> = Vec::new();
    for draft in written {
        let Some(old) = existing.iter().find(|old| old.name == draft.slice.name) else { continue };
        let now: FxHashMap<&Address, &Endpoint> =
            draft.slice.endpoints.iter().filter_map(|e| Some((e.address()?, e))).collect();
        for before in old.endpoints.iter().filter(|e| e.is_ready()) {
            let Some(address) = before.address() else { continue };
            let Some(after) = now.get(address).filter(|after| after.is_ready()) else { continue };
            let lost = before.zone_hints().iter().filter(|z| !after.zone_hints().contains(z));
            left.extend(lost.map(|zone| (address.clone(), *zone)));
        }
    }
    if left.is_empty() {
        return Vec::new();
    }
    let below = below_minimum(existing, drafts, sync);
    let moved =
        |(endpoint, from)| Move { why: reason(from, hints, below.as_ref(), sync), endpoint, from };
    left.into_iter().map(moved).collect()
}

fn reason(
    from: ZoneId,
    hints: &HintOutcome,
    below: Option<&MoveReason>,
    sync: &Sync<'_>,
) -> MoveReason {
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
            let zones = sync.capacity.map(crate::Capacity::zones).unwrap_or_default();
            match below {
                _ if !zones.iter().any(|zone| zone.zone == from) => MoveReason::ZoneWithoutCapacity,
                Some(below) => below.clone(),
                None => MoveReason::Reallocated,
            }
        }
    }
}

/// The first zone that the hints as they were would have left below its minimum.
fn below_minimum(existing: &[&Slice], drafts: &[Draft<'_>], sync: &Sync<'_>) -> Option<MoveReason> {
    let capacity = sync.capacity.ok()?;
    let ready = drafts.iter().flat_map(|d| &d.slice.endpoints).filter(|e| e.is_ready());
    let total = ready.clone().count();
    let stays: FxHashMap<&Address, ()> = ready.filter_map(|e| Some((e.address()?, ()))).collect();
    let had = |zone: ZoneId| {
        let kept = existing.iter().flat_map(|s| &s.endpoints).filter(|e| {
            e.is_ready()
                && e.address().is_some_and(|a| stays.contains_key(a))
                && e.zone_hints().contains(&zone)
        });
        u32::try_from(kept.count()).unwrap_or(u32::MAX)
    };
    let total = f64::from(u32::try_from(total).unwrap_or(u32::MAX));
    capacity.zones().iter().find_map(|zone| {
        let minimum = minimum(total * zone.ratio, sync.settings.keep_threshold);
        let had = had(zone.zone);
        let name = Arc::clone(&zone.name);
        (had < minimum).then_some(MoveReason::ZoneBelowMinimum { zone: name, had, minimum })
    })
}

// === impl MoveReason ===

impl Reason for MoveReason {}

impl fmt::Display for MoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MoveReason::ZoneBelowMinimum { zone, had, minimum } => {
                write!(f, "zone {zone} would have {had} of the {minimum} endpoints it needs")
            }
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
