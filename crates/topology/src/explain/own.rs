//! What limits the policies of Evenkeel's own: who writes the slices, who routes, and what is missing.

use std::sync::Arc;

use evenkeel_model::{Selectable, label};

use super::{
    FamilyView, Outcome, Subject, Warning,
    load::is_overload,
    regions::{self, MixedZone, is_regional},
};
use crate::{Policy, PolicyReason, Profile};

/// The values of the annotation `evenkeel.dev/traffic-distribution`.
pub(crate) const ANNOTATION_VALUES: &[&str] = &[
    "Balanced",
    "PreferSameZone",
    "PreferSameNode",
    "PreferSameRegion",
    "PreferSameZoneThenRegion",
    "RequireSameZone",
    "PreferClose",
];

/// Warnings about policies that Kubernetes does not have.
pub(crate) fn warnings(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let are_written = subject.other_manager().is_none();
    if are_written && families.iter().any(|family| !family.shares.is_empty()) {
        warnings.extend(about_shares(subject, families));
    }
    if subject.requested.policy == Policy::RequireSameZone {
        warnings.extend(about_requirement(subject));
    }
    if is_regional(subject.requested.policy) {
        warnings.extend(about_regions(subject));
    }
    warnings
}

/// The annotation of Evenkeel's own that sets the policy, if one does.
pub(crate) fn annotation_of_evenkeel(subject: &Subject<'_>) -> Option<&'static str> {
    match subject.requested.why {
        PolicyReason::SetByAnnotation { annotation, .. } => {
            Some(annotation).filter(|name| *name == label::TRAFFIC_DISTRIBUTION)
        }
        _ => None,
    }
}

fn about_shares(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let tables = || families.iter().flat_map(|family| &family.shares);
    let has_table = tables().any(|view| view.rows.iter().any(|row| row.desired.is_some()));
    if subject.routing == Profile::Kubernetes && has_table {
        let has_hints = families.iter().all(|family| match &family.hints.desired.reason {
            Outcome::Balanced { auto, .. } => auto.is_none(),
            _ => false,
        });
        warnings.push(Warning::SharesNotHonoured { has_hints });
    }
    if let Some(zones) = zones_in_shares(families) {
        warnings.push(Warning::RegionByShares { zones });
    }
    let worst = tables().filter_map(|view| {
        let adoption = view.adoption.as_ref()?;
        let ends = [view.now.as_ref(), view.in_force.as_ref(), view.best.as_ref()];
        let ends = ends.into_iter().flatten().map(|figures| figures.max_load);
        let is_worse = ends.fold(0.0, f64::max) + 0.005 < adoption.max_load;
        let is_mixed = !adoption.aware_zones.is_empty();
        (is_mixed && is_worse && is_overload(subject, adoption.max_load)).then_some(adoption)
    });
    let worst = worst.reduce(|a, b| if b.max_load > a.max_load { b } else { a });
    warnings.extend(worst.map(|worst| Warning::UnevenAdoption {
        aware_zones: worst.aware_zones.clone(),
        zone: Arc::clone(&worst.max_load_zone),
        load: worst.max_load,
    }));
    warnings
}

fn zones_in_shares(families: &[FamilyView]) -> Option<usize> {
    families.iter().find_map(|family| match family.hints.desired.reason {
        Outcome::Region { zones, by_shares: true, .. } => Some(zones),
        _ => None,
    })
}

fn about_requirement(subject: &Subject<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if subject.routing == Profile::Kubernetes {
        warnings.push(Warning::RequirementNotEnforced);
    }
    let enforced = subject.routing == Profile::Evenkeel;
    let zones = zones_without_endpoint(subject);
    if !zones.is_empty() {
        warnings.push(Warning::RequiredZonesEmpty { zones, enforced });
    }
    let workers = subject.snapshot.nodes.iter().filter(|node| !node.control_plane);
    let without: Vec<_> = workers.filter(|node| node.zone.is_none()).collect();
    if let Some(first) = without.first() {
        let first = Arc::clone(subject.snapshot.topology.nodes.name(first.id));
        warnings.push(Warning::RequiredZoneUnknown { nodes: without.len(), first, enforced });
    }
    warnings
}

/// The zones with clients and without a usable endpoint, in some family.
pub(super) fn zones_without_endpoint(subject: &Subject<'_>) -> Vec<Arc<str>> {
    let families = subject.families();
    let is_empty = |zone| {
        let has = |family| subject.listed(family).any(|e| e.zone == Some(zone) && e.is_usable());
        !families.iter().all(|&family| has(family))
    };
    let names = &subject.snapshot.topology.zones;
    let empty = subject.zones().into_iter().filter(|&zone| is_empty(zone));
    empty.map(|zone| Arc::clone(names.name(zone))).collect()
}

fn about_regions(subject: &Subject<'_>) -> Vec<Warning> {
    let labels = regions::labels(subject.snapshot, subject.demand);
    let mut warnings = Vec::new();
    if labels.without > 0 {
        let regions::RegionLabels { nodes, without, first, .. } = &labels;
        let first = Arc::clone(first);
        warnings.push(Warning::RegionLabelsMissing { nodes: *without, of: *nodes, first });
    }
    warnings.extend(labels.mixed.into_iter().map(|MixedZone { zone, regions, counts }| {
        Warning::ZoneInSeveralRegions { zone, regions, counts }
    }));
    warnings
}
