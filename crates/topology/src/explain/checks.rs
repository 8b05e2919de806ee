//! Checks for KEP-4444's failure modes, in its order ("What are other known failure modes?").

use std::{fmt, sync::Arc};

use evenkeel_model::{AddressType, Reason, Selectable, WithMessage};
use serde::Serialize;

use super::{FamilyView, Outcome, SharesState, Subject};
use crate::{Policy, reason::count};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    Ok,
    Failed,
    /// Does not apply to this Service.
    NotApplicable,
    /// Can't be told from the input.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub status: Status,
    /// The family it holds for; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<AddressType>,
    #[serde(flatten)]
    pub finding: WithMessage<Finding>,
}

/// What a check found. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Finding {
    /// The Service requests a policy.
    PreferenceSet {
        policy: Policy,
    },
    NoPreference,
    NoFailureEvents {
        events: usize,
    },
    NoEvents,
    FailureEvent {
        reason: Arc<str>,
        text: Arc<str>,
    },
    /// The Service has EndpointSlices.
    SlicesExist {
        slices: usize,
    },
    NoSlices,
    HintsUpToDate,
    HintsDiffer {
        endpoints: usize,
    },
    PodsNotInSlices {
        pods: usize,
    },
    StaleEndpoints {
        endpoints: usize,
    },
    /// The Service has no selector, so no controller writes hints.
    HintsNotManaged,
    /// All ready endpoints have a zone hint.
    AllEndpointsHinted {
        endpoints: usize,
    },
    SomeEndpointsNotHinted {
        without: usize,
        of: usize,
    },
    /// No ready endpoint has a zone hint.
    NoEndpointsHinted {
        of: usize,
    },
    NoReadyEndpoints,
    /// No ready endpoint has a zone hint, and the policy gives none.
    HintsNotNeeded,
    /// How the zone shares in force compare with the desired ones.
    ZoneShares {
        state: SharesState,
    },
    CheckProxyLogs,
    ExternalName,
}

type Found = (Status, Finding);

/// The checks, in KEP-4444's order.
pub(super) fn checks(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Check> {
    if subject.state.service.external_name {
        return all(vec![(Status::NotApplicable, Finding::ExternalName)]).collect();
    }
    all(vec![preference(subject), events(subject), slices(subject)])
        .chain(by_family(families, hints))
        .chain(by_family(families, |f| all_hinted(subject, f)))
        .chain(shares(families))
        .chain(all(vec![(Status::Unknown, Finding::CheckProxyLogs)]))
        .collect()
}

/// Findings that hold for all families.
fn all(found: Vec<Found>) -> impl Iterator<Item = Check> {
    found.into_iter().map(|found| check(None, found))
}

/// One check where the finding is the same for all families, else one for each.
fn by_family(families: &[FamilyView], found: impl Fn(&FamilyView) -> Found) -> Vec<Check> {
    let mut all: Vec<_> = families.iter().map(|f| (Some(f.family), found(f))).collect();
    if all.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        all.truncate(1);
        all.iter_mut().for_each(|(family, _)| *family = None);
    }
    all.into_iter().map(|(family, found)| check(family, found)).collect()
}

fn check(family: Option<AddressType>, (status, finding): Found) -> Check {
    Check { status, family, finding: finding.into() }
}

fn preference(subject: &Subject<'_>) -> Found {
    match subject.requested.policy {
        Policy::None => (Status::NotApplicable, Finding::NoPreference),
        policy => (Status::Ok, Finding::PreferenceSet { policy }),
    }
}

fn events(subject: &Subject<'_>) -> Found {
    let events = &subject.state.events;
    let is_about_hints = |reason: &str| match reason {
        "FailedToUpdateEndpointSlices" => true,
        // They are outdated when the Service no longer requests Auto.
        "TopologyAwareHintsDisabled" | "TopologyAwareHintsEnabled" => {
            subject.requested.policy == Policy::Auto
        }
        _ => false,
    };
    match events.iter().rev().find(|e| is_about_hints(&e.reason)) {
        _ if events.is_empty() => (Status::Unknown, Finding::NoEvents),
        Some(e) if e.warning => {
            let (reason, text) = (Arc::clone(&e.reason), Arc::clone(&e.message));
            (Status::Failed, Finding::FailureEvent { reason, text })
        }
        _ => (Status::Ok, Finding::NoFailureEvents { events: events.len() }),
    }
}

fn slices(subject: &Subject<'_>) -> Found {
    match subject.state.slices.len() {
        0 => (Status::Failed, Finding::NoSlices),
        slices => (Status::Ok, Finding::SlicesExist { slices }),
    }
}

fn hints(family: &FamilyView) -> Found {
    let hints = &family.hints;
    let counts = (hints.missing_pods.len(), hints.stale.len(), hints.differences.len());
    match counts {
        _ if hints.desired.reason == Outcome::NotManaged => {
            (Status::NotApplicable, Finding::HintsNotManaged)
        }
        (0, 0, 0) => (Status::Ok, Finding::HintsUpToDate),
        (0, 0, endpoints) => (Status::Failed, Finding::HintsDiffer { endpoints }),
        (0, endpoints, _) => (Status::Failed, Finding::StaleEndpoints { endpoints }),
        (pods, ..) => (Status::Failed, Finding::PodsNotInSlices { pods }),
    }
}

/// One check for each family whose policy writes zone shares: the first that is wrong, else the first.
fn shares(families: &[FamilyView]) -> Vec<Check> {
    let several = families.len() > 1;
    let of_family = |family: &FamilyView| {
        let states = || family.shares.iter().map(|view| &view.state.reason);
        let state = states().find(|state| state.is_wrong()).or_else(|| states().next())?;
        let status = match state {
            state if state.is_wrong() => Status::Failed,
            SharesState::SharesUpToDate => Status::Ok,
            _ => Status::NotApplicable,
        };
        let found = (status, Finding::ZoneShares { state: state.clone() });
        Some(check(several.then_some(family.family), found))
    };
    families.iter().filter_map(of_family).collect()
}

fn all_hinted(subject: &Subject<'_>, family: &FamilyView) -> Found {
    let ready = || subject.listed(family.family).filter(|e| e.ready());
    let of = ready().count();
    let without = ready().filter(|e| !e.has_zone_hint()).count();
    let failed = if subject.requested.policy == Policy::None {
        Status::NotApplicable
    } else {
        Status::Failed
    };
    let not_needed = family.hints.desired.reason.is_without_hints();
    match without {
        _ if of == 0 => (failed, Finding::NoReadyEndpoints),
        0 => (Status::Ok, Finding::AllEndpointsHinted { endpoints: of }),
        _ if without == of && not_needed => (Status::NotApplicable, Finding::HintsNotNeeded),
        _ if without == of => (failed, Finding::NoEndpointsHinted { of }),
        without => (Status::Failed, Finding::SomeEndpointsNotHinted { without, of }),
    }
}

// === impl Finding ===

impl Reason for Finding {}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::PreferenceSet { policy } => write!(f, "policy {policy} is set"),
            Finding::NoPreference => write!(f, "no topology preference set"),
            Finding::NoFailureEvents { .. } => write!(f, "no Event reports a failure"),
            Finding::NoEvents => write!(f, "no Events about the Service found"),
            Finding::FailureEvent { reason, text } => write!(f, "Event {reason}: {text}"),
            Finding::SlicesExist { slices } => {
                write!(f, "{} found", count(*slices as u64, "EndpointSlice"))
            }
            Finding::NoSlices => write!(f, "no EndpointSlice found"),
            Finding::ExternalName => {
                write!(f, "the Service is an ExternalName and has no endpoints")
            }
            Finding::CheckProxyLogs => {
                write!(
                    f,
                    "not checked: the node's proxy; if traffic still goes elsewhere, read its log"
                )
            }
            _ => self.fmt_hints(f),
        }
    }
}

impl Finding {
    /// The sentences about endpoints and their hints.
    fn fmt_hints(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = |n: &usize| count(*n as u64, "endpoint");
        match self {
            Finding::HintsUpToDate => write!(f, "hints match the desired state"),
            Finding::HintsDiffer { endpoints: n } => {
                write!(f, "hints of {} differ from the desired state", endpoints(n))
            }
            Finding::PodsNotInSlices { pods } => {
                write!(f, "{} missing from the slices", count(*pods as u64, "ready Pod"))
            }
            Finding::StaleEndpoints { endpoints: n } => write!(f, "{} without a Pod", endpoints(n)),
            Finding::AllEndpointsHinted { endpoints: 1 } => {
                write!(f, "the ready endpoint has a zone hint")
            }
            Finding::AllEndpointsHinted { endpoints } => {
                write!(f, "all {endpoints} ready endpoints have a zone hint")
            }
            Finding::SomeEndpointsNotHinted { without, of } => write!(
                f,
                "{without} of {of} ready endpoints have no zone hint, so all zone hints are ignored"
            ),
            Finding::NoEndpointsHinted { of: 1 } => {
                write!(f, "the ready endpoint has no zone hint")
            }
            Finding::NoEndpointsHinted { of } => {
                write!(f, "none of {of} ready endpoints has a zone hint")
            }
            Finding::HintsNotNeeded => {
                write!(f, "no ready endpoint has a zone hint, and none is desired")
            }
            Finding::ZoneShares { state } => write!(f, "{state}"),
            Finding::NoReadyEndpoints => write!(f, "no endpoint is ready"),
            _ => write!(f, "the Service has no selector, so no controller writes hints"),
        }
    }
}
