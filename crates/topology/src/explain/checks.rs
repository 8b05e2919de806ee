//! KEP-4444's failure modes, gone through in its order ("What are other known failure modes?").

use std::{fmt, sync::Arc};

use evenkeel_model::{AddressType, Reason, Said, Selectable};
use serde::Serialize;

use super::{FamilyView, Outcome, Subject};
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
    /// The family it holds for; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<AddressType>,
    #[serde(flatten)]
    pub finding: Said<Finding>,
}

/// What a check found. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Finding {
    PreferenceSet { policy: Policy },
    NoPreference,
    NoEventOfFailure { events: usize },
    NoEventsGiven,
    FailureEvent { reason: Arc<str>, text: Arc<str> },
    SlicesExist { slices: usize },
    NoSlices,
    HintsAsTheyOughtToBe,
    HintsDiffer { endpoints: usize },
    PodsMissing { pods: usize },
    EndpointsStale { endpoints: usize },
    NobodyWritesHints,
    AllHinted { endpoints: usize },
    SomeNotHinted { without: usize, of: usize },
    NoneHinted { of: usize },
    NoReadyEndpoints,
    LookAtTheProxy,
    NoEndpointsByNature,
}

type Found = (Status, Finding);

/// The checks, in KEP-4444's order.
pub(super) fn checks(subject: &Subject<'_>, families: &[FamilyView]) -> Vec<Check> {
    if subject.state.service.external_name {
        return all(vec![(Status::NotApplicable, Finding::NoEndpointsByNature)]).collect();
    }
    all(vec![preference(subject), events(subject), slices(subject)])
        .chain(by_family(families, hints))
        .chain(by_family(families, |f| all_hinted(subject, f)))
        .chain(all(vec![(Status::Unknown, Finding::LookAtTheProxy)]))
        .collect()
}

/// Findings that hold for all families.
fn all(found: Vec<Found>) -> impl Iterator<Item = Check> {
    found.into_iter().map(|found| check(None, found))
}

/// One check when all families have the same to say, else one for each.
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
    match subject.asked.policy {
        Policy::None if subject.state.service.cluster_ip_none => {
            (Status::NotApplicable, Finding::NoPreference)
        }
        Policy::None => (Status::Failed, Finding::NoPreference),
        policy => (Status::Ok, Finding::PreferenceSet { policy }),
    }
}

fn events(subject: &Subject<'_>) -> Found {
    let events = &subject.state.events;
    let tells = |reason: &str| match reason {
        "FailedToUpdateEndpointSlices" => true,
        // What they tell is over when the Service no longer asks for Auto.
        "TopologyAwareHintsDisabled" | "TopologyAwareHintsEnabled" => {
            subject.asked.policy == Policy::Auto
        }
        _ => false,
    };
    match events.iter().rev().find(|e| tells(&e.reason)) {
        _ if events.is_empty() => (Status::Unknown, Finding::NoEventsGiven),
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

fn hints(family: &FamilyView) -> Found {
    let hints = &family.hints;
    let counts = (hints.missing_pods.len(), hints.stale.len(), hints.differences.len());
    match counts {
        _ if hints.ought.reason == Outcome::NobodyGives => {
            (Status::NotApplicable, Finding::NobodyWritesHints)
        }
        (0, 0, 0) => (Status::Ok, Finding::HintsAsTheyOughtToBe),
        (0, 0, endpoints) => (Status::Failed, Finding::HintsDiffer { endpoints }),
        (0, endpoints, _) => (Status::Failed, Finding::EndpointsStale { endpoints }),
        (pods, ..) => (Status::Failed, Finding::PodsMissing { pods }),
    }
}

fn all_hinted(subject: &Subject<'_>, family: &FamilyView) -> Found {
    let ready = || subject.listed(family.family).filter(|e| e.ready());
    let of = ready().count();
    let without = ready().filter(|e| !e.has_zone_hint()).count();
    let failed =
        if subject.asked.policy == Policy::None { Status::NotApplicable } else { Status::Failed };
    match without {
        _ if of == 0 => (failed, Finding::NoReadyEndpoints),
        0 => (Status::Ok, Finding::AllHinted { endpoints: of }),
        _ if without == of => (failed, Finding::NoneHinted { of }),
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
            Finding::NoEventsGiven => write!(f, "no Events about the Service were given"),
            Finding::FailureEvent { reason, text } => write!(f, "Event {reason}: {text}"),
            Finding::SlicesExist { slices } => {
                write!(f, "it has {}", count(*slices as u64, "EndpointSlice"))
            }
            Finding::NoSlices => write!(f, "there is no EndpointSlice"),
            Finding::NoEndpointsByNature => {
                write!(f, "the Service is a name outside the cluster and has no endpoints")
            }
            Finding::LookAtTheProxy => {
                write!(f, "if traffic still goes elsewhere, read the log of the node's proxy")
            }
            of_hints => of_hints.say_of_hints(f),
        }
    }
}

impl Finding {
    /// The sentences about endpoints and their hints.
    fn say_of_hints(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = |n: &usize| count(*n as u64, "endpoint");
        match self {
            Finding::HintsAsTheyOughtToBe => write!(f, "hints are as they ought to be"),
            Finding::HintsDiffer { endpoints: n } => {
                write!(f, "hints of {} are not what they ought to be", endpoints(n))
            }
            Finding::PodsMissing { pods } => {
                write!(f, "no slice holds {}", count(*pods as u64, "ready Pod"))
            }
            Finding::EndpointsStale { endpoints: n } => write!(f, "no Pod backs {}", endpoints(n)),
            Finding::AllHinted { endpoints: 1 } => write!(f, "the ready endpoint has a zone hint"),
            Finding::AllHinted { endpoints } => {
                write!(f, "all {endpoints} ready endpoints have a zone hint")
            }
            Finding::SomeNotHinted { without, of } => write!(
                f,
                "{without} of {of} ready endpoints without a zone hint: hints count only where all have one"
            ),
            Finding::NoneHinted { of: 1 } => write!(f, "the ready endpoint has no zone hint"),
            Finding::NoneHinted { of } => write!(f, "none of {of} ready endpoints has a zone hint"),
            Finding::NoReadyEndpoints => write!(f, "no endpoint is ready"),
            _ => write!(f, "the Service has no selector, so no controller writes hints"),
        }
    }
}
