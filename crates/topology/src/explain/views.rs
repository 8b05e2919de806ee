//! What clients in one place use, what they leave out, and by which rule.

use std::{fmt, sync::Arc};

use evenkeel_model::{
    Candidate, Endpoint, NodeId, Reason, Said, Selectable, Selection, Topology, TrafficPolicy,
    Viewpoint, ZoneId,
};
use serde::Serialize;

use super::{EndpointName, From, Subject};
use crate::{
    Rule, policy,
    select::{HintsIgnored, select},
};

/// Clients that see the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from")]
pub enum Client {
    /// On any node of the zone that has no endpoint of its own hinted for it.
    Zone {
        zone: Arc<str>,
    },
    /// On a node without a zone label.
    NoZone,
    Node {
        node: Arc<str>,
        zone: Option<Arc<str>>,
    },
    /// On any node that has no endpoint.
    OtherNodes,
}

/// The kind of traffic that a view is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Traffic {
    /// Internal and external alike.
    All,
    Internal,
    External,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    #[serde(flatten)]
    pub client: Client,
    pub traffic: Traffic,
    pub rule: Said<RuleReason>,
    pub uses: Vec<Use>,
    pub leaves_out: Vec<LeftOut>,
    /// The part of the traffic that stays in the client's zone; `None` when that has no meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_zone_share: Option<f64>,
    /// Nodes of the zone that use endpoints of their own instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_nodes: Vec<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Use {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub weight: u32,
    /// Its part of the traffic of these clients; all shares sum to one.
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    #[serde(flatten)]
    pub endpoint: EndpointName,
    pub why: Said<LeftOutReason>,
}

/// The rule that decided. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum RuleReason {
    SameNode { node: Arc<str> },
    SameZone { zone: Arc<str> },
    AllHintsOff,
    AllNoHints,
    AllHintMissing { without: u32 },
    AllClientWithoutZone,
    AllNoneForZone { zone: Arc<str> },
    LocalOnly { node: Arc<str> },
    ServingTerminating,
    NothingLocal,
    NothingUsable,
}

/// Why an endpoint is not used. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum LeftOutReason {
    NotReady,
    Terminating,
    HintedForZones { zones: Vec<Arc<str>> },
    HintedForNodes { nodes: Vec<Arc<str>> },
    NotHintedForNode,
    OnOtherNode,
}

/// The views that `from` asks for; without a wish, each zone, or under policy Local each node that
/// has endpoints.
pub(super) fn views(subject: &Subject<'_>, endpoints: &[&Endpoint], from: &From) -> Vec<View> {
    let candidates: Vec<Candidate> = endpoints.iter().map(|&e| Candidate::from(e)).collect();
    let clients = if from.zones.is_empty() && from.nodes.is_empty() {
        all_clients(subject, endpoints)
    } else {
        wanted_clients(subject, from)
    };
    let traffics = traffics(subject);
    clients
        .iter()
        .flat_map(|client| traffics.iter().map(move |traffic| (client, *traffic)))
        .filter(|(client, (_, local))| *local || !matches!(client.0, Client::OtherNodes))
        .map(|(client, traffic)| view(subject, endpoints, &candidates, client, traffic))
        .collect()
}

type Place = (Client, Viewpoint);

fn all_clients(subject: &Subject<'_>, endpoints: &[&Endpoint]) -> Vec<Place> {
    let topology = &subject.snapshot.topology;
    let mut clients: Vec<Place> =
        subject.zones().into_iter().map(|zone| zone_client(zone, topology)).collect();
    let unzoned = subject.snapshot.nodes.iter().any(|n| n.zone.is_none() && !n.control_plane);
    if unzoned || clients.is_empty() {
        clients.push((Client::NoZone, Viewpoint::default()));
    }
    if subject.state.service.exposure.uses_local() {
        if !subject.state.service.exposure.uses_cluster() {
            clients.clear();
        }
        let mut nodes: Vec<NodeId> = endpoints.iter().filter_map(|e| e.node).collect();
        nodes.sort_unstable_by_key(|&node| topology.nodes.name(node));
        nodes.dedup();
        clients.extend(nodes.into_iter().map(|node| node_client(node, subject)));
        clients.push((Client::OtherNodes, Viewpoint::default()));
    }
    clients
}

fn wanted_clients(subject: &Subject<'_>, from: &From) -> Vec<Place> {
    let topology = &subject.snapshot.topology;
    let zones = from.zones.iter().filter_map(|name| topology.zones.find(name));
    let nodes = from.nodes.iter().filter_map(|name| topology.nodes.find(name));
    let zones = zones.map(|zone| zone_client(zone, topology));
    zones.chain(nodes.map(|node| node_client(node, subject))).collect()
}

fn zone_client(zone: ZoneId, topology: &Topology) -> Place {
    let client = Client::Zone { zone: Arc::clone(topology.zones.name(zone)) };
    (client, Viewpoint { node: None, zone: Some(zone) })
}

fn node_client(node: NodeId, subject: &Subject<'_>) -> Place {
    let topology = &subject.snapshot.topology;
    let known = subject.snapshot.nodes.iter().find(|n| n.id == node);
    let zone = known.and_then(|n| n.zone);
    let client = Client::Node {
        node: Arc::clone(topology.nodes.name(node)),
        zone: zone.map(|zone| Arc::clone(topology.zones.name(zone))),
    };
    (client, Viewpoint { node: Some(node), zone })
}

/// The kinds of traffic that differ, each with whether it must stay on its node.
fn traffics(subject: &Subject<'_>) -> Vec<(Traffic, bool)> {
    let exposure = subject.state.service.exposure;
    let local = |policy| policy == TrafficPolicy::Local;
    match exposure.external {
        None => vec![(Traffic::All, local(exposure.internal))],
        Some(external) if external == exposure.internal => vec![(Traffic::All, local(external))],
        Some(external) => vec![
            (Traffic::Internal, local(exposure.internal)),
            (Traffic::External, local(external)),
        ],
    }
}

fn view(
    subject: &Subject<'_>,
    endpoints: &[&Endpoint],
    candidates: &[Candidate],
    (client, viewpoint): &Place,
    (traffic, local): (Traffic, bool),
) -> View {
    let topology = &subject.snapshot.topology;
    let service = &subject.state.service;
    let hints_count = policy::hints_count(service, subject.settings.gates);
    let selected = select(*viewpoint, service.exposure, candidates, hints_count, subject.settings);
    let selection = if local { selected.local } else { selected.cluster };
    let selection = selection.unwrap_or(Selection { shares: Vec::new(), rule: Rule::Nothing });
    let total = selection.total_weight() as f64;
    let uses: Vec<Use> = selection
        .shares
        .iter()
        .map(|share| Use {
            endpoint: EndpointName::new(endpoints[share.endpoint as usize], topology),
            weight: share.weight,
            share: f64::from(share.weight) / total,
        })
        .collect();
    let in_zone = |u: &&Use| zone_name(client).is_some() && u.endpoint.zone == zone_name(client);
    // Summing from zero: the sum of nothing would be -0.
    let near = uses.iter().filter(in_zone).fold(0.0, |sum, u| sum + u.share);
    let rule = selection.rule;
    View {
        in_zone_share: (zone_name(client).is_some() && !uses.is_empty()).then_some(near),
        leaves_out: left_out(endpoints, &selection, *viewpoint, topology),
        except_nodes: except_nodes(subject, candidates, client, hints_count && !local),
        rule: rule_reason(rule, client, local).into(),
        client: client.clone(),
        traffic,
        uses,
    }
}

fn zone_name(client: &Client) -> Option<Arc<str>> {
    match client {
        Client::Zone { zone } => Some(Arc::clone(zone)),
        Client::Node { zone, .. } => zone.clone(),
        Client::NoZone | Client::OtherNodes => None,
    }
}

/// Nodes of a zone view that use endpoints of their own.
fn except_nodes(
    subject: &Subject<'_>,
    candidates: &[Candidate],
    client: &Client,
    node_hints: bool,
) -> Vec<Arc<str>> {
    let Client::Zone { zone } = client else {
        return Vec::new();
    };
    let topology = &subject.snapshot.topology;
    let in_zone = subject.snapshot.nodes.iter().filter(|n| n.zone == topology.zones.find(zone));
    let uses_own = |node: NodeId| {
        let from = Viewpoint { node: Some(node), zone: topology.zones.find(zone) };
        let hinted = candidates.iter().any(|c| c.ready() && c.is_for_node(node));
        hinted && {
            let settings = subject.settings;
            crate::select::select_cluster(from, candidates, node_hints, settings).rule
                == Rule::SameNode
        }
    };
    let own = in_zone.filter(|n| node_hints && uses_own(n.id));
    own.map(|n| Arc::clone(topology.nodes.name(n.id))).collect()
}

fn left_out(
    endpoints: &[&Endpoint],
    selection: &Selection<Rule>,
    from: Viewpoint,
    topology: &Topology,
) -> Vec<LeftOut> {
    let mut used = vec![false; endpoints.len()];
    for share in &selection.shares {
        used[share.endpoint as usize] = true;
    }
    (0..endpoints.len())
        .filter(|&i| !used[i])
        .map(|i| LeftOut {
            endpoint: EndpointName::new(endpoints[i], topology),
            why: left_out_reason(endpoints[i], selection.rule, from, topology).into(),
        })
        .collect()
}

fn left_out_reason(
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

fn rule_reason(rule: Rule, client: &Client, local: bool) -> RuleReason {
    let zone = || zone_name(client).unwrap_or_else(|| "".into());
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
