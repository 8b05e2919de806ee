//! The viewpoints and kinds of traffic to explain: clients of a zone see traffic that may leave their
//! node, clients on a node that which may not.

use std::sync::Arc;

use evenkeel_model::{NodeId, TrafficPolicy, Viewpoint, ZoneId};
use rustc_hash::FxHashSet;

use super::{Client, Traffic, scene::Scene};
use crate::explain::{From, Subject};

/// Nodes that get a view, unless others are requested: a view lists all endpoints, which would be
/// too much for thousands of nodes.
const NODES: usize = 10;

/// One view to make.
pub(super) struct Look {
    pub client: Client,
    pub from: Viewpoint,
    pub traffic: Traffic,
    /// The traffic must stay on its node.
    pub local: bool,
}

#[derive(Default)]
pub(super) struct Looks {
    pub looks: Vec<Look>,
    /// Nodes with their own endpoints that get no view.
    pub not_shown: usize,
}

/// Clients, and where they are.
type Located = (Client, Viewpoint);

pub(super) fn looks(subject: &Subject<'_>, scene: &Scene<'_>, requested: &From) -> Looks {
    let mut all = Looks::default();
    for (traffic, local) in traffics(subject) {
        let (mut viewpoints, nodes) = if local {
            (Vec::new(), local_nodes(subject, scene, requested))
        } else {
            cluster_viewpoints(subject, scene, requested)
        };
        all.not_shown = all.not_shown.max(nodes.len().saturating_sub(NODES));
        viewpoints.extend(nodes.into_iter().take(NODES).map(|node| of_node(node, subject)));
        if local && !(is_limited(requested) && requested.zones.is_empty()) {
            viewpoints.push((Client::OtherNodes, Viewpoint::default()));
        }
        viewpoints.extend(requested_nodes(subject, requested));
        let look = |(client, from)| Look { client, from, traffic, local };
        all.looks.extend(viewpoints.into_iter().map(look));
    }
    all
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

/// Zones, and the nodes of those where each node uses the endpoints on it.
fn cluster_viewpoints(
    subject: &Subject<'_>,
    scene: &Scene<'_>,
    requested: &From,
) -> (Vec<Located>, Vec<NodeId>) {
    let topology = &subject.snapshot.topology;
    let zones =
        if is_limited(requested) { requested_zones(subject, requested) } else { subject.zones() };
    let of_zone = |&zone: &ZoneId| {
        let client = Client::Zone { zone: Arc::clone(topology.zones.name(zone)) };
        (client, Viewpoint { node: None, zone: Some(zone) })
    };
    let mut viewpoints: Vec<Located> = zones.iter().map(of_zone).collect();
    let unzoned = || subject.snapshot.nodes.iter().any(|n| n.zone.is_none() && !n.control_plane);
    if !is_limited(requested) && (viewpoints.is_empty() || unzoned()) {
        viewpoints.push((Client::NoZone, Viewpoint::default()));
    }
    let nodes = zones.iter().flat_map(|&zone| scene.nodes_of_full(zone)).copied();
    (viewpoints, nodes.collect())
}

/// The nodes that have endpoints, of the requested zones if there are any.
fn local_nodes(subject: &Subject<'_>, scene: &Scene<'_>, requested: &From) -> Vec<NodeId> {
    let topology = &subject.snapshot.topology;
    let zones: FxHashSet<ZoneId> = requested_zones(subject, requested).into_iter().collect();
    let is_meant = |node: &NodeId| {
        let zone = subject.nodes.get(*node).and_then(|n| n.zone);
        !is_limited(requested) || zone.is_some_and(|zone| zones.contains(&zone))
    };
    let with_endpoints = scene.endpoints.iter().filter_map(|e| e.node).filter(is_meant);
    let mut nodes: Vec<NodeId> = with_endpoints.collect();
    nodes.sort_unstable_by_key(|&node| topology.nodes.name(node));
    nodes.dedup();
    nodes
}

fn is_limited(requested: &From) -> bool {
    !(requested.zones.is_empty() && requested.nodes.is_empty())
}

fn requested_zones(subject: &Subject<'_>, requested: &From) -> Vec<ZoneId> {
    let names = &subject.snapshot.topology.zones;
    requested.zones.iter().filter_map(|zone| names.find(zone)).collect()
}

fn requested_nodes(subject: &Subject<'_>, requested: &From) -> Vec<Located> {
    let names = &subject.snapshot.topology.nodes;
    let nodes = requested.nodes.iter().filter_map(|node| names.find(node));
    nodes.map(|node| of_node(node, subject)).collect()
}

fn of_node(node: NodeId, subject: &Subject<'_>) -> Located {
    let topology = &subject.snapshot.topology;
    let zone = subject.nodes.get(node).and_then(|n| n.zone);
    let client = Client::Node {
        node: Arc::clone(topology.nodes.name(node)),
        zone: zone.map(|zone| Arc::clone(topology.zones.name(zone))),
    };
    (client, Viewpoint { node: Some(node), zone })
}
