//! What views of one group of ports share, computed once.

use std::sync::Arc;

use evenkeel_model::{Candidate, Endpoint, NodeId, Routing, Rule, Selectable, Viewpoint, ZoneId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Client, Look,
    ports::{Group, endpoints},
};
use crate::{PortRouting, Profile, explain::Subject, select::select_cluster};

pub(super) struct Scene<'a> {
    pub ports: Vec<Arc<str>>,
    pub endpoints: Vec<&'a Endpoint>,
    pub candidates: Vec<Candidate>,
    routing: PortRouting,
    /// By zone, the nodes that use endpoints of their own for traffic that may leave them.
    own: FxHashMap<ZoneId, OwnNodes>,
}

/// Nodes of a zone that use endpoints of their own.
#[derive(Clone, Default)]
pub(super) struct OwnNodes {
    pub nodes: Vec<NodeId>,
    /// There is no other node in the zone.
    pub are_all: bool,
}

// === impl Scene ===

impl<'a> Scene<'a> {
    pub(super) fn new(subject: &Subject<'a>, group: Group<'a>) -> Self {
        let Group { ports, places, slices } = group;
        let service = &subject.state.service;
        let routing = match (subject.routing, subject.routing_by_hints()) {
            (Profile::Evenkeel, _) => PortRouting::new(service, slices, &places, subject.settings),
            // Kubernetes' proxy knows neither zone shares nor policies of Evenkeel's own.
            (Profile::Kubernetes, Routing::Hints) => PortRouting::Hints,
            (Profile::Kubernetes, _) => PortRouting::IgnoreHints,
        };
        let endpoints: Vec<&Endpoint> = endpoints(&places).collect();
        let candidates: Vec<Candidate> = endpoints.iter().map(|&e| Candidate::from(e)).collect();
        let mut scene = Scene { ports, endpoints, candidates, routing, own: FxHashMap::default() };
        scene.own = scene.by_zone(subject);
        scene
    }

    /// What clients of these ports go by.
    pub(super) fn routing(&self) -> Routing<'_> {
        self.routing.routing()
    }

    /// The nodes that the view of a zone does not hold for.
    pub(super) fn own_nodes(&self, look: &Look) -> OwnNodes {
        let is_zone = matches!(look.client, Client::Zone { .. }) && !look.local;
        let zone = look.from.zone.filter(|_| is_zone);
        zone.and_then(|zone| self.own.get(&zone)).cloned().unwrap_or_default()
    }

    /// The nodes of a zone where every node uses the endpoints on it.
    pub(super) fn nodes_of_full(&self, zone: ZoneId) -> &[NodeId] {
        let own = self.own.get(&zone).filter(|own| own.are_all);
        own.map_or(&[], |own| &own.nodes)
    }

    fn by_zone(&self, subject: &Subject<'_>) -> FxHashMap<ZoneId, OwnNodes> {
        let hinted = self.hinted_nodes(subject);
        let mut zones: FxHashMap<ZoneId, OwnNodes> = FxHashMap::default();
        let zoned = subject.snapshot.nodes.iter().filter_map(|n| Some((n.id, n.zone?)));
        for (node, zone) in zoned.filter(|_| !hinted.is_empty()) {
            let start = || OwnNodes { nodes: Vec::new(), are_all: true };
            let own = zones.entry(zone).or_insert_with(start);
            if hinted.contains(&node) {
                own.nodes.push(node);
            } else {
                own.are_all = false;
            }
        }
        zones
    }

    /// The nodes that ready endpoints are hinted for, if such hints are obeyed. Whether they are
    /// does not depend on the node, so selection runs for one of them only.
    fn hinted_nodes(&self, subject: &Subject<'_>) -> FxHashSet<NodeId> {
        let ready = self.endpoints.iter().filter(|e| e.ready());
        let mut nodes: FxHashSet<NodeId> = ready.flat_map(|e| e.node_hints()).copied().collect();
        let obeyed = nodes.iter().next().is_some_and(|&node| {
            let from = Viewpoint { node: Some(node), zone: None };
            let (candidates, settings) = (&self.candidates, subject.settings);
            select_cluster(from, candidates, self.routing(), settings).rule == Rule::SameNode
        });
        if !obeyed {
            nodes.clear();
        }
        nodes
    }
}
