//! From where to look, and at which traffic: clients of a zone see traffic that may leave their
//! node, clients on a node that which may not.

use std::sync::Arc;

use evenkeel_model::{NodeId, TrafficPolicy, Viewpoint, ZoneId};
use rustc_hash::FxHashSet;

use super::{Client, Traffic, scene::Scene};
use crate::explain::{From, Subject};

/// So many nodes are looked from, unless others are asked for: a view names all endpoints, and one
/// for each of thousands of nodes helps nobody.
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
    /// Nodes with endpoints of their own beyond those looked from.
    pub not_shown: usize,
}

type Place = (Client, Viewpoint);

pub(super) fn looks(subject: &Subject<'_>, scene: &Scene<'_>, wanted: &From) -> Looks {
    let mut all = Looks::default();
    for (traffic, local) in traffics(subject) {
        let (mut places, nodes) = if local {
            (Vec::new(), local_nodes(subject, scene, wanted))
        } else {
            cluster_places(subject, scene, wanted)
        };
        all.not_shown = all.not_shown.max(nodes.len().saturating_sub(NODES));
        places.extend(nodes.into_iter().take(NODES).map(|node| node_place(node, subject)));
        if local && !(is_wish(wanted) && wanted.zones.is_empty()) {
            places.push((Client::OtherNodes, Viewpoint::default()));
        }
        places.extend(wanted_nodes(subject, wanted));
        let look = |(client, from)| Look { client, from, traffic, local };
        all.looks.extend(places.into_iter().map(look));
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

/// Zones, and the nodes of those where each node uses endpoints of its own.
fn cluster_places(
    subject: &Subject<'_>,
    scene: &Scene<'_>,
    wanted: &From,
) -> (Vec<Place>, Vec<NodeId>) {
    let topology = &subject.snapshot.topology;
    let zones = if is_wish(wanted) { wanted_zones(subject, wanted) } else { subject.zones() };
    let zone_place = |&zone: &ZoneId| {
        let client = Client::Zone { zone: Arc::clone(topology.zones.name(zone)) };
        (client, Viewpoint { node: None, zone: Some(zone) })
    };
    let mut places: Vec<Place> = zones.iter().map(zone_place).collect();
    let unzoned = || subject.snapshot.nodes.iter().any(|n| n.zone.is_none() && !n.control_plane);
    if !is_wish(wanted) && (places.is_empty() || unzoned()) {
        places.push((Client::NoZone, Viewpoint::default()));
    }
    let nodes = zones.iter().flat_map(|&zone| scene.nodes_of_full(zone)).copied();
    (places, nodes.collect())
}

/// The nodes that have endpoints, of the wanted zones if there is a wish.
fn local_nodes(subject: &Subject<'_>, scene: &Scene<'_>, wanted: &From) -> Vec<NodeId> {
    let topology = &subject.snapshot.topology;
    let zones: FxHashSet<ZoneId> = wanted_zones(subject, wanted).into_iter().collect();
    let is_meant = |node: &NodeId| {
        let zone = subject.nodes.get(*node).and_then(|n| n.zone);
        !is_wish(wanted) || zone.is_some_and(|zone| zones.contains(&zone))
    };
    let with_endpoints = scene.endpoints.iter().filter_map(|e| e.node).filter(is_meant);
    let mut nodes: Vec<NodeId> = with_endpoints.collect();
    nodes.sort_unstable_by_key(|&node| topology.nodes.name(node));
    nodes.dedup();
    nodes
}

fn is_wish(wanted: &From) -> bool {
    !(wanted.zones.is_empty() && wanted.nodes.is_empty())
}

fn wanted_zones(subject: &Subject<'_>, wanted: &From) -> Vec<ZoneId> {
    let names = &subject.snapshot.topology.zones;
    wanted.zones.iter().filter_map(|zone| names.find(zone)).collect()
}

fn wanted_nodes(subject: &Subject<'_>, wanted: &From) -> Vec<Place> {
    let names = &subject.snapshot.topology.nodes;
    let nodes = wanted.nodes.iter().filter_map(|node| names.find(node));
    nodes.map(|node| node_place(node, subject)).collect()
}

fn node_place(node: NodeId, subject: &Subject<'_>) -> Place {
    let topology = &subject.snapshot.topology;
    let zone = subject.nodes.get(node).and_then(|n| n.zone);
    let client = Client::Node {
        node: Arc::clone(topology.nodes.name(node)),
        zone: zone.map(|zone| Arc::clone(topology.zones.name(zone))),
    };
    (client, Viewpoint { node: Some(node), zone })
}
