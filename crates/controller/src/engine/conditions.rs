//! The conditions in the status of a Service.
//!
//! Source: KEP-4444, "Status Reporting". `TrafficDistributionAccepted` says whether the policy that
//! the Service requests is supported, `TrafficDistributionProgrammed` whether its slices have hints
//! for it. `TrafficDistributionHonored` says whether the rules of the nodes follow them, by the
//! reports of their proxies (`reports`); it is there where nodes report and slices have hints. A
//! Service without a policy has none of them. The types have no prefix where ours is the only
//! controller, and our domain beside the built-in one, as the proposal requires.
//!
//! Conditions that another mode has written are removed: of the other prefix, and all if conditions
//! are switched off. Beside the built-in controller, a type without prefix may be its own, so only
//! those with a reason of ours are removed.

use std::sync::Arc;

use evenkeel_model::{Condition, Reason, SeenService};
use evenkeel_topology::{
    PolicyReason, RequestedPolicy,
    plan::{FamilyPlan, HintOutcome, NoShares},
    threshold::InvalidThreshold,
};

use super::{Scope, reports::Shown};

/// Condition type: whether the policy that the Service requests is supported.
pub(super) const ACCEPTED: &str = "TrafficDistributionAccepted";
/// Condition type: whether the EndpointSlices of the Service have the hints of its policy.
pub(super) const PROGRAMMED: &str = "TrafficDistributionProgrammed";
/// Condition type: whether the rules of all nodes that report follow the EndpointSlices.
pub(super) const HONORED: &str = "TrafficDistributionHonored";
/// Reason: live EndpointSlices of the built-in controller exist, so the Service is left to it.
pub(super) const WITHDRAWN: &str = "BuiltInControllerActive";
const DOMAIN: &str = "evenkeel.dev/";

/// Reason: the Service can't be read; the message names the field.
const INVALID: &str = "InvalidService";
/// Reason: the Service opted out, and its EndpointSlices wait until another controller lists its
/// Pods.
const OPTED_OUT: &str = "OptedOut";
/// Reason: the requested policy is not supported, so there are no hints.
const NOT_ACCEPTED: &str = "NotAccepted";
/// Reason: no endpoint is ready, so there is nothing to hint.
const NO_READY_ENDPOINTS: &str = "NoReadyEndpoints";
/// Reason: the API server stored an EndpointSlice with other content than it was sent.
const ALTERED: &str = "EndpointSlicesAltered";
/// Reason: a ready endpoint is in no known zone, so consumers use all endpoints.
const WITHOUT_HINTS: &str = "EndpointsWithoutHints";
/// Reason: an EndpointSlice of another owner has endpoints without hints, so consumers use all
/// endpoints.
const FOREIGN: &str = "ForeignEndpointSlices";
/// Reason: every ready endpoint has a hint.
const PROGRAMMED_HINTS: &str = "HintsProgrammed";
/// Reason: zone shares are set on the EndpointSlices.
const PROGRAMMED_SHARES: &str = "ZoneSharesProgrammed";
/// Reason: all nodes are in one zone, so there are no zone shares.
const NOT_NEEDED: &str = "ZoneSharesNotNeeded";
/// Reason: the rules of all nodes that report are up to date.
pub(super) const IN_FORCE: &str = "RulesInForce";
/// Reason: the rules of a node have been behind for more than ten seconds.
pub(super) const BEHIND: &str = "NodesBehind";
/// Reason: the proxy of a node can't serve the Service as it is; the message has the reason.
pub(super) const EXCEPTED: &str = "ProxyExceptions";

/// All reasons that this controller writes: those above, and the codes of `PolicyReason` and
/// `NoHints`.
const REASONS: &[&str] = &[
    WITHDRAWN,
    INVALID,
    OPTED_OUT,
    NOT_ACCEPTED,
    NO_READY_ENDPOINTS,
    ALTERED,
    WITHOUT_HINTS,
    FOREIGN,
    PROGRAMMED_HINTS,
    PROGRAMMED_SHARES,
    NOT_NEEDED,
    IN_FORCE,
    BEHIND,
    EXCEPTED,
    "NoZones",
    "TableTooLong",
    "SetByAnnotation",
    "SetByField",
    "UnknownValue",
    "GateOff",
    "UnavailableBefore",
    "NodesUnknown",
    "NoReadyNodes",
    "NodeWithoutZone",
    "NodeWithoutCpu",
    "OneZoneOnly",
    "TooManyZones",
    "NotEnoughEndpoints",
    "Overload",
    "EndpointWithoutZone",
    "NoLongerRequested",
];

/// The result of a sync, as far as conditions show it.
#[derive(Clone, Debug)]
pub(super) enum ServiceState<'a> {
    /// It can't be planned.
    Invalid(&'a str),
    Withdrawn,
    /// Another controller has it now, and slices of ours still exist.
    OptedOut(&'a str),
    Planned {
        requested: &'a RequestedPolicy,
        families: &'a [FamilyPlan],
        ready: usize,
        unhinted: usize,
        /// A slice of another controller whose endpoints have no hints.
        foreign: Option<&'a Arc<str>>,
        /// A slice that the API server stored differently.
        altered: Option<&'a Arc<str>>,
        /// What is wrong with the overload threshold of the Service.
        threshold: Option<&'a InvalidThreshold>,
        /// Whether nodes have it in force; `None`: not known.
        honored: Option<&'a Shown>,
    },
}

/// A change of a Service's conditions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// With whether the status flips.
    pub(super) set: Vec<(Condition, bool)>,
    pub(super) remove: Vec<Arc<str>>,
}

pub(super) fn wanted(state: &ServiceState<'_>, scope: Scope) -> Vec<Condition> {
    let prefix = match (scope, state) {
        (Scope::Annotated, _) | (_, ServiceState::Withdrawn | ServiceState::OptedOut(_)) => DOMAIN,
        (Scope::All, _) => "",
    };
    let condition = |kind: &str, status: bool, reason: &str, message: &str| Condition {
        kind: format!("{prefix}{kind}").into(),
        status,
        reason: reason.into(),
        message: message.into(),
    };
    match state {
        ServiceState::Invalid(problem) => vec![condition(ACCEPTED, false, INVALID, problem)],
        ServiceState::Withdrawn => vec![condition(PROGRAMMED, false, WITHDRAWN, WHY_WITHDRAWN)],
        ServiceState::OptedOut(why) => vec![condition(PROGRAMMED, false, OPTED_OUT, why)],
        ServiceState::Planned {
            requested,
            families,
            ready,
            unhinted,
            foreign,
            altered,
            threshold,
            honored,
        } => {
            let known = match requested.why {
                PolicyReason::NotSet => return Vec::new(),
                PolicyReason::SetByAnnotation { .. } | PolicyReason::SetByField { .. } => true,
                _ => false,
            };
            let mut why = requested.why.to_string();
            if let Some(threshold) = threshold {
                why = format!("{why}; {threshold}");
            }
            let accepted = condition(ACCEPTED, known, &code(&requested.why), &why);
            let (status, reason, message) =
                programmed(known, families, (*ready, *unhinted), (*foreign, *altered));
            let honored = honored.filter(|_| status).map(|shown| {
                let Shown { status, reason, message } = shown;
                condition(HONORED, *status, reason, message)
            });
            let programmed = condition(PROGRAMMED, status, &reason, &message);
            [accepted, programmed].into_iter().chain(honored).collect()
        }
    }
}

/// The type of the condition about nodes.
pub(super) fn honored_kind(scope: Scope) -> String {
    let prefix = if scope == Scope::Annotated { DOMAIN } else { "" };
    format!("{prefix}{HONORED}")
}

pub(super) const WHY_WITHDRAWN: &str = "kube-controller-manager writes EndpointSlices of this Service; disable its EndpointSlice controller, or opt in with the annotation evenkeel.dev/selector instead of spec.selector";

fn programmed(
    known: bool,
    families: &[FamilyPlan],
    (ready, unhinted): (usize, usize),
    (foreign, altered): (Option<&Arc<str>>, Option<&Arc<str>>),
) -> (bool, String, String) {
    let said =
        |status, reason: &str, message: &str| (status, reason.to_owned(), message.to_owned());
    if !known {
        return said(
            false,
            NOT_ACCEPTED,
            "the requested policy is not supported, so there are no hints",
        );
    }
    let refused = families.iter().find_map(|family| match &family.hints {
        HintOutcome::AutoRefused(why) => Some(why),
        _ => None,
    });
    if let Some(why) = refused {
        return (false, code(why), why.to_string());
    }
    if ready == 0 {
        return said(false, NO_READY_ENDPOINTS, "no endpoint is ready");
    }
    if let Some(name) = altered {
        let message = format!(
            "the API server stored EndpointSlice {name} differently from what was sent: an admission webhook changes it, or the server does not support one of its fields"
        );
        return (false, ALTERED.to_owned(), message);
    }
    if let Some((status, reason, message)) = zone_shares(families) {
        return (status, reason, message);
    }
    if unhinted > 0 {
        return said(
            false,
            WITHOUT_HINTS,
            "some ready endpoints are in no known zone, so clients use all endpoints",
        );
    }
    if let Some(name) = foreign {
        let message = format!(
            "EndpointSlice {name} of another controller has endpoints without hints, so clients use all endpoints; delete it if it is no longer needed"
        );
        return (false, FOREIGN.to_owned(), message);
    }
    said(true, PROGRAMMED_HINTS, "all ready endpoints have hints")
}

/// What zone shares say, where consumers go by them.
fn zone_shares(families: &[FamilyPlan]) -> Option<(bool, String, String)> {
    let mut none = None;
    let mut set = None;
    for family in families {
        let (groups, auto) = match &family.hints {
            HintOutcome::Balanced { hints, groups } => (groups, hints.as_ref().err()),
            HintOutcome::Region { groups, .. } if !groups.is_empty() => (groups, None),
            _ => return None,
        };
        for group in groups {
            match &group.shares {
                // A set of ports whose Pods are all not ready.
                Err(NoShares::NothingReady) => {}
                Err(why) => none = none.or(Some(why)),
                // The code alone: numbers would change with every Pod.
                Ok(_) => set = set.or(Some(auto.map(code))),
            }
        }
    }
    match (none, set) {
        (Some(why), _) => {
            let reason = if why.is_fine() { NOT_NEEDED.to_owned() } else { code(why) };
            Some((why.is_fine(), reason, why.to_string()))
        }
        (None, Some(auto)) => {
            let auto = auto.map(|code| format!("; Auto would give no hints: {code}"));
            let message = format!("zone shares are set{}", auto.unwrap_or_default());
            Some((true, PROGRAMMED_SHARES.to_owned(), message))
        }
        (None, None) => None,
    }
}

/// Why a Service has the hints it has, or none.
pub(super) fn hints_reason(requested: &RequestedPolicy, families: &[FamilyPlan]) -> String {
    let refused = families.iter().find_map(|family| match &family.hints {
        HintOutcome::AutoRefused(why) => Some(code(why)),
        _ => None,
    });
    refused.unwrap_or_else(|| code(&requested.why))
}

/// How the conditions of a Service must change. `is_sole`: there is no other controller that may
/// have written some of them.
pub(super) fn change(seen: &SeenService, wanted: Vec<Condition>, is_sole: bool) -> Change {
    let is_ours = |condition: &Condition| {
        condition.kind.starts_with(DOMAIN) || REASONS.contains(&&*condition.reason)
    };
    let is_kept = |kind: &Arc<str>| wanted.iter().any(|condition| condition.kind == *kind);
    let stale = seen.conditions.iter().filter(|condition| !is_kept(&condition.kind));
    let stale = stale.filter(|condition| is_sole || is_ours(condition));
    let remove = stale.map(|condition| Arc::clone(&condition.kind)).collect();
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
