//! What clients of one Service port go by: hints, zone shares, or neither.
//!
//! Zone shares count only for Services whose policy writes them and on slices of Evenkeel's
//! controller: others keep foreign annotations, so that a table may be left from long ago.

use std::sync::Arc;

use evenkeel_model::{
    Routing, Service, SharesAnnotation, SharesUnusable, Slice, ZoneShares, label,
};

use crate::{Policy, Settings, policy};

/// How clients of `service` use the endpoints of `slices`, which are those of one address family and
/// set of ports.
pub fn routing<'a>(
    service: &Service,
    slices: impl IntoIterator<Item = &'a Slice>,
    settings: &Settings,
) -> Routing<'a> {
    if !policy::hints_count(service, settings.gates) {
        return Routing::IgnoreHints;
    }
    match policy::requested(service, settings.gates).policy {
        Policy::RequireSameZone => Routing::SameZoneOnly,
        Policy::Balanced | Policy::PreferSameRegion => {
            shares(slices.into_iter().filter(|slice| is_ours(slice, settings)))
        }
        _ => Routing::Hints,
    }
}

fn is_ours(slice: &Slice, settings: &Settings) -> bool {
    let manager = slice.labels.get(label::MANAGED_BY);
    manager.is_some_and(|name| **name == *label::EVENKEEL || *name == settings.controller_name)
}

/// The one table of the slices. While a new carrier is written before the old one goes there may be
/// two; equal ones are one.
fn shares<'a>(slices: impl Iterator<Item = &'a Slice>) -> Routing<'a> {
    let mut found: Option<&Arc<ZoneShares>> = None;
    let mut unusable = SharesUnusable::Missing;
    for annotation in slices.filter_map(|slice| slice.shares.as_ref()) {
        match annotation {
            SharesAnnotation::Invalid(why) => unusable = SharesUnusable::Invalid(why),
            SharesAnnotation::Valid(table) => found = Some(table),
        }
    }
    found.map_or(Routing::SharesUnusable(unusable), |table| Routing::Shares(table))
}
