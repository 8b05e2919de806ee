//! KEP-4444's failure modes, gone through in its order ("What are other known failure modes?").

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, Said};
use serde::Serialize;

use super::{Coverage, FamilyView, Subject};
use crate::{Policy, reason::count};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    Ok,
    Failed,
    /// Has no meaning for this Service.
    NotApplicable,
    /// Can't be seen from what was given.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub status: Status,
    #[serde(flatten)]
    pub finding: Said<Finding>,
}

/// What a check found. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum Finding {
    PreferenceSet { policy: Policy },
    NoPreference,
    NoEventOfFailure { events: usize },
    FailureEvent { reason: Arc<str>, text: Arc<str> },
    SlicesExist { slices: usize },
    NoSlices,
    HintsAsTheyOughtToBe,
    HintsDiffer { endpoints: usize },
    PodsMissing { pods: usize },
    AllHinted { endpoints: usize },
    SomeNotHinted { without: usize, of: usize },
    NoneHinted { of: usize },
    NoReadyEndpoints,
    LookAtTheProxy,
}

/// The checks, in KEP-4444's order.
pub(super) fn checks(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Check> {
    let checks = [
        preference(subject),
        events(subject),
        slices(subject),
        hints(families),
        all_hinted(subject, families),
        (Status::Unknown, Finding::LookAtTheProxy),
    ];
    checks.into_iter().map(|(status, finding)| Check { status, finding: finding.into() }).collect()
}

type Found = (Status, Finding);

fn preference(subject: &Subject<'_>) -> Found {
    match subject.asked.policy {
        Policy::None => (Status::Failed, Finding::NoPreference),
        policy => (Status::Ok, Finding::PreferenceSet { policy }),
    }
}

fn events(subject: &Subject<'_>) -> Found {
    let events = &subject.state.events;
    let about_hints = |reason: &str| {
        matches!(
            reason,
            "FailedToUpdateEndpointSlices"
                | "TopologyAwareHintsDisabled"
                | "TopologyAwareHintsEnabled"
        )
    };
    match events.iter().rev().find(|e| about_hints(&e.reason)) {
        Some(e) if e.warning => {
            let (reason, text) = (Arc::clone(&e.reason), Arc::clone(&e.message));
            (Status::Failed, Finding::FailureEvent { reason, text })
        }
        _ => (Status::Ok, Finding::NoEventOfFailure { events: events.len() }),
    }
}

fn slices(subject: &Subject<'_>) -> Found {
    match subject.state.slices.len() {
        0 => (Status::Failed, Finding::NoSlices),
        slices => (Status::Ok, Finding::SlicesExist { slices }),
    }
}

fn hints(families: &[FamilyView]) -> Found {
    let pods = families.iter().map(|f| f.hints.missing_pods.len()).sum();
    let endpoints = families.iter().map(|f| f.hints.differences.len()).sum();
    if pods > 0 {
        (Status::Failed, Finding::PodsMissing { pods })
    } else if endpoints > 0 {
        (Status::Failed, Finding::HintsDiffer { endpoints })
    } else {
        (Status::Ok, Finding::HintsAsTheyOughtToBe)
    }
}

fn all_hinted(subject: &Subject<'_>, families: &[FamilyView]) -> Found {
    let of: usize = families.iter().map(|f| f.ready).sum();
    let hinted: usize = families
        .iter()
        .flat_map(|f| subject.endpoints(f.family))
        .filter(|e| e.is_ready() && !e.zone_hints().is_empty())
        .count();
    let failed =
        if subject.asked.policy == Policy::None { Status::NotApplicable } else { Status::Failed };
    let none = families.iter().all(|f| f.hints.in_force != Coverage::Some) && hinted == 0;
    match of - hinted {
        _ if of == 0 => (failed, Finding::NoReadyEndpoints),
        0 => (Status::Ok, Finding::AllHinted { endpoints: of }),
        _ if none => (failed, Finding::NoneHinted { of }),
        without => (Status::Failed, Finding::SomeNotHinted { without, of }),
    }
}

// === impl Finding ===

impl Reason for Finding {}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::PreferenceSet { policy } => write!(f, "the Service asks for {policy}"),
            Finding::NoPreference => write!(f, "the Service asks for no near traffic"),
            Finding::NoEventOfFailure { .. } => write!(f, "no Event tells of a failure"),
            Finding::FailureEvent { reason, text } => write!(f, "Event {reason}: {text}"),
            Finding::SlicesExist { slices } => {
                write!(f, "it has {}", count(*slices as u64, "EndpointSlice"))
            }
            Finding::NoSlices => write!(f, "there is no EndpointSlice"),
            Finding::HintsAsTheyOughtToBe => write!(f, "hints are as they ought to be"),
            Finding::HintsDiffer { endpoints } => {
                let endpoints = count(*endpoints as u64, "endpoint");
                write!(f, "hints of {endpoints} are not what they ought to be")
            }
            Finding::PodsMissing { pods } => {
                write!(f, "no slice holds {}", count(*pods as u64, "ready Pod"))
            }
            Finding::AllHinted { endpoints } => {
                write!(f, "all {endpoints} ready endpoints have a zone hint")
            }
            Finding::SomeNotHinted { without, of } => {
                write!(
                    f,
                    "{without} of {of} ready endpoints without a zone hint, so no hint counts"
                )
            }
            Finding::NoneHinted { of } => write!(f, "none of {of} ready endpoints has a zone hint"),
            Finding::NoReadyEndpoints => write!(f, "no endpoint is ready"),
            Finding::LookAtTheProxy => {
                write!(f, "if traffic still goes elsewhere, read the log of the node's proxy")
            }
        }
    }
}
