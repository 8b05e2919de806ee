//! What clients of one Service port go by: hints, zone shares, or neither.
//!
//! Zone shares count only for Services whose policy writes them and on slices of Evenkeel's
//! controller: others keep foreign annotations, so that a table may be left from long ago.
//!
//! A table is computed for the slices of one address family and set of ports (a *group*) and travels
//! on one slice of the group, the first by name. While a new carrier is written before the old one
//! goes there are two: the first by name counts.
//!
//! A port name may be in several groups, as while Pods roll from one target port to another. Their
//! tables are then averaged by ready endpoints: with n_g of n ready endpoints in group g, clients of
//! zone c send Σ_g n_g/n · row_g(c, z) to zone z. That keeps every endpoint within its bound of
//! (1 + a)/n. Let d_c be the demand of zone c and r_g(z) the ready endpoints of group g in zone z.
//! Each table holds Σ_c d_c · row_g(c, z) ≤ r_g(z) · (1 + a)/n_g. All r(z) = Σ_g r_g(z) ready endpoints
//! of zone z share what arrives there, so that each gets
//!
//! ```text
//!   Σ_c d_c Σ_g n_g/n · row_g(c, z) / r(z)  ≤  Σ_g n_g/n · r_g(z) · (1 + a)/n_g / r(z)  =  (1 + a)/n
//! ```
//!
//! up to rounding to parts per 1,000, which moves less than one part from or to each zone of a row.

use std::{fmt, sync::Arc};

use evenkeel_model::{
    Names, PARTS, Reason, Routing, Selectable, Service, SharesAnnotation, SharesError,
    SharesUnusable, Slice, ZoneId, ZoneShares, label,
};
use serde::Serialize;

use crate::{Policy, Settings, consumer::Place, policy};

/// How clients of `service` use the endpoints of `slices`, which are those of one address family and
/// set of ports. For a port that is in several sets there is [`PortRouting`].
pub fn routing<'a>(
    service: &Service,
    slices: impl IntoIterator<Item = &'a Slice>,
    settings: &Settings,
) -> Routing<'a> {
    let basis = Basis::of(service, settings);
    let Basis::Shares { expected } = basis else { return basis.without_shares() };
    let carriers = slices.into_iter().filter(|slice| is_ours(slice, settings));
    let carriers = carriers.filter_map(|slice| Some((&slice.name, slice.shares.as_ref()?)));
    match carriers.min_by_key(|(name, _)| *name) {
        Some((_, SharesAnnotation::Valid(table))) => Routing::Shares(table),
        Some((_, SharesAnnotation::Invalid(why))) => {
            Routing::SharesUnusable(SharesUnusable::Invalid(why))
        }
        None if expected => Routing::SharesUnusable(SharesUnusable::Missing),
        None => Routing::Hints,
    }
}

/// Whether the annotation of this slice counts.
pub(crate) fn is_ours(slice: &Slice, settings: &Settings) -> bool {
    let manager = slice.labels.get(label::MANAGED_BY);
    let ours = |name: &str| {
        name == label::EVENKEEL || (name == &*settings.controller_name && name != label::BUILT_IN)
    };
    manager.is_some_and(|name| ours(name))
}

/// What a Service alone says about routing, before its slices are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    IgnoreHints,
    Hints,
    /// The policy writes zone shares: always, or where hints can't express it.
    Shares {
        expected: bool,
    },
    SameZoneOnly,
}

/// What clients of one Service port go by, as long as its slices stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortRouting {
    IgnoreHints,
    Hints,
    Shares(Arc<ZoneShares>),
    SharesMissing,
    SharesInvalid(Box<SharesError>),
    SameZoneOnly,
}

/// One group of slices: its ready endpoints, and what its carrier has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub ready: u32,
    pub carried: Option<&'a SharesAnnotation>,
}

/// Why clients of a zone don't go by zone shares although the policy writes them. Codes and fields
/// are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum SharesIgnored {
    /// No slice has the annotation.
    SharesMissing,
    SharesInvalid {
        error: SharesError,
    },
    /// The table has no row for the client's zone.
    SharesRowMissing {
        zone: Arc<str>,
    },
}

/// Why clients of `zone` don't go by zone shares; `None` if they do, or if none are expected.
pub fn shares_ignored(
    routing: Routing<'_>,
    zone: Option<ZoneId>,
    zones: &Names<ZoneId>,
) -> Option<SharesIgnored> {
    let zone = zone.unwrap_or(ZoneId::EMPTY);
    match routing {
        Routing::IgnoreHints | Routing::Hints | Routing::SameZoneOnly => None,
        Routing::Shares(table) if table.row(zone).is_some() => None,
        Routing::Shares(_) => {
            Some(SharesIgnored::SharesRowMissing { zone: Arc::clone(zones.name(zone)) })
        }
        Routing::SharesUnusable(SharesUnusable::Missing) => Some(SharesIgnored::SharesMissing),
        Routing::SharesUnusable(SharesUnusable::Invalid(error)) => {
            Some(SharesIgnored::SharesInvalid { error: error.clone() })
        }
    }
}

/// The average of tables, each weighted by its number of ready endpoints. A client zone has a row if
/// every table has one.
fn average(tables: &[(u32, &ZoneShares)]) -> ZoneShares {
    let total: u64 = tables.iter().map(|(ready, _)| u64::from(*ready)).sum();
    let row = |client| {
        let mut parts: Vec<(ZoneId, u64)> = Vec::new();
        for (ready, table) in tables {
            for &(zone, part) in table.row(client)? {
                let part = u64::from(part) * u64::from(*ready);
                match parts.iter_mut().find(|(known, _)| *known == zone) {
                    Some((_, sum)) => *sum += part,
                    None => parts.push((zone, part)),
                }
            }
        }
        Some((client, rounded(parts, total)))
    };
    let first = tables.first().map_or(&[][..], |(_, table)| table.rows());
    ZoneShares::new(first.iter().filter_map(|r| row(r.client)))
}

/// Parts that sum to `total` · [`PARTS`], divided by `total` so that they sum to [`PARTS`]: by
/// largest remainder, of equal ones the larger part first.
fn rounded(mut parts: Vec<(ZoneId, u64)>, total: u64) -> Vec<(ZoneId, u16)> {
    let floor = |part: u64| u16::try_from(part / total).expect("a part of PARTS");
    let left = PARTS - parts.iter().map(|(_, part)| floor(*part)).sum::<u16>();
    parts.sort_unstable_by_key(|&(zone, part)| (u64::MAX - part % total, u64::MAX - part, zone));
    let one_more = (0..PARTS).map(|nth| u16::from(nth < left)).chain(std::iter::repeat(0));
    parts.iter().zip(one_more).map(|(&(zone, part), more)| (zone, floor(part) + more)).collect()
}

// === impl Basis ===

impl Basis {
    pub(crate) fn of(service: &Service, settings: &Settings) -> Self {
        if !policy::hints_count(service, settings.gates) {
            return Basis::IgnoreHints;
        }
        match policy::requested(service, settings.gates).policy {
            Policy::RequireSameZone => Basis::SameZoneOnly,
            Policy::Balanced => Basis::Shares { expected: true },
            // Regions of few zones need no table.
            Policy::PreferSameRegion | Policy::PreferSameZoneThenRegion => {
                Basis::Shares { expected: false }
            }
            _ => Basis::Hints,
        }
    }

    fn without_shares<'a>(self) -> Routing<'a> {
        match self {
            Basis::IgnoreHints => Routing::IgnoreHints,
            Basis::SameZoneOnly => Routing::SameZoneOnly,
            Basis::Hints | Basis::Shares { .. } => Routing::Hints,
        }
    }
}

// === impl PortRouting ===

impl PortRouting {
    /// For clients of a port that all of `slices` have, which are of one address family and have
    /// these endpoints.
    pub fn new<'a>(
        service: &Service,
        slices: impl IntoIterator<Item = &'a Slice>,
        merged: &[Place<'_>],
        settings: &Settings,
    ) -> Self {
        let basis = Basis::of(service, settings);
        if !matches!(basis, Basis::Shares { .. }) {
            return PortRouting::combined(basis, []);
        }
        let mut slices: Vec<&Slice> = slices.into_iter().collect();
        slices.sort_unstable_by(|a, b| (&a.ports, &a.name).cmp(&(&b.ports, &b.name)));
        let groups = slices.chunk_by(|a, b| a.ports == b.ports).map(|group| {
            let of_group = |place: &&Place<'_>| place.slice.ports == group[0].ports;
            let ready = merged.iter().filter(of_group).filter(|p| p.endpoint.ready()).count();
            let carriers = group.iter().filter(|slice| is_ours(slice, settings));
            Group {
                ready: u32::try_from(ready).unwrap_or(u32::MAX),
                carried: carriers.filter_map(|slice| slice.shares.as_ref()).next(),
            }
        });
        PortRouting::combined(basis, groups.collect::<Vec<_>>())
    }

    /// From the groups of one port, in the order of their sets of ports. A group without a ready
    /// endpoint counts only where no group has one.
    pub(crate) fn combined<'a>(
        basis: Basis,
        groups: impl IntoIterator<Item = Group<'a>, IntoIter: Clone>,
    ) -> Self {
        let expected = match basis {
            Basis::IgnoreHints => return PortRouting::IgnoreHints,
            Basis::Hints => return PortRouting::Hints,
            Basis::SameZoneOnly => return PortRouting::SameZoneOnly,
            Basis::Shares { expected } => expected,
        };
        let groups = groups.into_iter();
        let none_ready = groups.clone().all(|group| group.ready == 0);
        let mut tables: Vec<(u32, &Arc<ZoneShares>)> = Vec::new();
        for group in groups.filter(|group| none_ready || group.ready > 0) {
            match group.carried {
                Some(SharesAnnotation::Valid(table)) => tables.push((group.ready.max(1), table)),
                Some(SharesAnnotation::Invalid(error)) => {
                    return PortRouting::SharesInvalid(Box::new(error.clone()));
                }
                None if expected => return PortRouting::SharesMissing,
                None => return PortRouting::Hints,
            }
        }
        match tables.as_slice() {
            [] if expected => PortRouting::SharesMissing,
            [] => PortRouting::Hints,
            [(_, only)] => PortRouting::Shares(Arc::clone(only)),
            _ => {
                let tables: Vec<_> =
                    tables.iter().map(|(ready, table)| (*ready, &***table)).collect();
                PortRouting::Shares(Arc::new(average(&tables)))
            }
        }
    }

    pub fn routing(&self) -> Routing<'_> {
        match self {
            PortRouting::IgnoreHints => Routing::IgnoreHints,
            PortRouting::Hints => Routing::Hints,
            PortRouting::Shares(table) => Routing::Shares(table),
            PortRouting::SharesMissing => Routing::SharesUnusable(SharesUnusable::Missing),
            PortRouting::SharesInvalid(error) => {
                Routing::SharesUnusable(SharesUnusable::Invalid(error))
            }
            PortRouting::SameZoneOnly => Routing::SameZoneOnly,
        }
    }
}

// === impl SharesIgnored ===

impl Reason for SharesIgnored {}

impl fmt::Display for SharesIgnored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharesIgnored::SharesMissing => {
                write!(f, "no EndpointSlice has zone shares, so hints decide")
            }
            SharesIgnored::SharesInvalid { error } => write!(f, "{error}, so hints decide"),
            SharesIgnored::SharesRowMissing { zone } if zone.is_empty() => {
                write!(f, "the client's node has no zone, so hints decide")
            }
            SharesIgnored::SharesRowMissing { zone } => {
                write!(f, "the zone shares have no row for {zone}, so hints decide")
            }
        }
    }
}
