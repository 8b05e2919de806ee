//! By which rule endpoints are chosen, and why others are not.

use std::{fmt, sync::Arc};

use evenkeel_model::{Endpoint, Reason, Selectable, Topology, Viewpoint};
use serde::Serialize;

use super::Client;
use crate::{Rule, select::HintsIgnored};

/// The rule that decided. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RuleReason {
    SameNode {
        node: Arc<str>,
    },
    /// All nodes of the zone have endpoints of their own: nobody uses the zone's.
    EachNodeItsOwn {
        zone: Arc<str>,
        nodes: usize,
    },
    SameZone {
        zone: Arc<str>,
    },
    AllHintsOff,
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
    NothingLocal,
    NothingUsable,
}

/// Why an endpoint is not used. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum LeftOutReason {
    NotReady,
    Terminating,
    HintedForZones { zones: Vec<Arc<str>> },
    HintedForNodes { nodes: Vec<Arc<str>> },
    NotHintedForNode,
    OnOtherNode,
}

pub(super) fn left_out_reason(
    endpoint: &Endpoint,
    rule: Rule,
    from: Viewpoint,
    topology: &Topology,
) -> LeftOutReason {
    if !endpoint.ready() {
        return if endpoint.serving_terminating() {
            LeftOutReason::Terminating
        } else {
            LeftOutReason::NotReady
        };
    }
    match rule {
        Rule::SameZone => {
            let zones = endpoint.zone_hints().iter();
            let zones = zones.map(|&zone| Arc::clone(topology.zones.name(zone))).collect();
            LeftOutReason::HintedForZones { zones }
        }
        Rule::SameNode if !endpoint.has_node_hint() => LeftOutReason::NotHintedForNode,
        Rule::SameNode => {
            let nodes = endpoint.node_hints().iter().filter(|&&node| Some(node) != from.node);
            let nodes = nodes.map(|&node| Arc::clone(topology.nodes.name(node))).collect();
            LeftOutReason::HintedForNodes { nodes }
        }
        _ => LeftOutReason::OnOtherNode,
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
        Rule::Nothing if local => RuleReason::NothingLocal,
        Rule::Nothing => RuleReason::NothingUsable,
        Rule::All(HintsIgnored::GateOff) => RuleReason::AllHintsOff,
        Rule::All(HintsIgnored::NoHints) => RuleReason::AllNoHints,
        Rule::All(HintsIgnored::MissingOn { endpoints }) => {
            RuleReason::AllHintMissing { without: endpoints }
        }
        Rule::All(HintsIgnored::ClientWithoutZone) => RuleReason::AllClientWithoutZone,
        Rule::All(HintsIgnored::NoneForZone) => RuleReason::AllNoneForZone { zone: zone() },
    }
}

// === impl RuleReason ===

impl Reason for RuleReason {}

impl fmt::Display for RuleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleReason::SameNode { node } => write!(f, "endpoints hinted for node {node}"),
            RuleReason::EachNodeItsOwn { nodes: 1, .. } => {
                write!(f, "its one node uses endpoints of its own")
            }
            RuleReason::EachNodeItsOwn { nodes, .. } => {
                write!(f, "each of its {nodes} nodes uses endpoints of its own")
            }
            RuleReason::SameZone { zone } => write!(f, "endpoints hinted for {zone}"),
            RuleReason::AllHintsOff => write!(f, "all ready endpoints: feature gates are off"),
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
                write!(f, "none is ready: endpoints that still serve while terminating")
            }
            RuleReason::NothingLocal => write!(f, "nothing: no endpoint on the node (Local)"),
            RuleReason::NothingUsable => write!(f, "nothing: no endpoint is ready"),
        }
    }
}

// === impl LeftOutReason ===

impl Reason for LeftOutReason {}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOutReason::NotReady => write!(f, "not ready"),
            LeftOutReason::Terminating => write!(f, "terminating"),
            LeftOutReason::HintedForZones { zones } => write!(f, "hinted for {}", zones.join(", ")),
            LeftOutReason::HintedForNodes { nodes } => {
                write!(f, "hinted for node {}", nodes.join(", "))
            }
            LeftOutReason::NotHintedForNode => write!(f, "not hinted for this node"),
            LeftOutReason::OnOtherNode => write!(f, "on another node"),
        }
    }
}
