//! In one sentence: what to change to get in-zone traffic.

use std::{fmt, sync::Arc};

use evenkeel_model::{Endpoint, Reason, TrafficPolicy, label};
use serde::Serialize;

use super::{Coverage, FamilyView, Outcome, Subject};
use crate::{
    NoHints, Policy, PolicyReason,
    auto::{bounds::next_possible, in_force},
};

/// What to do next. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum Advice {
    NothingToDo,
    MakeEndpointsReady,
    AskForIt,
    UseKnownValue {
        value: Arc<str>,
    },
    TurnGateOn {
        gate: &'static str,
    },
    RelaxLocalPolicy,
    LabelNode {
        node: Arc<str>,
    },
    ReportCpu {
        node: Arc<str>,
    },
    FixEndpointZone {
        address: Arc<str>,
    },
    AddZone {
        zone: Arc<str>,
    },
    BringNodesUp,
    GiveNodes,
    /// Auto refuses; the next number of endpoints that works is named if there is one in reach.
    ScaleOrPreferZone {
        now: u32,
        next: Option<u32>,
    },
    ControllerBehind,
    /// A slice of another writer lacks hints, and so all hints are ignored.
    HintForeignSlice {
        slice: Arc<str>,
        manager: Arc<str>,
    },
    /// The Service has no selector: no controller gives its endpoints hints.
    WriteHintsYourself,
    AddEndpointIn {
        zones: Vec<Arc<str>>,
    },
}

pub(super) fn advice(subject: &Subject<'_>, families: &[FamilyView]) -> Advice {
    if families.iter().all(|f| f.ready == 0) {
        return Advice::MakeEndpointsReady;
    }
    if let Some(advice) = about_policy(subject) {
        return advice;
    }
    let refused = families.iter().find_map(|f| match &f.hints.ought.reason {
        Outcome::Refused { why } => Some((why, f.ready)),
        _ => None,
    });
    if let Some((why, ready)) = refused {
        return about_refusal(subject, why, u32::try_from(ready).unwrap_or(u32::MAX));
    }
    if let Some((slice, manager)) = foreign_without_hints(subject) {
        return Advice::HintForeignSlice { slice, manager };
    }
    let behind = |f: &FamilyView| {
        let as_they_ought = f.hints.differences.is_empty() && f.hints.missing_pods.is_empty();
        !as_they_ought || f.hints.in_force != Coverage::All
    };
    if families.iter().filter(|f| f.ready > 0).any(behind) {
        return Advice::ControllerBehind;
    }
    let mut zones: Vec<Arc<str>> = families
        .iter()
        .flat_map(|f| &f.views)
        .filter(|v| v.in_zone_share == Some(0.0))
        .filter_map(|v| match &v.client {
            super::Client::Zone { zone } => Some(Arc::clone(zone)),
            _ => None,
        })
        .collect();
    zones.dedup();
    if zones.is_empty() { Advice::NothingToDo } else { Advice::AddEndpointIn { zones } }
}

fn about_policy(subject: &Subject<'_>) -> Option<Advice> {
    if subject.state.service.exposure.internal == TrafficPolicy::Local {
        return Some(Advice::RelaxLocalPolicy);
    }
    if subject.state.service.selector.is_none() {
        let endpoints = subject.state.slices.iter().flat_map(|s| &s.endpoints);
        return (!in_force(endpoints)).then_some(Advice::WriteHintsYourself);
    }
    if subject.asked.policy != Policy::None {
        return None;
    }
    Some(match &subject.asked.why {
        PolicyReason::UnknownValue { value, .. } => {
            Advice::UseKnownValue { value: Arc::clone(value) }
        }
        PolicyReason::GateOff { gate, .. } => Advice::TurnGateOn { gate },
        _ => Advice::AskForIt,
    })
}

/// A slice that no endpoint controller manages, with a ready endpoint that has no zone hint.
fn foreign_without_hints(subject: &Subject<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let lacks = |e: &Endpoint| e.is_ready() && e.zone_hints().is_empty();
    let foreign = subject.state.slices.iter().filter(|s| !subject.manages(s));
    let slice = foreign.filter(|s| s.endpoints.iter().any(lacks)).min_by_key(|s| &s.name)?;
    let manager = slice.labels.get(label::MANAGED_BY).cloned();
    Some((Arc::clone(&slice.name), manager.unwrap_or_else(|| "nobody".into())))
}

fn about_refusal(subject: &Subject<'_>, why: &NoHints, now: u32) -> Advice {
    match why {
        NoHints::NodeWithoutZone { node } => Advice::LabelNode { node: Arc::clone(node) },
        NoHints::NodeWithoutCpu { node } => Advice::ReportCpu { node: Arc::clone(node) },
        NoHints::EndpointWithoutZone { address } => {
            Advice::FixEndpointZone { address: Arc::clone(address) }
        }
        NoHints::OneZoneOnly { zone } => Advice::AddZone { zone: Arc::clone(zone) },
        NoHints::NoReadyNodes => Advice::BringNodesUp,
        NoHints::NodesUnknown => Advice::GiveNodes,
        _ => {
            let threshold = subject.settings.assign_threshold;
            let limit = now.saturating_add(1000);
            let capacity = subject.capacity.as_ref().ok();
            let next = capacity.and_then(|c| next_possible(c, now, threshold, limit));
            Advice::ScaleOrPreferZone { now, next }
        }
    }
}

// === impl Advice ===

impl Reason for Advice {}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::NothingToDo => write!(f, "nothing: traffic stays as near as it can"),
            Advice::MakeEndpointsReady => {
                write!(f, "get endpoints ready first; then traffic can stay near")
            }
            Advice::AskForIt => write!(
                f,
                "set spec.trafficDistribution: PreferSameZone (`evenkeel plan` shows what each policy would do)"
            ),
            Advice::UseKnownValue { value } => write!(
                f,
                "replace {value} by PreferSameZone or PreferSameNode, the values that have an effect"
            ),
            Advice::TurnGateOn { gate } => write!(f, "turn feature gate {gate} on"),
            Advice::RelaxLocalPolicy => write!(
                f,
                "traffic never leaves its node under internalTrafficPolicy: Local; use trafficDistribution: PreferSameNode if it may when there is no endpoint"
            ),
            Advice::LabelNode { node } => write!(
                f,
                "label the node: kubectl label node {node} topology.kubernetes.io/zone=ZONE; until then no Service gets Auto hints"
            ),
            Advice::ReportCpu { node } => write!(
                f,
                "find out why node {node} reports no allocatable CPU; until then no Service gets Auto hints"
            ),
            Advice::FixEndpointZone { address } => {
                write!(f, "label the node of endpoint {address} with its zone")
            }
            Advice::AddZone { zone } => {
                write!(f, "nothing to gain while all ready worker nodes are in {zone}")
            }
            Advice::BringNodesUp => write!(f, "get worker nodes ready first"),
            Advice::GiveNodes => write!(
                f,
                "give the Nodes too (kubectl get nodes -o yaml): Auto shares endpoints out by their CPU"
            ),
            Advice::ScaleOrPreferZone { now, next: Some(next) } => write!(
                f,
                "scale from {now} to {next} ready endpoints, or set spec.trafficDistribution: PreferSameZone instead of the annotation"
            ),
            Advice::ScaleOrPreferZone { next: None, .. } => write!(
                f,
                "set spec.trafficDistribution: PreferSameZone instead of the annotation: zones differ too much for Auto"
            ),
            Advice::ControllerBehind => write!(
                f,
                "hints are not what they ought to be: see that the EndpointSlice controller runs and has no errors; it may be a moment behind"
            ),
            Advice::HintForeignSlice { slice, manager } => write!(
                f,
                "slice {slice} is managed by {manager} and lacks zone hints, so no hint counts: have it add hints.forZones, or remove the slice"
            ),
            Advice::WriteHintsYourself => write!(
                f,
                "the Service has no selector, so no controller writes hints: set zone and hints.forZones in its EndpointSlices yourself"
            ),
            Advice::AddEndpointIn { zones } => {
                write!(f, "run an endpoint in {}", zones.join(", "))
            }
        }
    }
}
