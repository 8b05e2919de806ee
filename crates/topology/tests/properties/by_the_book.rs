//! The oracle for selection: the rules of KEP-4444 ("Changes within kube-proxy"), of the
//! EndpointSlice API, of zone shares and of RequireSameZone, read one by one and without haste.

use std::collections::BTreeMap;

use evenkeel_model::{Conditions, Hints, NodeId, Routing, Viewpoint, ZoneId};
use evenkeel_topology::{NodeHintRule, Settings};

/// An endpoint as a slice has it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) conditions: Conditions,
    pub(crate) node: Option<NodeId>,
    pub(crate) zone: Option<ZoneId>,
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

/// The endpoints for traffic that may leave the node, each with its part of the traffic.
pub(crate) fn cluster(
    from: Viewpoint,
    endpoints: &[Seen],
    routing: Routing<'_>,
    settings: &Settings,
) -> BTreeMap<usize, f64> {
    match routing {
        Routing::SameZoneOnly => equally(same_zone(from, endpoints)),
        Routing::IgnoreHints => equally(by_hints(from, endpoints, false, settings)),
        Routing::Hints | Routing::SharesUnusable(_) => {
            equally(by_hints(from, endpoints, true, settings))
        }
        Routing::Shares(table) => match table.row(from.zone.unwrap_or(ZoneId::EMPTY)) {
            Some(row) => by_shares(row, endpoints),
            None => equally(by_hints(from, endpoints, true, settings)),
        },
    }
}

fn equally(endpoints: Vec<usize>) -> BTreeMap<usize, f64> {
    let part = 1.0 / endpoints.len() as f64;
    endpoints.into_iter().map(|e| (e, part)).collect()
}

/// RequireSameZone: endpoints of the client's zone or none, and none for clients without a zone.
fn same_zone(from: Viewpoint, endpoints: &[Seen]) -> Vec<usize> {
    let Some(zone) = from.zone.filter(|zone| *zone != ZoneId::EMPTY) else { return Vec::new() };
    let ready = pick(endpoints, |e| e.is_ready() && e.zone == Some(zone));
    if ready.is_empty() {
        return pick(endpoints, |e| e.is_serving_terminating() && e.zone == Some(zone));
    }
    ready
}

/// Each zone of the row has its part. One without a ready endpoint passes it to the others in
/// proportion to theirs; if none has any, all ready endpoints share equally.
fn by_shares(row: &[(ZoneId, u16)], endpoints: &[Seen]) -> BTreeMap<usize, f64> {
    let ready = pick(endpoints, Seen::is_ready);
    if ready.is_empty() {
        return equally(pick(endpoints, Seen::is_serving_terminating));
    }
    let in_zone = |zone: ZoneId| -> Vec<usize> {
        let is_in = |e: &&usize| endpoints[**e].zone.unwrap_or(ZoneId::EMPTY) == zone;
        ready.iter().filter(is_in).copied().collect()
    };
    let served = row.iter().filter(|(zone, _)| !in_zone(*zone).is_empty());
    let total: f64 = served.clone().map(|(_, part)| f64::from(*part)).sum();
    let mut parts = BTreeMap::new();
    for (zone, part) in served {
        let here = in_zone(*zone);
        let each = f64::from(*part) / total / here.len() as f64;
        parts.extend(here.into_iter().map(|e| (e, each)));
    }
    if parts.is_empty() { equally(ready) } else { parts }
}

fn by_hints(
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
