//! Pieces of advice and their words.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use crate::{policy::CannotAct, reason::percent};

/// What to do next. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Advice {
    NothingToDo,
    /// No policy can do anything for the Service.
    CannotAct {
        why: CannotAct,
    },
    /// There is one zone only, or none.
    NothingToGain {
        zone: Option<Arc<str>>,
    },
    MakeEndpointsReady,
    AskForIt,
    /// PreferSameZone would overload a zone, Auto would not.
    AskForAuto {
        annotation: &'static str,
        zone: Arc<str>,
        load: f64,
    },
    /// PreferSameZone would overload a zone, and Auto can't share endpoints out.
    SpreadFirst {
        zone: Arc<str>,
        load: f64,
    },
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
    BringNodesUp,
    GiveNodes,
    /// Auto refuses; the next number of endpoints that works is named if there is one in reach.
    ScaleOrPreferZone {
        now: u32,
        next: Option<u32>,
    },
    /// Auto refuses, and PreferSameZone would overload a zone.
    Scale {
        now: u32,
        next: u32,
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

// === impl Advice ===

impl Reason for Advice {}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::NothingToDo => write!(f, "nothing: traffic stays as near as it can"),
            Advice::CannotAct { why } => write!(f, "nothing: {why}"),
            Advice::NothingToGain { zone: Some(zone) } => {
                write!(f, "nothing to gain while {zone} is the only zone")
            }
            Advice::NothingToGain { zone: None } => {
                write!(f, "nothing to gain while no node is known to be in a zone")
            }
            Advice::MakeEndpointsReady => {
                write!(f, "get endpoints ready first; then traffic can stay near")
            }
            Advice::BringNodesUp => write!(f, "get worker nodes ready first"),
            Advice::AddEndpointIn { zones } => write!(f, "run an endpoint in {}", zones.join(", ")),
            Advice::LabelNode { .. }
            | Advice::ReportCpu { .. }
            | Advice::FixEndpointZone { .. }
            | Advice::GiveNodes => self.say_of_nodes(f),
            Advice::ControllerBehind
            | Advice::HintForeignSlice { .. }
            | Advice::WriteHintsYourself => self.say_of_slices(f),
            of_policy => of_policy.say_of_policy(f),
        }
    }
}

impl Advice {
    fn say_of_policy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = |load: &f64| percent(*load).round();
        match self {
            Advice::AskForAuto { annotation, zone, load: l } => write!(
                f,
                "set annotation {annotation}: Auto; PreferSameZone would keep traffic in its zone too, but load the endpoints of {zone} with {} % of their fair share",
                load(l)
            ),
            Advice::SpreadFirst { zone, load: l } => write!(
                f,
                "spread Pods evenly first (`evenkeel plan` shows figures): PreferSameZone would keep traffic in its zone, but load the endpoints of {zone} with {} % of their fair share",
                load(l)
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
            Advice::ScaleOrPreferZone { now, next: Some(next) } => write!(
                f,
                "scale from {now} to {next} ready endpoints, or set spec.trafficDistribution: PreferSameZone instead of the annotation"
            ),
            Advice::ScaleOrPreferZone { next: None, .. } => write!(
                f,
                "set spec.trafficDistribution: PreferSameZone instead of the annotation: zones are too many or differ too much for Auto"
            ),
            Advice::Scale { now, next } => write!(f, "scale from {now} to {next} ready endpoints"),
            _ => write!(
                f,
                "set spec.trafficDistribution: PreferSameZone (`evenkeel plan` shows what each policy would do)"
            ),
        }
    }

    fn say_of_nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
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
            _ => write!(
                f,
                "give the Nodes too (kubectl get nodes -o yaml): Auto shares endpoints out by their CPU"
            ),
        }
    }

    fn say_of_slices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::HintForeignSlice { slice, manager } => write!(
                f,
                "slice {slice} is managed by {manager} and lacks zone hints, so no hint counts: have it add hints.forZones, or remove the slice"
            ),
            Advice::WriteHintsYourself => write!(
                f,
                "the Service has no selector, so no controller writes hints: set zone and hints.forZones in its EndpointSlices yourself"
            ),
            _ => write!(
                f,
                "slices are not what they ought to be: see that the EndpointSlice controller runs and has no errors; it may be a moment behind"
            ),
        }
    }
}
