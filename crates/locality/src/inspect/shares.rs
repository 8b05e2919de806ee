//! Shares of two assignments side by side, and summed up by zone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use evenkeel_model::mesh::{Group, LoadAssignment, MeshEndpoint};

use super::{
    BeforeAfter, GroupDifference, GroupState, SharesDifference, ZoneDifference,
    diff::WithoutOwnZone,
};
use crate::predict::{Balancing, Prediction, predict, predict_without_zone};

/// An assignment and how a cluster divides traffic over it.
#[derive(Debug, PartialEq)]
pub(super) struct Assignment {
    pub(super) groups: LoadAssignment,
    pub(super) balancing: Balancing,
}

/// Groups with their shares, and what is answered with 503. A cluster that is not there has neither.
#[derive(Default)]
struct Shared<'a> {
    groups: Option<(&'a LoadAssignment, Prediction)>,
    errors: f64,
}

impl<'a> Shared<'a> {
    fn of(assignment: Option<&'a Assignment>, lost_zone: Option<&str>) -> Self {
        let Some(Assignment { groups, balancing }) = assignment else { return Shared::default() };
        let prediction = match lost_zone {
            Some(zone) => predict_without_zone(groups, balancing, zone),
            None => predict(groups, balancing),
        };
        Shared { errors: prediction.errors, groups: Some((groups, prediction)) }
    }

    fn states(&self) -> impl Iterator<Item = (&'a Group, GroupState)> {
        let groups = self.groups.iter();
        let groups = groups.flat_map(|(groups, shares)| groups.groups.iter().zip(&shares.groups));
        groups.map(|(group, share)| {
            let endpoints = group.endpoints.len();
            (group, GroupState { weight: group.weight, endpoints, share: share.share })
        })
    }

    fn zones(&self) -> BTreeMap<Option<Arc<str>>, f64> {
        let zones = self.groups.as_ref().map(|(groups, shares)| by_zone(groups, shares));
        zones.unwrap_or_default()
    }
}

pub(super) fn difference(
    old: Option<&Assignment>,
    new: Option<&Assignment>,
    own_zone: Option<&Arc<str>>,
) -> SharesDifference {
    let (before, after) = (Shared::of(old, None), Shared::of(new, None));
    let factor = |assignment: Option<&Assignment>| assignment?.groups.overprovisioning_factor;
    let own_zone = own_zone.filter(|zone| {
        let mut sides = old.into_iter().chain(new);
        sides.any(|side| endpoint_zones(&side.groups).contains(*zone))
    });
    SharesDifference {
        groups: groups(&before, &after),
        zones: zones(&before, &after),
        errors: BeforeAfter { before: before.errors, after: after.errors },
        overprovisioning_factor: BeforeAfter { before: factor(old), after: factor(new) },
        without_own_zone: own_zone.map(|zone| {
            let (before, after) = (Shared::of(old, Some(zone)), Shared::of(new, Some(zone)));
            WithoutOwnZone {
                zone: zone.clone(),
                zones: zones(&before, &after),
                errors: BeforeAfter { before: before.errors, after: after.errors },
            }
        }),
    }
}

fn groups(before: &Shared<'_>, after: &Shared<'_>) -> Vec<GroupDifference> {
    type Name<'a> = (u32, Option<&'a Arc<str>>, &'a Arc<str>);
    type States = (Option<GroupState>, Option<GroupState>);
    let mut all: BTreeMap<Name<'_>, States> = BTreeMap::new();
    for (Group { priority, zone, sub_zone, .. }, state) in before.states() {
        all.entry((*priority, zone.as_ref(), sub_zone)).or_default().0 = Some(state);
    }
    for (Group { priority, zone, sub_zone, .. }, state) in after.states() {
        all.entry((*priority, zone.as_ref(), sub_zone)).or_default().1 = Some(state);
    }
    let all = all.into_iter().map(|((priority, zone, sub_zone), (before, after))| {
        GroupDifference { priority, zone: zone.cloned(), sub_zone: sub_zone.clone(), before, after }
    });
    all.collect()
}

fn zones(before: &Shared<'_>, after: &Shared<'_>) -> Vec<ZoneDifference> {
    let (before, after) = (before.zones(), after.zones());
    let zones: BTreeSet<&Option<Arc<str>>> = before.keys().chain(after.keys()).collect();
    let zones = zones.into_iter().map(|zone| {
        let of = |shares: &BTreeMap<_, f64>| shares.get(zone).copied().unwrap_or_default();
        let share = BeforeAfter { before: of(&before), after: of(&after) };
        ZoneDifference { zone: zone.clone(), share }
    });
    zones.collect()
}

/// The zones in which there are endpoints.
pub(super) fn endpoint_zones(assignment: &LoadAssignment) -> BTreeSet<Arc<str>> {
    let groups = assignment.groups.iter();
    let zones = groups.flat_map(|group| group.endpoints.iter().map(|e| zone_of(group, e)));
    zones.flatten().cloned().collect()
}

/// The share of each zone; `None` stands for endpoints of no zone.
fn by_zone(
    assignment: &LoadAssignment,
    prediction: &Prediction,
) -> BTreeMap<Option<Arc<str>>, f64> {
    let mut zones = BTreeMap::new();
    for (group, share) in assignment.groups.iter().zip(&prediction.groups) {
        for (endpoint, share) in group.endpoints.iter().zip(&share.endpoints) {
            *zones.entry(zone_of(group, endpoint).cloned()).or_insert(0.0) += share;
        }
    }
    zones
}

fn zone_of<'a>(group: &'a Group, endpoint: &'a MeshEndpoint) -> Option<&'a Arc<str>> {
    endpoint.zone.as_ref().or(group.zone.as_ref())
}
