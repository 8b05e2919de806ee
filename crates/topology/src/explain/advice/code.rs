//! Pieces of advice and their sentences.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use super::balanced::Effect;
use crate::{Policy, ServerVersion, policy::CannotAct, reason::count, reason::percent};

/// What to do next. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Advice {
    NothingToDo,
    /// No policy has an effect on the Service.
    CannotAct {
        why: CannotAct,
    },
    /// There is one zone only, or none.
    NothingToGain {
        zone: Option<Arc<str>>,
    },
    MakeEndpointsReady,
    /// The fix of the most serious finding.
    FixFinding {
        fix: String,
    },
    SetPreferSameZone {
        /// The value of `spec.trafficDistribution` that the API server accepts.
        value: &'static str,
    },
    /// PreferSameZone would overload a zone, Auto would not.
    SetAuto {
        annotation: &'static str,
        zone: Arc<str>,
        load: f64,
    },
    /// PreferSameZone would overload a zone, and Auto can't allocate endpoints to zones.
    SpreadPods {
        zone: Arc<str>,
        load: f64,
    },
    /// PreferSameZone would overload a zone or Auto can't allocate; Balanced does neither.
    SetBalanced {
        command: Arc<str>,
        in_zone_share: f64,
        max_load: f64,
    },
    /// Another controller manages the slices and ignores the annotation that sets the policy.
    UseEvenkeelController {
        annotation: &'static str,
        manager: Arc<str>,
    },
    /// The policy takes effect where nodes run Evenkeel's proxy, and none does.
    AwaitProxy {
        policy: Policy,
    },
    UseKnownValue {
        value: Arc<str>,
        known: &'static [&'static str],
    },
    /// The API server is too old for the value.
    UpgradeServer {
        value: Arc<str>,
        version: ServerVersion,
    },
    EnableFeatureGate {
        gate: &'static str,
    },
    /// Set `internalTrafficPolicy` or `externalTrafficPolicy` to Cluster.
    RelaxLocalPolicy,
    LabelNode {
        node: Arc<str>,
    },
    CheckNodeCpu {
        node: Arc<str>,
    },
    FixEndpointZone {
        address: Arc<str>,
    },
    RestoreNodes,
    /// Give the Nodes too.
    ProvideNodes,
    /// Auto can't allocate; the next number of endpoints that works is named if there is one near.
    ScaleOrPreferZone {
        now: u32,
        next: Option<u32>,
        /// The value of `spec.trafficDistribution` that the API server accepts.
        value: &'static str,
    },
    /// Auto can't allocate, and PreferSameZone would overload a zone.
    Scale {
        now: u32,
        next: u32,
    },
    /// There are Pods enough for Auto, but too few of them are ready.
    MakePodsReady {
        ready: u32,
        pods: u32,
        next: u32,
    },
    /// Check the controller: EndpointSlices are behind Pods or policy.
    CheckController,
    /// A slice of another writer lacks hints, and so all hints are ignored.
    AddHintsToForeignSlice {
        slice: Arc<str>,
        manager: Arc<str>,
    },
    /// The Service has no selector: no controller gives its endpoints hints.
    SetHintsManually,
    AddEndpoints {
        zones: Vec<Arc<str>>,
    },
}

// === impl Advice ===

impl Reason for Advice {}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::NothingToDo => write!(f, "Nothing to do: traffic stays as close as it can"),
            Advice::CannotAct { why } => write!(f, "Nothing to do: {why}"),
            Advice::NothingToGain { zone: Some(zone) } => {
                write!(f, "Nothing to do: {zone} is the only zone")
            }
            Advice::NothingToGain { zone: None } => {
                write!(f, "Nothing to do: no node has a zone label")
            }
            Advice::MakeEndpointsReady => write!(f, "Make endpoints ready; none is"),
            Advice::FixFinding { fix } => f.write_str(fix),
            Advice::RestoreNodes => write!(f, "Make worker nodes ready; none is"),
            Advice::AddEndpoints { zones } => write!(f, "Run a Pod in {}", zones.join(", ")),
            Advice::LabelNode { .. }
            | Advice::CheckNodeCpu { .. }
            | Advice::FixEndpointZone { .. }
            | Advice::ProvideNodes => self.fmt_nodes(f),
            Advice::CheckController
            | Advice::AddHintsToForeignSlice { .. }
            | Advice::SetHintsManually => self.fmt_slices(f),
            Advice::Scale { .. }
            | Advice::ScaleOrPreferZone { .. }
            | Advice::MakePodsReady { .. } => self.fmt_scale(f),
            _ => self.fmt_policy(f),
        }
    }
}

impl Advice {
    fn fmt_policy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = |load: &f64| percent(*load).round();
        match self {
            Advice::SetPreferSameZone { value } => write!(
                f,
                "Set spec.trafficDistribution: {value} (`evenkeel plan` compares all policies)"
            ),
            Advice::SetAuto { annotation, zone, load: l } => write!(
                f,
                "Set annotation {annotation}: Auto; PreferSameZone would load the endpoints in {zone} to {} % of their fair share",
                load(l)
            ),
            Advice::SpreadPods { zone, load: l } => write!(
                f,
                "Spread the Pods evenly over zones first: PreferSameZone would load the endpoints in {zone} to {} % of their fair share (`evenkeel plan` shows the figures)",
                load(l)
            ),
            &Advice::SetBalanced { ref command, in_zone_share, max_load } => write!(
                f,
                "Set policy Balanced: {command}; then {}",
                Effect { in_zone_share, max_load }
            ),
            Advice::UseEvenkeelController { annotation, manager } => write!(
                f,
                "Let Evenkeel's controller manage the EndpointSlices, or remove annotation {annotation}: {manager} manages them and ignores it"
            ),
            Advice::AwaitProxy { policy } => write!(
                f,
                "Nothing to do on the Service: {policy} takes effect where nodes run Evenkeel's proxy, and none reports it; until then kube-proxy follows hints only"
            ),
            Advice::UseKnownValue { value, known: [] } => {
                write!(f, "Remove {value}: this API server has no trafficDistribution")
            }
            Advice::UseKnownValue { value, known } => {
                write!(f, "Replace {value} with a known value: {}", known.join(", "))
            }
            Advice::UpgradeServer { value, version } => {
                write!(f, "Upgrade to Kubernetes {version} or newer to use {value}")
            }
            Advice::EnableFeatureGate { gate } => write!(f, "Enable feature gate {gate}"),
            _ => write!(
                f,
                "Replace internalTrafficPolicy: Local with trafficDistribution: PreferSameNode if traffic may leave a node that has no endpoint"
            ),
        }
    }

    fn fmt_scale(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::ScaleOrPreferZone { now, next: Some(next), value } => write!(
                f,
                "Scale from {now} to {next} ready endpoints, or replace the annotation with spec.trafficDistribution: {value}"
            ),
            Advice::ScaleOrPreferZone { next: None, value, .. } => write!(
                f,
                "Replace the annotation with spec.trafficDistribution: {value}; there are too many zones for Auto, or they differ too much"
            ),
            Advice::MakePodsReady { ready, pods, next } => write!(
                f,
                "Make the other {} ready instead of scaling: {next} ready endpoints are enough for Auto, and there are {pods} Pods",
                count(pods - ready, "Pod")
            ),
            Advice::Scale { now, next } => write!(f, "Scale from {now} to {next} ready endpoints"),
            _ => Ok(()),
        }
    }

    fn fmt_nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::LabelNode { node } => write!(
                f,
                "Label the node: kubectl label node {node} topology.kubernetes.io/zone=ZONE; until then no Service gets Auto hints"
            ),
            Advice::CheckNodeCpu { node } => write!(
                f,
                "Check why node {node} reports no allocatable CPU; until then no Service gets Auto hints"
            ),
            Advice::FixEndpointZone { address } => {
                write!(f, "Label the node of endpoint {address} with its zone")
            }
            _ => write!(
                f,
                "Provide the Nodes too (kubectl get nodes -o yaml); Auto allocates endpoints by their CPU"
            ),
        }
    }

    fn fmt_slices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Advice::AddHintsToForeignSlice { slice, manager } => write!(
                f,
                "Set hints.forZones on slice {slice} (managed by {manager}), or remove it: without zone hints on all endpoints, all hints are ignored"
            ),
            Advice::SetHintsManually => write!(
                f,
                "Set zone and hints.forZones in the EndpointSlices yourself: no controller writes hints for a Service without a selector"
            ),
            _ => write!(
                f,
                "Check that the EndpointSlice controller is running and logs no errors; it may only be a moment behind"
            ),
        }
    }
}
