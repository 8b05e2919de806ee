//! Zone shares of a plan: for each set of ports of a family, decided and put on a slice.
//!
//! Balanced decides by [`crate::balanced`], policies that look at regions by [`region::shares`], where
//! shares in force stay while no endpoint gets much more than it would. A table that is longer than
//! consumers read is not written.

use std::{fmt, sync::Arc};

use evenkeel_model::{EndpointPort, MOST_SHARES_BYTES, Reason, Slice, ZoneId, ZoneShares};
use serde::Serialize;

use crate::{
    Demand, Draft, Policy, Settings, auto, balanced, carrier,
    plan::{HintOutcome, Sync},
    region::{self, Expressed, Reach},
};

/// The zone shares of one set of ports.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupShares {
    pub ports: Vec<EndpointPort>,
    pub ready: auto::ZoneCounts,
    pub shares: Result<Arc<ZoneShares>, NoShares>,
    /// A table was in force before.
    pub was_in_force: bool,
    /// What is expected of the table; only under Balanced.
    pub decision: Option<balanced::Decision>,
}

/// Why there is no table. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum NoShares {
    /// No Node has a zone.
    NoZones,
    /// All Nodes are in one zone: there is nothing to share out.
    OneZone,
    /// No endpoint is ready.
    NothingReady,
    /// Consumers would not read the table.
    TableTooLong { bytes: usize, limit: usize },
}

pub(crate) fn writes_shares(policy: Policy) -> bool {
    matches!(policy, Policy::Balanced | Policy::PreferSameRegion | Policy::PreferSameZoneThenRegion)
}

/// Sets the zone shares of policy Balanced.
pub(crate) fn balanced(
    drafts: &mut [Draft<'_>],
    sync: &Sync<'_>,
    settings: &Settings,
) -> Vec<GroupShares> {
    let tuning = settings.tuning();
    share_out(drafts, sync, |group| {
        let (in_force, anyway) = (group.in_force.map(|shares| &**shares), group.written_anyway);
        let mut decision = balanced::decide(sync.demand, &group.ready, in_force, anyway, &tuning);
        (decision.shares.take(), Some(decision))
    })
}

/// Gives the hints of a policy that looks at regions, or zone shares where hints can't say it.
pub(crate) fn regional(
    drafts: &mut [Draft<'_>],
    sync: &Sync<'_>,
    settings: &Settings,
    reach: Reach,
) -> HintOutcome {
    let expressed = region::assign(drafts, sync.demand, reach);
    let groups = match expressed {
        Expressed::ByShares { .. } => share_out(drafts, sync, |group| {
            let wanted = region::shares(sync.demand, &group.ready, reach);
            let kept = group.in_force.filter(|in_force| {
                !group.written_anyway
                    && wanted.as_ref().is_some_and(|wanted| {
                        region::may_stay(in_force, wanted, settings.keep_excess)
                    })
            });
            (kept.map(|kept| ZoneShares::clone(kept)).or(wanted), None)
        }),
        Expressed::ByHints => {
            carrier::remove(drafts);
            Vec::new()
        }
    };
    HintOutcome::Region { reach, expressed, groups }
}

fn share_out(
    drafts: &mut [Draft<'_>],
    sync: &Sync<'_>,
    decide: impl Fn(&carrier::Group<'_>) -> (Option<ZoneShares>, Option<balanced::Decision>),
) -> Vec<GroupShares> {
    let family = drafts.first().map(|draft| draft.slice.address_type);
    let own = |s: &&&Slice| {
        Some(s.address_type) == family && s.owner.as_deref() == Some(&*sync.service.uid)
    };
    let existing: Vec<&Slice> = sync.existing.iter().filter(own).copied().collect();
    let mut shared = Vec::new();
    for group in carrier::groups(drafts, &existing) {
        let (shares, decision) = decide(&group);
        let shares = checked(shares, &group.ready, sync.demand);
        carrier::put(drafts, &group, shares.as_ref().ok());
        let was_in_force = group.in_force.is_some();
        let carrier::Group { ports, ready, .. } = group;
        shared.push(GroupShares { ports, ready, shares, was_in_force, decision });
    }
    shared
}

fn checked(
    shares: Option<ZoneShares>,
    ready: &auto::ZoneCounts,
    demand: &Demand,
) -> Result<Arc<ZoneShares>, NoShares> {
    let Some(shares) = shares else {
        return Err(match demand.zones().len() {
            _ if ready.total() == 0 => NoShares::NothingReady,
            0 => NoShares::NoZones,
            _ => NoShares::OneZone,
        });
    };
    match text_len(&shares, demand) {
        bytes if bytes > MOST_SHARES_BYTES => {
            Err(NoShares::TableTooLong { bytes, limit: MOST_SHARES_BYTES })
        }
        _ => Ok(Arc::new(shares)),
    }
}

/// An upper bound of the length of the annotation.
fn text_len(shares: &ZoneShares, demand: &Demand) -> usize {
    // The value of a label has up to 63 characters. Quotes, colon, comma and up to four digits.
    let name = |zone: ZoneId| demand.of(zone).map_or(63, |zone| zone.name.len()) + 8;
    let row = |row: &evenkeel_model::ShareRow| {
        name(row.client) + row.parts.iter().map(|(zone, _)| name(*zone)).sum::<usize>()
    };
    2 + shares.rows().iter().map(row).sum::<usize>()
}

// === impl GroupShares ===

impl GroupShares {
    pub fn table(&self) -> Option<&ZoneShares> {
        self.shares.as_deref().ok()
    }
}

// === impl NoShares ===

impl NoShares {
    /// No table is needed: traffic stays where it is.
    pub fn is_fine(&self) -> bool {
        *self == NoShares::OneZone
    }
}

impl Reason for NoShares {}

impl fmt::Display for NoShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoShares::NoZones => write!(f, "no node has a zone"),
            NoShares::OneZone => write!(f, "all nodes are in one zone"),
            NoShares::NothingReady => write!(f, "no endpoint is ready"),
            NoShares::TableTooLong { bytes, limit } => write!(
                f,
                "zone shares would take {bytes} bytes, more than the limit of {limit}: there are too many zones"
            ),
        }
    }
}
