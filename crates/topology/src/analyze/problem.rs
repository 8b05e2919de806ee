//! What can be wrong with a Service or a cluster: codes, severities, sentences.

use std::{fmt, sync::Arc};

use evenkeel_model::{PodCause, Reason};
use serde::Serialize;

use super::Severity;
use crate::{NoHints, ServerVersion, reason::count, reason::percent};

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
            | Problem::UnavailableBefore { .. } => Severity::Error,
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

    /// What to do, from the problem alone.
    pub(super) fn fix(&self) -> String {
        match self {
            Problem::SelectorMatchesNoPods { nearest, .. } if !nearest.is_empty() => {
                format!("Change the selector to {}, or label the Pods", nearest.join(","))
            }
            Problem::SelectorMatchesNoPods { selector, .. } => {
                format!("Label the Pods {selector}, or change the selector")
            }
            Problem::PodsPending { pod, .. } | Problem::PodsNotReady { pod, .. } => {
                format!("Run kubectl describe pod {pod}")
            }
            Problem::NoReadyEndpoints { .. } => "Make endpoints ready".to_owned(),
            Problem::UnknownValue { place, nearest: Some(value), .. } => {
                format!("Set {place}: {value}")
            }
            Problem::UnknownValue { place, nearest: None, .. } => {
                format!("Remove {place}, or set a known value")
            }
            Problem::UnknownAnnotation { nearest: Some(name), .. } => {
                format!("Rename the annotation to {name}")
            }
            Problem::UnknownAnnotation { annotation, nearest: None } => {
                format!("Remove the annotation {annotation}")
            }
            Problem::UnavailableBefore { value, version } => {
                format!("Upgrade to Kubernetes {version}, or remove {value}")
            }
            Problem::OrphanedSlices => "Delete the slices, or create the Service".to_owned(),
            Problem::NodesNotReady { first, .. } => format!("Run kubectl describe node {first}"),
            Problem::NodesCordoned { first, .. } => {
                format!("Run kubectl uncordon {first} when its maintenance is over")
            }
            Problem::ZoneDrained { .. } => "Uncordon or repair a node of the zone".to_owned(),
            Problem::NodeWithoutZone => {
                "Label the node: topology.kubernetes.io/zone=ZONE".to_owned()
            }
            Problem::ZoneWithoutEndpoint { zone } => format!("Run a Pod in {zone}"),
            Problem::ZoneOverloaded { .. } => {
                "Spread the Pods evenly over zones (`evenkeel plan` shows the figures)".to_owned()
            }
            _ => "Check that the EndpointSlice controller is running".to_owned(),
        }
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
            _ => self.fmt_slices(f),
        }
    }
}
