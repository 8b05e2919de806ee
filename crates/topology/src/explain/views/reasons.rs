//! Which rule selects endpoints, and why others are excluded.

use std::{fmt, sync::Arc};

use evenkeel_model::{Endpoint, HintsIgnored, Reason, Rule, Selectable, Topology, Viewpoint};
use serde::Serialize;

use super::Client;

/// The rule that decided. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RuleReason {
    SameNode {
        node: Arc<str>,
    },
    /// Every node of the zone uses the endpoints on it, so no client uses those of the zone.
    OwnNodeEndpoints {
        zone: Arc<str>,
        nodes: usize,
    },
    SameZone {
        zone: Arc<str>,
    },
    /// Endpoints of several zones, by the zone shares of the client's zone.
    ZoneShares {
        zone: Arc<str>,
    },
    /// Policy RequireSameZone.
    RequiredZone {
        zone: Arc<str>,
    },
    /// Policy RequireSameZone, and nothing in the zone is usable.
    RequiredZoneEmpty {
        zone: Arc<str>,
    },
    /// No zone that the zone shares name has a ready endpoint.
    AllNoneInShares {
        zone: Arc<str>,
    },
    AllHintsDisabled,
    AllNoHints,
    AllHintMissing {
        without: u32,
    },
    AllClientWithoutZone,
    AllNoneForZone {
        zone: Arc<str>,
    },
    LocalOnly {
        node: Arc<str>,
    },
    ServingTerminating,
    NoLocalEndpoint,
    NoUsableEndpoint,
}

/// Why an endpoint is not used. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ExcludedReason {
    /// The endpoint is not ready.
    NotReady,
    /// The endpoint is terminating.
    Terminating,
    HintedForZones {
        zones: Vec<Arc<str>>,
    },
    HintedForNodes {
        nodes: Vec<Arc<str>>,
    },
    NotHintedForNode,
    /// Policy RequireSameZone, and the endpoint is in another zone.
    InOtherZone,
    /// The zone shares of the client's zone have no part for the endpoint's zone.
    NotInShares,
    /// The endpoint is on another node, and the traffic policy is Local.
    OnOtherNode,
}

pub(super) fn excluded_reason(
    endpoint: &Endpoint,
    rule: Rule,
    from: Viewpoint,
    topology: &Topology,
) -> ExcludedReason {
    if !endpoint.ready() {
        return if endpoint.serving_terminating() {
            ExcludedReason::Terminating
        } else {
            ExcludedReason::NotReady
        };
    }
    match rule {
        Rule::SameZone => {
            let zones = endpoint.zone_hints().iter();
            let zones = zones.map(|&zone| Arc::clone(topology.zones.name(zone))).collect();
            ExcludedReason::HintedForZones { zones }
        }
        Rule::RequiredZone | Rule::RequiredZoneEmpty => ExcludedReason::InOtherZone,
        Rule::ZoneShares => ExcludedReason::NotInShares,
        Rule::SameNode if !endpoint.has_node_hint() => ExcludedReason::NotHintedForNode,
        Rule::SameNode => {
            let nodes = endpoint.node_hints().iter().filter(|&&node| Some(node) != from.node);
            let nodes = nodes.map(|&node| Arc::clone(topology.nodes.name(node))).collect();
            ExcludedReason::HintedForNodes { nodes }
        }
        _ => ExcludedReason::OnOtherNode,
    }
}

pub(super) fn rule_reason(rule: Rule, client: &Client, local: bool) -> RuleReason {
    let zone = || client.zone().unwrap_or_else(|| "".into());
    let node = || match client {
        Client::Node { node, .. } => Arc::clone(node),
        _ => "".into(),
    };
    match rule {
        Rule::SameNode => RuleReason::SameNode { node: node() },
        Rule::SameZone => RuleReason::SameZone { zone: zone() },
        Rule::LocalReady => RuleReason::LocalOnly { node: node() },
        Rule::ServingTerminating => RuleReason::ServingTerminating,
        Rule::ZoneShares => RuleReason::ZoneShares { zone: zone() },
        Rule::RequiredZone => RuleReason::RequiredZone { zone: zone() },
        Rule::RequiredZoneEmpty => RuleReason::RequiredZoneEmpty { zone: zone() },
        Rule::Nothing if local => RuleReason::NoLocalEndpoint,
        Rule::Nothing => RuleReason::NoUsableEndpoint,
        Rule::All(HintsIgnored::GateOff) => RuleReason::AllHintsDisabled,
        Rule::All(HintsIgnored::NoHints) => RuleReason::AllNoHints,
        Rule::All(HintsIgnored::MissingOn { endpoints }) => {
            RuleReason::AllHintMissing { without: endpoints }
        }
        Rule::All(HintsIgnored::ClientWithoutZone) => RuleReason::AllClientWithoutZone,
        Rule::All(HintsIgnored::NoneInShares) => RuleReason::AllNoneInShares { zone: zone() },
        Rule::All(HintsIgnored::NoneForZone) => RuleReason::AllNoneForZone { zone: zone() },
    }
}

// === impl RuleReason ===

impl Reason for RuleReason {}

impl fmt::Display for RuleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleReason::SameNode { node } => write!(f, "endpoints hinted for node {node}"),
            RuleReason::OwnNodeEndpoints { nodes: 1, .. } => {
                write!(f, "its only node uses the endpoints on it")
            }
            RuleReason::OwnNodeEndpoints { nodes, .. } => {
                write!(f, "each of its {nodes} nodes uses the endpoints on it")
            }
            RuleReason::SameZone { zone } => write!(f, "endpoints hinted for {zone}"),
            RuleReason::ZoneShares { zone } => write!(f, "endpoints by the zone shares of {zone}"),
            RuleReason::RequiredZone { zone } => {
                write!(f, "endpoints in {zone} only (RequireSameZone)")
            }
            RuleReason::RequiredZoneEmpty { zone } if zone.is_empty() => {
                write!(f, "none: the client's node has no zone (RequireSameZone)")
            }
            RuleReason::RequiredZoneEmpty { zone } => {
                write!(f, "none: no endpoint in {zone} is ready (RequireSameZone)")
            }
            RuleReason::AllNoneInShares { zone } => write!(
                f,
                "all ready endpoints: none is in a zone that the zone shares of {zone} name"
            ),
            RuleReason::AllHintsDisabled => write!(f, "all ready endpoints: feature gates are off"),
            RuleReason::AllNoHints => write!(f, "all ready endpoints: none has a hint"),
            RuleReason::AllHintMissing { without } => {
                write!(f, "all ready endpoints: {without} of them without a zone hint")
            }
            RuleReason::AllClientWithoutZone => {
                write!(f, "all ready endpoints: the client's node has no zone")
            }
            RuleReason::AllNoneForZone { zone } => {
                write!(f, "all ready endpoints: none is hinted for {zone}")
            }
            RuleReason::LocalOnly { node } => write!(f, "endpoints on node {node} only (Local)"),
            RuleReason::ServingTerminating => {
                write!(f, "no endpoint is ready: terminating endpoints that still serve")
            }
            RuleReason::NoLocalEndpoint => write!(f, "none: no endpoint on the node (Local)"),
            RuleReason::NoUsableEndpoint => write!(f, "none: no endpoint is ready"),
        }
    }
}

// === impl ExcludedReason ===

impl Reason for ExcludedReason {}

impl fmt::Display for ExcludedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExcludedReason::NotReady => write!(f, "not ready"),
            ExcludedReason::Terminating => write!(f, "terminating"),
            ExcludedReason::HintedForZones { zones } => {
                write!(f, "hinted for {}", zones.join(", "))
            }
            ExcludedReason::HintedForNodes { nodes } => {
                write!(f, "hinted for node {}", nodes.join(", "))
            }
            ExcludedReason::NotHintedForNode => write!(f, "not hinted for this node"),
            ExcludedReason::InOtherZone => write!(f, "in another zone"),
            ExcludedReason::NotInShares => write!(f, "in zones without a part of the zone shares"),
            ExcludedReason::OnOtherNode => write!(f, "on another node"),
        }
    }
}
