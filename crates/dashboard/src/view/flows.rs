//! Where the clients of each place send their traffic, from the views of an explanation.
//!
//! Nothing is computed here but sums: which endpoints clients use, with which part, is
//! [`explain`](evenkeel_topology::explain)'s.

use std::{collections::BTreeMap, sync::Arc};

use evenkeel_topology::explain::{Client, Explanation, FamilyView, RuleReason, Traffic, View};

use super::words::zone_label;

/// Clients that see the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clients {
    pub label: String,
    /// Empty: none, or not known.
    pub zone: Arc<str>,
    /// They are all that the zone has, not those of a node.
    pub is_zone: bool,
    /// Their part of the CPU, which stands for their part of the traffic. `None`: not known.
    pub part: Option<f64>,
    /// As `explain -o json` has it.
    pub in_zone: Option<f64>,
    pub rule: String,
    /// Nodes of the zone that use endpoints of their own instead.
    pub other_nodes: usize,
    /// To the endpoints of each zone, by name.
    pub to: Vec<Part>,
}

/// A part of the traffic of some clients.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub to: Target,
    pub share: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// Endpoints of this zone; empty: endpoints without a zone.
    Zone(Arc<str>),
    /// Each node's own endpoints, in the zone of the clients.
    OwnNodes(Arc<str>),
}

/// The clients of the first family and the first set of ports: where there are several, the same Pods
/// are behind them.
pub(super) fn clients(explanation: &Explanation) -> Vec<Clients> {
    let family = explanation.families.iter().find(|family| family.ready > 0);
    let Some(family) = family.or(explanation.families.first()) else {
        return Vec::new();
    };
    let views = of_first_ports(family);
    views.map(|view| clients_of(view, explanation)).collect()
}

fn of_first_ports(family: &FamilyView) -> impl Iterator<Item = &View> {
    let first = family.views.first().map(|view| &view.ports);
    let views = family.views.iter().filter(move |view| Some(&view.ports) == first);
    views.filter(|view| matches!(view.traffic, Traffic::All | Traffic::Internal))
}

fn clients_of(view: &View, explanation: &Explanation) -> Clients {
    let (label, zone) = match &view.client {
        Client::Zone { zone } => (zone_label(zone), Arc::clone(zone)),
        Client::NoZone => (zone_label(""), Arc::default()),
        Client::Node { node, zone } => {
            (format!("node {}", super::words::shown(node)), zone.clone().unwrap_or_default())
        }
        Client::OtherNodes => ("other nodes".to_owned(), Arc::default()),
    };
    let is_zone = matches!(view.client, Client::Zone { .. });
    let known = explanation.zones.iter().find(|known| is_zone && known.name == zone);
    Clients {
        label,
        part: known.map(|zone| zone.ratio),
        is_zone,
        in_zone: view.in_zone_share,
        rule: view.rule.message.clone(),
        other_nodes: view.except_nodes.len(),
        to: parts(view, &zone),
        zone,
    }
}

fn parts(view: &View, zone: &Arc<str>) -> Vec<Part> {
    if let RuleReason::OwnNodeEndpoints { .. } = view.rule.reason {
        return vec![Part { to: Target::OwnNodes(Arc::clone(zone)), share: 1.0 }];
    }
    let mut zones: BTreeMap<Arc<str>, f64> = BTreeMap::new();
    for used in &view.uses {
        *zones.entry(used.endpoint.zone.clone().unwrap_or_default()).or_default() += used.share;
    }
    let part = |(zone, share)| Part { to: Target::Zone(zone), share };
    zones.into_iter().map(part).collect()
}

// === impl Clients ===

impl Clients {
    /// Whether this part leaves the zone; `None`: one of the zones is not known.
    pub(super) fn crosses(&self, part: &Part) -> Option<bool> {
        match &part.to {
            Target::OwnNodes(_) => Some(false),
            Target::Zone(to) if to.is_empty() || self.zone.is_empty() => None,
            Target::Zone(to) => Some(*to != self.zone),
        }
    }
}

// === impl Target ===

impl Target {
    pub(super) fn label(&self) -> String {
        match self {
            Target::Zone(zone) if zone.is_empty() => "no zone".to_owned(),
            Target::Zone(zone) => zone_label(zone),
            Target::OwnNodes(zone) => format!("own nodes in {}", zone_label(zone)),
        }
    }
}
