//! Which policy a Service requests: annotations before the field, gates before both.
//!
//! Source: KEP-4444 ("Risks and Mitigations": the annotation takes precedence) and KEP-2433. The
//! older annotation `topology-aware-hints` beats `topology-mode`; only `Auto` and `auto` count, as
//! in the real controller.
//!
//! Heuristics of Evenkeel's own come by the annotation `evenkeel.dev/traffic-distribution`, because
//! API servers reject unknown values of the field. Those that accept values with a domain (feature
//! gate `TrafficDistributionDomains` of the embedded one) take them there too, as
//! `evenkeel.dev/Balanced`.

use std::{fmt, sync::Arc};

use evenkeel_model::{Reason, Service, TrafficPolicy, label};
use serde::Serialize;

use crate::{Gates, ServerVersion};

/// Which endpoints of a Service are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Policy {
    /// No preference: any endpoint of the cluster.
    #[serde(rename = "none")]
    None,
    /// Endpoints are allocated to zones in proportion to their CPU.
    Auto,
    PreferSameZone,
    PreferSameNode,
    /// Zone shares: no endpoint above its fair part, and as little traffic as possible leaves its
    /// zone, then its region.
    Balanced,
    PreferSameRegion,
    /// Its own zone, and zones of its region that have no endpoint.
    PreferSameZoneThenRegion,
    /// Its own zone, or nothing.
    RequireSameZone,
}

/// Which policy the Service sets, or why it has none. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum PolicyReason {
    /// Neither the field nor an annotation is set.
    NotSet,
    SetByAnnotation {
        annotation: &'static str,
        value: Arc<str>,
    },
    SetByField {
        value: Arc<str>,
    },
    /// A value that no heuristic here knows: no hints.
    UnknownValue {
        place: &'static str,
        value: Arc<str>,
    },
    GateOff {
        gate: &'static str,
        value: Arc<str>,
    },
    /// The API server is older than `version`, the first that accepts the value.
    UnavailableBefore {
        value: Arc<str>,
        version: ServerVersion,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestedPolicy {
    pub policy: Policy,
    pub why: PolicyReason,
}

/// The field that holds the preference.
pub const FIELD: &str = "spec.trafficDistribution";

/// The policy in force for `service`.
pub fn requested(service: &Service, gates: Gates) -> RequestedPolicy {
    if let Some((annotation, value)) = auto_annotation(service) {
        return if gates.topology_aware_hints {
            RequestedPolicy {
                policy: Policy::Auto,
                why: PolicyReason::SetByAnnotation { annotation, value },
            }
        } else {
            // In Kubernetes the field never overrides an annotation that requests Auto.
            gate_off("TopologyAwareHints", value)
        };
    }
    let own = service.annotations.get(label::TRAFFIC_DISTRIBUTION);
    let (place, value) = match (own, &service.traffic_distribution) {
        (Some(value), _) => (label::TRAFFIC_DISTRIBUTION, value),
        (None, Some(value)) => (FIELD, value),
        (None, None) => {
            return RequestedPolicy { policy: Policy::None, why: PolicyReason::NotSet };
        }
    };
    distribution(place, Arc::clone(value), gates)
}

/// The policy named by a value of `trafficDistribution`.
fn distribution(place: &'static str, value: Arc<str>, gates: Gates) -> RequestedPolicy {
    if !gates.service_traffic_distribution {
        return gate_off("ServiceTrafficDistribution", value);
    }
    let Some(policy) = policy_named(place, &value) else {
        let why = PolicyReason::UnknownValue { place, value };
        return RequestedPolicy { policy: Policy::None, why };
    };
    let needs_gate = Policy::KUBERNETES.contains(&policy) && &*value != "PreferClose";
    if needs_gate && !gates.prefer_same_traffic_distribution {
        return gate_off("PreferSameTrafficDistribution", value);
    }
    let why = if place == FIELD {
        PolicyReason::SetByField { value }
    } else {
        PolicyReason::SetByAnnotation { annotation: place, value }
    };
    RequestedPolicy { policy, why }
}

/// In the field, values of Evenkeel's own have its domain.
fn policy_named(place: &str, value: &str) -> Option<Policy> {
    let own = match value.strip_prefix(DOMAIN) {
        Some(own) if place == FIELD => Some(own),
        Some(_) => None,
        None => Some(value).filter(|_| place != FIELD),
    };
    match value {
        "PreferClose" | "PreferSameZone" => Some(Policy::PreferSameZone),
        "PreferSameNode" => Some(Policy::PreferSameNode),
        _ => OWN.into_iter().find(|policy| own == Some(policy.as_str())),
    }
}

/// Before the names of Evenkeel's own policies in [`FIELD`].
const DOMAIN: &str = "evenkeel.dev/";

/// The policies that Kubernetes does not have.
pub const OWN: [Policy; 4] = [
    Policy::Balanced,
    Policy::PreferSameRegion,
    Policy::PreferSameZoneThenRegion,
    Policy::RequireSameZone,
];

/// The annotation that requests Auto, if there is one.
fn auto_annotation(service: &Service) -> Option<(&'static str, Arc<str>)> {
    let (annotation, value) = [label::TOPOLOGY_AWARE_HINTS, label::TOPOLOGY_MODE]
        .into_iter()
        .find_map(|name| Some((name, service.annotations.get(name)?)))?;
    matches!(&**value, "Auto" | "auto").then(|| (annotation, Arc::clone(value)))
}

/// Whether consumers look at hints at all. KEP-4444: always, while its gate is on; before it, only
/// for Services in Auto mode.
pub fn hints_count(service: &Service, gates: Gates) -> bool {
    gates.service_traffic_distribution
        || (gates.topology_aware_hints && auto_annotation(service).is_some())
}

/// Why a policy has no effect on a Service. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum CannotAct {
    /// The Service is a name outside the cluster.
    ExternalName,
    /// Clients find endpoints by DNS; no proxy is between.
    Headless,
    /// No controller writes the slices of a Service without selector.
    NoSelector,
    /// Internal traffic never leaves its node.
    Local,
    GateOff {
        gate: &'static str,
    },
    /// The API server is older than `version`, the first that accepts the policy.
    UnavailableBefore {
        version: ServerVersion,
    },
}

/// Whether `policy` can have an effect on `service`. [`Policy::None`] always can.
pub fn can_act(service: &Service, policy: Policy, gates: Gates) -> Result<(), CannotAct> {
    let gate = match policy {
        Policy::None => return Ok(()),
        Policy::Auto => (gates.topology_aware_hints, "TopologyAwareHints"),
        _ if !gates.service_traffic_distribution => (false, "ServiceTrafficDistribution"),
        // PreferClose, its older name, does the same and needs no further gate.
        Policy::PreferSameZone => (true, ""),
        Policy::PreferSameNode => {
            (gates.prefer_same_traffic_distribution, "PreferSameTrafficDistribution")
        }
        Policy::Balanced
        | Policy::PreferSameRegion
        | Policy::PreferSameZoneThenRegion
        | Policy::RequireSameZone => (true, ""),
    };
    if service.external_name {
        Err(CannotAct::ExternalName)
    } else if service.cluster_ip_none {
        Err(CannotAct::Headless)
    } else if service.selector.is_none() {
        Err(CannotAct::NoSelector)
    } else if service.exposure.internal == TrafficPolicy::Local {
        Err(CannotAct::Local)
    } else if let (false, gate) = gate {
        Err(CannotAct::GateOff { gate })
    } else {
        Ok(())
    }
}

fn gate_off(gate: &'static str, value: Arc<str>) -> RequestedPolicy {
    RequestedPolicy { policy: Policy::None, why: PolicyReason::GateOff { gate, value } }
}

// === impl Policy ===

impl Policy {
    pub const ALL: [Policy; 8] = [
        Policy::None,
        Policy::Auto,
        Policy::PreferSameZone,
        Policy::PreferSameNode,
        Policy::Balanced,
        Policy::PreferSameRegion,
        Policy::PreferSameZoneThenRegion,
        Policy::RequireSameZone,
    ];

    /// The policies that Kubernetes has.
    pub const KUBERNETES: [Policy; 4] =
        [Policy::None, Policy::Auto, Policy::PreferSameZone, Policy::PreferSameNode];

    pub fn as_str(self) -> &'static str {
        match self {
            Policy::None => "none",
            Policy::Auto => "Auto",
            Policy::PreferSameZone => "PreferSameZone",
            Policy::PreferSameNode => "PreferSameNode",
            Policy::Balanced => "Balanced",
            Policy::PreferSameRegion => "PreferSameRegion",
            Policy::PreferSameZoneThenRegion => "PreferSameZoneThenRegion",
            Policy::RequireSameZone => "RequireSameZone",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

// === impl CannotAct ===

impl Reason for CannotAct {}

impl fmt::Display for CannotAct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotAct::ExternalName => {
                write!(f, "the Service is an ExternalName and has no endpoints")
            }
            CannotAct::Headless => {
                write!(f, "the Service is headless: clients get all addresses by DNS")
            }
            CannotAct::NoSelector => {
                write!(f, "the Service has no selector, so no controller writes hints")
            }
            CannotAct::Local => {
                write!(f, "internalTrafficPolicy: Local keeps traffic on its node")
            }
            CannotAct::GateOff { gate } => write!(f, "feature gate {gate} is off"),
            CannotAct::UnavailableBefore { version } => {
                write!(f, "needs Kubernetes {version} or newer")
            }
        }
    }
}

// === impl PolicyReason ===

impl Reason for PolicyReason {}

impl fmt::Display for PolicyReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyReason::NotSet => {
                write!(f, "no topology preference set")
            }
            PolicyReason::SetByAnnotation { annotation, value } => {
                write!(f, "annotation {annotation}: {value}")
            }
            PolicyReason::SetByField { value } => write!(f, "{FIELD}: {value}"),
            PolicyReason::UnknownValue { place, value } => {
                write!(f, "{place}: {value} is an unknown value and has no effect")
            }
            PolicyReason::GateOff { gate, value } => {
                write!(f, "{value} has no effect while feature gate {gate} is off")
            }
            PolicyReason::UnavailableBefore { value, version } => {
                write!(f, "{value} needs Kubernetes {version} or newer")
            }
        }
    }
}
