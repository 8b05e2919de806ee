//! What a Service's status and its Events say about hints.
//!
//! Source: KEP-4444, "Status Reporting". `TrafficDistributionAccepted` says whether what the
//! Service asks for is known here, `TrafficDistributionProgrammed` whether its slices carry hints
//! for it. A Service that asks for nothing has neither. The names are bare where ours is the only
//! controller, and carry our domain beside the built-in one, as the proposal asks.

use std::sync::Arc;

use evenkeel_model::{Condition, Reason, SeenService};
use evenkeel_topology::{
    PolicyReason, RequestedPolicy,
    plan::{FamilyPlan, HintOutcome},
};

use super::Scope;

pub(super) const ACCEPTED: &str = "TrafficDistributionAccepted";
pub(super) const PROGRAMMED: &str = "TrafficDistributionProgrammed";
/// The reason of a condition by which we remember that we have withdrawn.
pub(super) const WITHDRAWN: &str = "BuiltInControllerActive";
const DOMAIN: &str = "evenkeel.dev/";

/// How things stand with one Service.
#[derive(Clone, Debug)]
pub(super) enum Standing<'a> {
    /// It can't be planned.
    Wrong(&'a str),
    Withdrawn,
    /// It is no longer ours, and slices of ours are still there.
    OptedOut(&'a str),
    Planned {
        requested: &'a RequestedPolicy,
        families: &'a [FamilyPlan],
        ready: usize,
        unhinted: usize,
        /// A slice of somebody else's whose endpoints carry no hints.
        foreign: Option<&'a Arc<str>>,
        /// A slice that the server did not store as it was sent.
        altered: Option<&'a Arc<str>>,
    },
}

/// What is to be changed in a Service's status, if anything.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// With whether the status flips.
    pub(super) set: Vec<(Condition, bool)>,
    pub(super) remove: Vec<Arc<str>>,
}

pub(super) fn wanted(standing: &Standing<'_>, scope: Scope) -> Vec<Condition> {
    let prefix = match (scope, standing) {
        (Scope::Annotated, _) | (_, Standing::Withdrawn | Standing::OptedOut(_)) => DOMAIN,
        (Scope::All, _) => "",
    };
    let condition = |kind: &str, status: bool, reason: &str, message: &str| Condition {
        kind: format!("{prefix}{kind}").into(),
        status,
        reason: reason.into(),
        message: message.into(),
    };
    match standing {
        Standing::Wrong(problem) => vec![condition(ACCEPTED, false, "InvalidService", problem)],
        Standing::Withdrawn => vec![condition(PROGRAMMED, false, WITHDRAWN, WHY_WITHDRAWN)],
        Standing::OptedOut(why) => vec![condition(PROGRAMMED, false, "OptedOut", why)],
        Standing::Planned { requested, families, ready, unhinted, foreign, altered } => {
            let known = match requested.why {
                PolicyReason::NotSet => return Vec::new(),
                PolicyReason::SetByAnnotation { .. } | PolicyReason::SetByField { .. } => true,
                _ => false,
            };
            let accepted =
                condition(ACCEPTED, known, &code(&requested.why), &requested.why.to_string());
            let (status, reason, message) =
                programmed(known, families, (*ready, *unhinted), (*foreign, *altered));
            vec![accepted, condition(PROGRAMMED, status, &reason, &message)]
        }
    }
}

pub(super) const WHY_WITHDRAWN: &str = "Kubernetes' own EndpointSlice controller writes slices of this Service; switch it off, or let the Service opt in with the annotation evenkeel.dev/selector instead of spec.selector";

fn programmed(
    known: bool,
    families: &[FamilyPlan],
    (ready, unhinted): (usize, usize),
    (foreign, altered): (Option<&Arc<str>>, Option<&Arc<str>>),
) -> (bool, String, String) {
    let said =
        |status, reason: &str, message: &str| (status, reason.to_owned(), message.to_owned());
    if !known {
        return said(false, "NotAccepted", "what the Service asks for is not in force");
    }
    let refused = families.iter().find_map(|family| match &family.hints {
        HintOutcome::AutoRefused(why) => Some(why),
        _ => None,
    });
    if let Some(why) = refused {
        return (false, code(why), why.to_string());
    }
    if ready == 0 {
        return said(
            false,
            "NoReadyEndpoints",
            "no endpoint is ready, so there is nothing to hint",
        );
    }
    if let Some(name) = altered {
        let message = format!(
            "the API server stored EndpointSlice {name} with other endpoints or hints than it was sent: an admission webhook changes it, or the server does not know a field of it"
        );
        return (false, "EndpointSlicesAltered".to_owned(), message);
    }
    if unhinted > 0 {
        return said(
            false,
            "EndpointsWithoutHints",
            "not every ready endpoint is in a known zone, so consumers use all of them",
        );
    }
    if let Some(name) = foreign {
        let message = format!(
            "EndpointSlice {name}, which is not written by this controller, lists endpoints without hints, so consumers use all endpoints; remove it if it is left over"
        );
        return (false, "SlicesOfOthers".to_owned(), message);
    }
    said(true, "HintsInForce", "every ready endpoint carries a hint")
}

/// Why a Service has the hints it has, or none.
pub(super) fn hints_reason(requested: &RequestedPolicy, families: &[FamilyPlan]) -> String {
    let refused = families.iter().find_map(|family| match &family.hints {
        HintOutcome::AutoRefused(why) => Some(code(why)),
        _ => None,
    });
    refused.unwrap_or_else(|| code(&requested.why))
}

/// How the conditions of a Service must change.
pub(super) fn change(seen: &SeenService, wanted: Vec<Condition>, scope: Scope) -> Change {
    // Beside the built-in controller, bare names are not ours to remove.
    let may_go = |kind: &Arc<str>| scope == Scope::All || kind.starts_with(DOMAIN);
    let kept = |kind: &Arc<str>| wanted.iter().any(|condition| condition.kind == *kind);
    let gone = seen.conditions.iter().map(|condition| &condition.kind).filter(|kind| !kept(kind));
    let remove = gone.filter(|kind| may_go(kind)).cloned().collect();
    let mut set = Vec::new();
    for condition in wanted {
        let present = seen.conditions.iter().find(|present| present.kind == condition.kind);
        if present != Some(&condition) {
            let flips = present.is_none_or(|present| present.status != condition.status);
            set.push((condition, flips));
        }
    }
    Change { set, remove }
}

/// A reason's code, as its serialised form has it.
fn code(reason: &impl Reason) -> String {
    let value = serde_json::to_value(reason).unwrap_or_default();
    value["code"].as_str().unwrap_or("Unknown").to_owned()
}

impl Change {
    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }
}
