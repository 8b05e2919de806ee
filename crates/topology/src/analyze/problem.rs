//! What can be wrong with a Service or a cluster: codes, severities, sentences.

use std::{fmt, sync::Arc};

use evenkeel_model::{PodCause, Reason, SharesError, label};
use serde::Serialize;

use super::Severity;
use crate::{
    NoHints, Policy, ServerVersion,
    explain::Warning,
    reason::{count, percent},
    threshold::InvalidThreshold,
};

/// A problem. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Problem {
    /// `nearest`: labels that Pods of the namespace have, near to those of the selector.
    SelectorMatchesNoPods {
        selector: Arc<str>,
        nearest: Vec<Arc<str>>,
    },
    /// Pods that no node was found for, or that have not started. `pod` is the first of them.
    PodsPending {
        pods: usize,
        of: usize,
        pod: Arc<str>,
        cause: Arc<str>,
    },
    /// Pods that run and are not ready, or can't run. `pod` is the first of them.
    PodsNotReady {
        pods: usize,
        of: usize,
        pod: Arc<str>,
        cause: Arc<str>,
    },
    /// The Service has endpoints, and none is ready.
    NoReadyEndpoints {
        endpoints: usize,
    },
    /// A value that nothing knows, and the known one that is nearest.
    UnknownValue {
        place: Arc<str>,
        value: Arc<str>,
        nearest: Option<&'static str>,
    },
    /// An annotation of Evenkeel's that does not exist.
    UnknownAnnotation {
        annotation: Arc<str>,
        nearest: Option<&'static str>,
    },
    UnavailableBefore {
        value: Arc<str>,
        version: ServerVersion,
    },
    /// Slices that the controller would write differently.
    SlicesOutdated {
        hints: usize,
        missing_pods: usize,
        stale_endpoints: usize,
    },
    /// A slice of another owner has endpoints without hints, so consumers ignore all hints.
    ForeignSliceWithoutHints {
        slice: Arc<str>,
        manager: Arc<str>,
    },
    /// Auto gives no hints.
    HintsRefused {
        why: NoHints,
    },
    /// A zone has no endpoint, so its clients use other zones.
    ZoneWithoutEndpoint {
        zone: Arc<str>,
    },
    /// The endpoints of a zone get more traffic than their fair share.
    ZoneOverloaded {
        zone: Arc<str>,
        endpoints: u32,
        load: f64,
    },
    NoTopologyPreference,
    /// Slices name a Service that does not exist.
    OrphanedSlices,
    /// Some worker nodes are not ready.
    NodesNotReady {
        nodes: usize,
        of: usize,
        first: Arc<str>,
    },
    /// Some worker nodes are cordoned.
    NodesCordoned {
        nodes: usize,
        of: usize,
        first: Arc<str>,
    },
    /// No node of the zone is ready and accepts Pods.
    ZoneDrained {
        nodes: usize,
    },
    /// A node has no zone label, so no Service gets Auto hints.
    NodeWithoutZone,
    /// An annotation of Evenkeel's that the controller of the Service's slices ignores.
    AnnotationNotHonoured {
        annotation: &'static str,
        manager: Arc<str>,
    },
    /// The annotation `evenkeel.dev/overload-threshold` is no percentage from 0% to 1000%.
    InvalidOverloadThreshold {
        value: Arc<str>,
    },
    /// Only Auto and Balanced have an overload threshold.
    OverloadThresholdUnused {
        policy: Policy,
    },
    /// The policy writes zone shares, and no slice has them.
    SharesMissing,
    /// The annotation `evenkeel.dev/zone-shares` can't be used.
    SharesBroken {
        error: SharesError,
    },
    /// The rows of these client zones differ from what the controller would write.
    SharesOutdated {
        zones: Vec<Arc<str>>,
    },
    /// Zone shares that the controller would remove.
    SharesLeftOver,
    /// Zone shares count on slices of Evenkeel's controller only.
    SharesOnForeignSlice {
        slice: Arc<str>,
        manager: Arc<str>,
    },
    /// The nodes' proxy does not know zone shares. `has_hints`: it follows the hints of Auto instead.
    SharesNotHonoured {
        has_hints: bool,
    },
    /// The nodes' proxy only prefers the zone that the Service requires.
    RequirementNotEnforced,
    /// Clients in these zones are refused, or would be if the policy were enforced.
    RequiredZoneEmpty {
        zones: Vec<Arc<str>>,
        enforced: bool,
    },
    /// Some worker nodes have no region label, and a Service has a policy that looks at regions.
    RegionLabelsMissing {
        nodes: usize,
        of: usize,
        first: Arc<str>,
    },
    /// Nodes of a zone name several regions. The one that most of them name counts.
    ZoneInSeveralRegions {
        regions: Vec<Arc<str>>,
        counts: Arc<str>,
    },
}

/// A cause in words: `ImagePullBackOff in container web: …`.
pub(super) fn cause(cause: &PodCause) -> String {
    let with = |what: String, message: &str| match message {
        "" => what,
        message => format!("{what}: {message}"),
    };
    match cause {
        PodCause::Unschedulable { message } => with("Unschedulable".to_owned(), message),
        PodCause::Pending => "not started yet".to_owned(),
        PodCause::ContainerWaiting { container, reason, message } => {
            with(format!("{reason} in container {container}"), message)
        }
        PodCause::NotReady { message } if message.is_empty() => {
            "its Ready condition is not true".to_owned()
        }
        PodCause::NotReady { message } => message.to_string(),
        PodCause::Failed { reason, message } => {
            let reason = if reason.is_empty() { "Failed" } else { &**reason };
            with(reason.to_owned(), message)
        }
    }
}

// === impl Problem ===

impl Problem {
    pub fn severity(&self) -> Severity {
        match self {
            Problem::SelectorMatchesNoPods { .. }
            | Problem::NoReadyEndpoints { .. }
            | Problem::UnavailableBefore { .. }
            | Problem::RequiredZoneEmpty { enforced: true, .. } => Severity::Error,
            // Some Pods serve.
            Problem::PodsPending { pods, of, .. } | Problem::PodsNotReady { pods, of, .. } => {
                if pods == of {
                    Severity::Error
                } else {
                    Severity::Warning
                }
            }
            Problem::NoTopologyPreference
            | Problem::OrphanedSlices
            | Problem::SharesOnForeignSlice { .. }
            | Problem::NodesCordoned { .. } => Severity::Info,
            _ => Severity::Warning,
        }
    }

    /// Whether it is an everyday cause: Pods, values, nodes; not how hints came out.
    pub fn is_basic(&self) -> bool {
        !matches!(
            self,
            Problem::SlicesOutdated { .. }
                | Problem::ForeignSliceWithoutHints { .. }
                | Problem::HintsRefused { .. }
                | Problem::ZoneWithoutEndpoint { .. }
                | Problem::ZoneOverloaded { .. }
                | Problem::NoTopologyPreference
                | Problem::OrphanedSlices
                | Problem::SharesMissing
                | Problem::SharesBroken { .. }
                | Problem::SharesOutdated { .. }
                | Problem::SharesNotHonoured { .. }
                | Problem::RequirementNotEnforced
                | Problem::RequiredZoneEmpty { .. }
                | Problem::RegionLabelsMissing { .. }
                | Problem::ZoneInSeveralRegions { .. }
        )
    }

    /// Whether it explains by itself why nothing works, better than advice about policies.
    pub(crate) fn is_cause(&self) -> bool {
        matches!(
            self,
            Problem::SelectorMatchesNoPods { .. }
                | Problem::PodsPending { .. }
                | Problem::PodsNotReady { .. }
        )
    }

    fn fmt_pods(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::SelectorMatchesNoPods { selector, nearest } => {
                write!(f, "selector {selector} matches no Pods")?;
                match nearest.as_slice() {
                    [] => Ok(()),
                    nearest => write!(f, "; nearest labels: {}", nearest.join(",")),
                }
            }
            Problem::PodsPending { pods, of, pod, cause } => {
                write!(f, "{pods} of {} pending; {pod}: {cause}", count(*of as u64, "Pod"))
            }
            Problem::PodsNotReady { pods, of, pod, cause } => {
                write!(f, "{pods} of {} not ready; {pod}: {cause}", count(*of as u64, "Pod"))
            }
            Problem::NoReadyEndpoints { endpoints: 0 } => write!(f, "no endpoints"),
            Problem::NoReadyEndpoints { endpoints } => {
                write!(f, "none of {} is ready", count(*endpoints as u64, "endpoint"))
            }
            _ => Ok(()),
        }
    }

    fn fmt_nodes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NodesNotReady { nodes, of, .. } => {
                write!(f, "{nodes} of {} not ready", count(*of as u64, "worker node"))
            }
            Problem::NodesCordoned { nodes, of, .. } => {
                write!(f, "{nodes} of {} cordoned", count(*of as u64, "worker node"))
            }
            Problem::ZoneDrained { nodes } => write!(
                f,
                "all {} of the zone cordoned or not ready",
                count(*nodes as u64, "worker node")
            ),
            Problem::NodeWithoutZone => {
                write!(
                    f,
                    "no label topology.kubernetes.io/zone; Auto gives no hints to any Service"
                )
            }
            _ => Ok(()),
        }
    }

    fn fmt_slices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::SlicesOutdated { hints, missing_pods, stale_endpoints } => {
                let parts = [
                    (*hints, "endpoint with other hints", "endpoints with other hints"),
                    (*missing_pods, "ready Pod missing", "ready Pods missing"),
                    (*stale_endpoints, "endpoint without a Pod", "endpoints without a Pod"),
                ];
                let parts = parts.into_iter().filter(|(n, ..)| *n > 0);
                let parts: Vec<String> = parts
                    .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
                    .collect();
                write!(f, "slices differ from the desired state: {}", parts.join(", "))
            }
            Problem::ForeignSliceWithoutHints { slice, manager } => write!(
                f,
                "slice {slice}, managed by {manager}, has no zone hints, so all zone hints are ignored"
            ),
            Problem::HintsRefused { why } => write!(f, "Auto gives no hints: {why}"),
            Problem::ZoneWithoutEndpoint { zone } => {
                write!(f, "{zone} has no endpoint: its clients use other zones")
            }
            Problem::ZoneOverloaded { zone, endpoints, load } => write!(
                f,
                "{zone} has {}: clients in the zone load it to {} % of its fair share",
                count(*endpoints, "endpoint"),
                percent(*load).round()
            ),
            _ => write!(f, "slices name a Service that does not exist"),
        }
    }
}

impl Problem {
    fn fmt_annotations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = label::ZONE_SHARES;
        match self {
            Problem::AnnotationNotHonoured { annotation, manager } => write!(
                f,
                "annotation {annotation} has no effect: {manager} manages the EndpointSlices and ignores it"
            ),
            Problem::InvalidOverloadThreshold { value } => {
                let value = Arc::clone(value);
                write!(f, "{}", InvalidThreshold::InvalidOverloadThreshold { value })
            }
            Problem::OverloadThresholdUnused { policy } => write!(
                f,
                "annotation {} has no effect under policy {policy}: only Auto and Balanced have a threshold",
                label::OVERLOAD_THRESHOLD
            ),
            Problem::SharesMissing => {
                write!(f, "no EndpointSlice has annotation {shares}: consumers follow hints")
            }
            Problem::SharesBroken { error } => {
                write!(f, "annotation {shares} is ignored: {error}; consumers follow hints")
            }
            Problem::SharesOutdated { zones } => {
                write!(f, "zone shares of {} differ from the desired state", zones.join(", "))
            }
            Problem::SharesLeftOver => {
                write!(f, "annotation {shares} is left over: no zone shares are needed")
            }
            Problem::SharesOnForeignSlice { slice, manager } => {
                write!(f, "annotation {shares} on slice {slice}, managed by {manager}, is ignored")
            }
            _ => Ok(()),
        }
    }

    /// The same sentences as the warnings of `explain`.
    fn fmt_own(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = match self.clone() {
            Problem::SharesNotHonoured { has_hints } => Warning::SharesNotHonoured { has_hints },
            Problem::RequirementNotEnforced => Warning::RequirementNotEnforced,
            Problem::RequiredZoneEmpty { zones, enforced } => {
                Warning::RequiredZonesEmpty { zones, enforced }
            }
            Problem::RegionLabelsMissing { nodes, of, first } => {
                Warning::RegionLabelsMissing { nodes, of, first }
            }
            Problem::ZoneInSeveralRegions { regions, counts } => {
                return write!(
                    f,
                    "its nodes name several regions ({}); {counts} counts",
                    regions.join(", ")
                );
            }
            _ => return Ok(()),
        };
        write!(f, "{warning}")
    }
}

impl Reason for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = |f: &mut fmt::Formatter<'_>, nearest: &Option<&str>| match nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => Ok(()),
        };
        match self {
            Problem::UnknownValue { place, value, nearest } => {
                write!(f, "{place}: {value} is an unknown value and has no effect")?;
                mean(f, nearest)
            }
            Problem::UnknownAnnotation { annotation, nearest } => {
                write!(f, "annotation {annotation} is unknown and has no effect")?;
                mean(f, nearest)
            }
            Problem::UnavailableBefore { value, version } => {
                write!(f, "{value} needs Kubernetes {version} or newer")
            }
            Problem::NoTopologyPreference => write!(f, "no topology preference set"),
            Problem::SelectorMatchesNoPods { .. }
            | Problem::PodsPending { .. }
            | Problem::PodsNotReady { .. }
            | Problem::NoReadyEndpoints { .. } => self.fmt_pods(f),
            Problem::NodesNotReady { .. }
            | Problem::NodesCordoned { .. }
            | Problem::ZoneDrained { .. }
            | Problem::NodeWithoutZone => self.fmt_nodes(f),
            Problem::AnnotationNotHonoured { .. }
            | Problem::InvalidOverloadThreshold { .. }
            | Problem::OverloadThresholdUnused { .. }
            | Problem::SharesMissing
            | Problem::SharesBroken { .. }
            | Problem::SharesOutdated { .. }
            | Problem::SharesLeftOver
            | Problem::SharesOnForeignSlice { .. } => self.fmt_annotations(f),
            Problem::SharesNotHonoured { .. }
            | Problem::RequirementNotEnforced
            | Problem::RequiredZoneEmpty { .. }
            | Problem::RegionLabelsMissing { .. }
            | Problem::ZoneInSeveralRegions { .. } => self.fmt_own(f),
            _ => self.fmt_slices(f),
        }
    }
}
