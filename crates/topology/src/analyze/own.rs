//! Problems with what only Evenkeel knows: its annotations, zone shares, and policies of its own.

use std::sync::Arc;

use evenkeel_model::{Slice, label};

use super::Problem;
use crate::{
    Policy,
    explain::{FamilyView, SharesState, Subject, Warning, annotation_of_evenkeel, own_warnings},
    routing::is_ours,
    threshold::{InvalidThreshold, overload_threshold},
};

/// Annotations of the Service that have no effect.
pub(super) fn annotations(subject: &Subject<'_>) -> Vec<Problem> {
    let policy = subject.requested.policy;
    let manager = subject.other_manager();
    let mut found: Vec<Problem> = Vec::new();
    if let (Some(annotation), Some(manager)) = (annotation_of_evenkeel(subject), &manager) {
        let manager = Arc::clone(manager);
        found.push(Problem::AnnotationNotHonoured { annotation, manager });
    }
    match overload_threshold(&subject.state.service) {
        Some(Err(InvalidThreshold::InvalidOverloadThreshold { value })) => {
            found.push(Problem::InvalidOverloadThreshold { value });
        }
        Some(Ok(_)) if !matches!(policy, Policy::Auto | Policy::Balanced) => {
            found.push(Problem::OverloadThresholdUnused { policy });
        }
        Some(Ok(_)) => found.extend(manager.map(|manager| {
            let annotation = label::OVERLOAD_THRESHOLD;
            Problem::AnnotationNotHonoured { annotation, manager }
        })),
        None => {}
    }
    found
}

/// Zone shares that are missing, broken, outdated, or not where they count.
pub(super) fn shares(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Problem> {
    let states = || families.iter().flat_map(|f| &f.shares).map(|view| &view.state.reason);
    let wrong = states().find(|state| state.is_wrong()).and_then(|state| match state {
        SharesState::SharesInvalid { error } => {
            Some(Problem::SharesBroken { error: error.clone() })
        }
        SharesState::SharesMissing => Some(Problem::SharesMissing),
        SharesState::SharesOutdated { zones } => {
            Some(Problem::SharesOutdated { zones: zones.clone() })
        }
        SharesState::SharesLeftOver => Some(Problem::SharesLeftOver),
        _ => None,
    });
    let mut found: Vec<Problem> = wrong.into_iter().collect();
    let carriers = || subject.state.slices.iter().filter(|slice| slice.shares.is_some());
    let ours = |slice: &&Slice| is_ours(slice, subject.settings);
    // The policy writes none, so that the controller would remove them.
    if states().next().is_none() && carriers().any(|slice| ours(&slice)) {
        found.push(Problem::SharesLeftOver);
    }
    if let Some(slice) = carriers().find(|slice| !ours(slice)) {
        let manager = slice.labels.get(label::MANAGED_BY).cloned();
        let manager = manager.unwrap_or_else(|| "no controller".into());
        found.push(Problem::SharesOnForeignSlice { slice: Arc::clone(&slice.name), manager });
    }
    found
}

/// What keeps a policy of Evenkeel's own from doing what it says. Regions are problems of the cluster;
/// uneven adoption is none while nothing is rolled out.
pub(super) fn policy(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Problem> {
    let problem = |warning| match warning {
        Warning::SharesNotHonoured { has_hints } => Some(Problem::SharesNotHonoured { has_hints }),
        Warning::RequirementNotEnforced => Some(Problem::RequirementNotEnforced),
        Warning::RequiredZonesEmpty { zones, enforced } => {
            Some(Problem::RequiredZoneEmpty { zones, enforced })
        }
        _ => None,
    };
    own_warnings(subject, families).into_iter().filter_map(problem).collect()
}
