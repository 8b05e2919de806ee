//! The oracle for selection: the rules of KEP-4444 ("Changes within kube-proxy") and of the
//! EndpointSlice API, read one by one and without haste.

use evenkeel_model::{Conditions, Hints, NodeId, Viewpoint, ZoneId};
use evenkeel_topology::{NodeHintRule, Settings};

/// An endpoint as a slice has it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) conditions: Conditions,
    pub(crate) node: Option<NodeId>,
    pub(crate) hints: Option<Hints>,
}

impl Seen {
    pub(crate) fn is_ready(&self) -> bool {
        self.conditions.ready != Some(false)
    }

    pub(crate) fn is_serving_terminating(&self) -> bool {
        self.conditions.serving.unwrap_or(self.is_ready())
            && self.conditions.terminating == Some(true)
    }

    fn for_zones(&self) -> &[ZoneId] {
        self.hints.as_ref().map_or(&[], |hints| hints.zones.as_slice())
    }

    fn for_nodes(&self) -> &[NodeId] {
        self.hints.as_ref().map_or(&[], |hints| hints.nodes.as_slice())
    }
}

/// The endpoints for traffic that may leave the node.
pub(crate) fn cluster(
    from: Viewpoint,
    endpoints: &[Seen],
    hints_count: bool,
    settings: &Settings,
) -> Vec<usize> {
    let ready = pick(endpoints, Seen::is_ready);
    if ready.is_empty() {
        return pick(endpoints, Seen::is_serving_terminating);
    }
    if !hints_count {
        return ready;
    }
    let all_ready = |has: fn(&Seen) -> bool| ready.iter().all(|&e| has(&endpoints[e]));
    let for_node = pick(endpoints, |e| {
        e.is_ready() && from.node.is_some_and(|node| e.for_nodes().contains(&node))
    });
    let obeyed = settings.gates.prefer_same_traffic_distribution
        && (settings.node_hint_rule == NodeHintRule::AnyForThisNode
            || all_ready(|e| !e.for_nodes().is_empty()));
    if obeyed && !for_node.is_empty() {
        return for_node;
    }
    let zone = from.zone.unwrap_or(ZoneId::EMPTY);
    let for_zone = pick(endpoints, |e| e.is_ready() && e.for_zones().contains(&zone));
    if all_ready(|e| !e.for_zones().is_empty()) && !for_zone.is_empty() {
        return for_zone;
    }
    ready
}

/// The endpoints for traffic that must stay on the node.
pub(crate) fn local(from: Viewpoint, endpoints: &[Seen]) -> Vec<usize> {
    let here = |e: &Seen| from.node.is_some() && e.node == from.node;
    let ready = pick(endpoints, |e| e.is_ready() && here(e));
    if ready.is_empty() {
        return pick(endpoints, |e| e.is_serving_terminating() && here(e));
    }
    ready
}

fn pick(endpoints: &[Seen], wanted: impl Fn(&Seen) -> bool) -> Vec<usize> {
    (0..endpoints.len()).filter(|&e| wanted(&endpoints[e])).collect()
}
