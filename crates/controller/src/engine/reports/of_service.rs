//! What nodes must have in force for a Service, and what its status says about it.

use evenkeel_model::{Revision, SeenService};
use evenkeel_topology::{PolicyReason, policy};

use super::{Needs, Shown};
use crate::engine::{Settings, cache::Slot, conditions, sync::is_ours};

/// `None`: the Service has no condition about nodes, since it requests no policy that is known, or
/// the usual proxies don't serve it; or its revisions can't be compared.
pub(in crate::engine) fn needs(slot: &Slot, settings: &Settings) -> Option<Needs> {
    let entry = slot.service.as_ref()?;
    let seen = &entry.seen;
    let is_planned = seen.problem.is_none() && !seen.service.deleting;
    if !settings.conditions || !is_planned || !seen.service.is_served_by(None) {
        return None;
    }
    let requested = policy::requested(&seen.service, settings.topology.gates);
    let is_known = matches!(
        requested.why,
        PolicyReason::SetByAnnotation { .. } | PolicyReason::SetByField { .. }
    );
    if !is_known || !is_ours(seen, settings.scope) {
        return None;
    }
    let mut needs = Needs { service: Revision::new(&entry.revision)?, slices: None };
    for slice in slot.slices.values() {
        needs.slices = needs.slices.max(Some(Revision::new(&slice.version.resource_version)?));
    }
    Some(needs)
}

/// What an earlier process wrote.
pub(in crate::engine) fn from_status(seen: &SeenService, settings: &Settings) -> Option<Shown> {
    let kind = conditions::honored_kind(settings.scope);
    let condition = seen.conditions.iter().find(|condition| *condition.kind == *kind)?;
    Some(Shown {
        status: condition.status,
        reason: condition.reason.clone(),
        message: condition.message.clone(),
    })
}
