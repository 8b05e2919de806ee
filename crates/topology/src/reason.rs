//! Why hints are not given, and the Events that report it: the only place with their sentences.

use std::{fmt, sync::Arc};

use evenkeel_model::{AddressType, Reason};
use serde::Serialize;

/// Why a Service under policy Auto has no hints. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum NoHints {
    /// The list of nodes was never given.
    NodesUnknown,
    NoReadyNodes,
    NodeWithoutZone {
        node: Arc<str>,
    },
    NodeWithoutCpu {
        node: Arc<str>,
    },
    OneZoneOnly {
        zone: Arc<str>,
    },
    TooManyZones {
        zones: usize,
    },
    NotEnoughEndpoints {
        endpoints: u32,
        zones: u32,
    },
    /// Staying within `threshold` would take `required` endpoints.
    Overload {
        endpoints: u32,
        zones: u32,
        required: u32,
        threshold: f64,
    },
    EndpointWithoutZone {
        address: Arc<str>,
    },
    /// The annotation that requested hints is gone.
    NoLongerRequested,
}

/// Auto hints are given to the endpoints of the Service.
const HINTS_ENABLED: &str = "TopologyAwareHintsEnabled";
/// Warning: Auto hints are not given; the message says why.
const HINTS_DISABLED: &str = "TopologyAwareHintsDisabled";

/// Zone shares of policy Balanced are in force; the message says which part of the traffic is
/// expected to stay in its zone.
const SHARES_ENABLED: &str = "ZoneSharesEnabled";

/// An Event on the Service, worded as Kubernetes words it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event")]
pub enum HintEvent {
    Enabled {
        family: AddressType,
    },
    Disabled {
        family: AddressType,
        why: NoHints,
    },
    /// Zone shares are in force. `instead_of`: why Auto could not give hints.
    SharesEnabled {
        family: AddressType,
        in_zone: f64,
        instead_of: Option<NoHints>,
    },
}

// === impl NoHints ===

impl Reason for NoHints {}

impl fmt::Display for NoHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoHints::NodesUnknown => write!(f, "no nodes are known yet"),
            NoHints::NoReadyNodes => write!(f, "no worker node is ready"),
            NoHints::NodeWithoutZone { node } => {
                write!(f, "node {node} has no label topology.kubernetes.io/zone")
            }
            NoHints::NodeWithoutCpu { node } => {
                write!(f, "node {node} does not report allocatable CPU")
            }
            NoHints::OneZoneOnly { zone } => {
                write!(f, "ready worker nodes are in one zone only, {zone}")
            }
            NoHints::TooManyZones { zones } => write!(f, "{zones} zones exceed the limit of 65535"),
            NoHints::NotEnoughEndpoints { endpoints, zones } => {
                let endpoints = count(*endpoints, "ready endpoint");
                write!(f, "{endpoints} can't cover {zones} zones: each needs one")
            }
            NoHints::Overload { endpoints, zones, required, threshold } => write!(
                f,
                "{endpoints} ready endpoints can't be allocated to {zones} zones with at most {} % overload: {required} are needed",
                percent(*threshold)
            ),
            NoHints::EndpointWithoutZone { address } => {
                write!(f, "endpoint {address} has no zone")
            }
            NoHints::NoLongerRequested => write!(f, "the Service no longer requests Auto"),
        }
    }
}

impl NoHints {
    /// The message Kubernetes puts into its Event, which knows fewer cases.
    pub fn kubernetes_message(&self) -> String {
        match self {
            NoHints::NodesUnknown => "Nodes only ready in one zone".to_owned(),
            NoHints::NoReadyNodes
            | NoHints::NodeWithoutZone { .. }
            | NoHints::NodeWithoutCpu { .. }
            | NoHints::OneZoneOnly { .. }
            | NoHints::TooManyZones { .. } => {
                "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes".to_owned()
            }
            NoHints::NotEnoughEndpoints { endpoints, zones } => {
                format!("Insufficient number of endpoints ({endpoints} endpoints, {zones} zones)")
            }
            NoHints::Overload { endpoints, zones, .. } => format!(
                "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ({endpoints} endpoints, {zones} zones)"
            ),
            NoHints::EndpointWithoutZone { .. } => {
                "One or more endpoints do not have a zone specified".to_owned()
            }
            NoHints::NoLongerRequested => "Topology Aware Hints has been disabled".to_owned(),
        }
    }
}

// === impl HintEvent ===

impl HintEvent {
    pub fn family(&self) -> AddressType {
        match self {
            HintEvent::Enabled { family }
            | HintEvent::Disabled { family, .. }
            | HintEvent::SharesEnabled { family, .. } => *family,
        }
    }

    pub fn is_warning(&self) -> bool {
        matches!(self, HintEvent::Disabled { .. })
    }

    /// The Event's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            HintEvent::Enabled { .. } => HINTS_ENABLED,
            HintEvent::Disabled { .. } => HINTS_DISABLED,
            HintEvent::SharesEnabled { .. } => SHARES_ENABLED,
        }
    }

    /// The Event's message.
    pub fn message(&self) -> String {
        match self {
            HintEvent::Enabled { family } => {
                format!("Topology Aware Hints has been enabled, addressType: {family}")
            }
            HintEvent::Disabled { family, why } => {
                format!("{}, addressType: {family}", why.kubernetes_message())
            }
            HintEvent::SharesEnabled { family, in_zone, instead_of } => {
                let stays = (in_zone * 100.0).round();
                let auto = match instead_of {
                    Some(why) => format!("; Auto would give no hints: {why}"),
                    None => String::new(),
                };
                format!(
                    "Zone shares are in force: {stays} % of traffic is expected to stay in its zone{auto}, addressType: {family}"
                )
            }
        }
    }
}

/// `1 endpoint`, `2 endpoints`.
pub(crate) fn count(n: impl Into<u64>, noun: &str) -> String {
    match n.into() {
        1 => format!("1 {noun}"),
        n => format!("{n} {noun}s"),
    }
}

/// 0.2 as 20, 0.125 as 12.5.
pub(crate) fn percent(ratio: f64) -> f64 {
    (ratio * 1e6).round() / 1e4
}
