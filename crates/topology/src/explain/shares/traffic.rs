//! Where the traffic of each client zone goes when its nodes apply zone shares and when they don't, and
//! the worst that a mixture of both does to an endpoint.
//!
//! Let d_z be the demand of client zone z, a_z(e) the part of its traffic that endpoint e gets from nodes
//! that apply zone shares, and u_z(e) the part it gets from nodes that follow hints. If the nodes of a set
//! S of zones apply zone shares, e gets Σ_{z ∈ S} d_z a_z(e) + Σ_{z ∉ S} d_z u_z(e). Each zone adds to
//! that by itself, so the worst set for e holds the zones with a_z(e) > u_z(e), and
//! max_e Σ_z d_z max(a_z(e), u_z(e)) is the worst load over all sets, exactly. Where only some nodes of a
//! zone apply zone shares, its part lies between a_z(e) and u_z(e): no roll-out node by node is worse.
//! O(zones · endpoints).

use std::sync::Arc;

use evenkeel_model::{Candidate, Routing, Selectable, Selection, Viewpoint, ZoneId, ZoneShares};
use serde::Serialize;

use crate::{NodeHintRule, Settings, demand::ZoneDemand, explain::Subject, select::select_cluster};

/// What becomes of the expected traffic of a Service.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficFigures {
    /// The part of the traffic that stays in its zone.
    pub in_zone_share: f64,
    /// The load of the most loaded endpoint over its fair part, 1/n.
    pub max_load: f64,
    /// The zone of that endpoint, the first by name; empty if it has none.
    pub max_load_zone: Arc<str>,
}

/// The worst load of an endpoint while some nodes apply zone shares and others follow hints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Adoption {
    /// The zones whose nodes apply zone shares in the worst case.
    pub aware_zones: Vec<Arc<str>>,
    pub max_load: f64,
    /// The zone of the most loaded endpoint, the first by name; empty if it has none.
    pub max_load_zone: Arc<str>,
}

/// The traffic of all client zones to the endpoints of one group.
pub(super) struct Traffic<'a> {
    subject: &'a Subject<'a>,
    candidates: &'a [Candidate],
    n_ready: usize,
    clients: Vec<Client<'a>>,
}

struct Client<'a> {
    demand: &'a ZoneDemand,
    /// On nodes that apply zone shares.
    aware: Selection,
    /// On nodes that follow hints.
    unaware: Selection,
}

/// Which of the two ways the nodes of a zone go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Aware,
    Unaware,
}

// === impl Traffic ===

impl<'a> Traffic<'a> {
    /// `None` while no endpoint is ready or no client zone is known.
    pub(super) fn new(
        subject: &'a Subject<'a>,
        candidates: &'a [Candidate],
        shares: Option<&ZoneShares>,
    ) -> Option<Self> {
        let n_ready = candidates.iter().filter(|c| c.ready()).count();
        let hints = subject.routing_by_hints();
        let with_shares = match (shares, hints) {
            (Some(table), Routing::Hints) => Routing::Shares(table),
            (_, hints) => hints,
        };
        let kube_proxy =
            Settings { node_hint_rule: NodeHintRule::AllHaveOne, ..subject.settings.clone() };
        let client = |demand: &'a ZoneDemand| {
            let from = Viewpoint { node: None, zone: Some(demand.zone) };
            Client {
                demand,
                aware: select_cluster(from, candidates, with_shares, subject.settings),
                unaware: select_cluster(from, candidates, hints, &kube_proxy),
            }
        };
        let zones = subject.demand.zones();
        (n_ready > 0 && !zones.is_empty()).then(|| Traffic {
            subject,
            candidates,
            n_ready,
            clients: zones.iter().map(client).collect(),
        })
    }

    /// If all nodes go one way.
    pub(super) fn figures(&self, way: Way) -> TrafficFigures {
        let mut loads = vec![0.0; self.candidates.len()];
        let mut in_zone_share = 0.0;
        for client in &self.clients {
            for (endpoint, part) in client.parts(way) {
                loads[endpoint] += part;
                let is_near = self.candidates[endpoint].zone() == client.demand.zone;
                in_zone_share += if is_near { part } else { 0.0 };
            }
        }
        let (worst, max_load) = self.worst(&loads);
        TrafficFigures { in_zone_share, max_load, max_load_zone: self.zone_name(worst) }
    }

    pub(super) fn worst_adoption(&self) -> Adoption {
        let mut loads = vec![0.0; self.candidates.len()];
        let mut more = vec![0.0; self.candidates.len()];
        for client in &self.clients {
            client.parts(Way::Unaware).for_each(|(endpoint, part)| loads[endpoint] += part);
            client.parts(Way::Aware).for_each(|(endpoint, part)| more[endpoint] = part);
            client.parts(Way::Unaware).for_each(|(endpoint, part)| more[endpoint] -= part);
            for (load, more) in loads.iter_mut().zip(&mut more) {
                *load += more.max(0.0);
                *more = 0.0;
            }
        }
        let (worst, max_load) = self.worst(&loads);
        let is_aware = |client: &&Client<'_>| {
            let part = |way| client.parts(way).find(|(endpoint, _)| *endpoint == worst);
            let part = |way| part(way).map_or(0.0, |(_, part)| part);
            part(Way::Aware) > part(Way::Unaware) + 1e-12
        };
        let aware = self.clients.iter().filter(is_aware);
        Adoption {
            aware_zones: aware.map(|client| Arc::clone(&client.demand.name)).collect(),
            max_load,
            max_load_zone: self.zone_name(worst),
        }
    }

    /// Which part of the traffic of one client zone goes to which zone, in the order of their names.
    pub(super) fn of_zone(&self, zone: ZoneId, way: Way) -> Vec<(Arc<str>, f64)> {
        let mut parts: Vec<(ZoneId, f64)> = Vec::new();
        let client = self.clients.iter().find(|client| client.demand.zone == zone);
        for (endpoint, part) in client.into_iter().flat_map(|client| client.shares(way)) {
            let zone = self.candidates[endpoint].zone();
            match parts.iter_mut().find(|(known, _)| *known == zone) {
                Some((_, sum)) => *sum += part,
                None => parts.push((zone, part)),
            }
        }
        let names = &self.subject.snapshot.topology.zones;
        let mut parts: Vec<(Arc<str>, f64)> =
            parts.into_iter().map(|(zone, part)| (Arc::clone(names.name(zone)), part)).collect();
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        parts
    }

    /// The endpoint with the largest load, and that load over the fair part. Of equals the one in the
    /// first zone by name.
    fn worst(&self, loads: &[f64]) -> (usize, f64) {
        let names = &self.subject.snapshot.topology.zones;
        let name = |endpoint: usize| names.name(self.candidates[endpoint].zone());
        let mut worst = 0;
        for endpoint in 1..loads.len() {
            let more = loads[endpoint] - loads[worst];
            if more > 1e-9 || (more > -1e-9 && name(endpoint) < name(worst)) {
                worst = endpoint;
            }
        }
        (worst, loads[worst] * self.n_ready as f64)
    }

    fn zone_name(&self, endpoint: usize) -> Arc<str> {
        let zone = self.candidates[endpoint].zone();
        Arc::clone(self.subject.snapshot.topology.zones.name(zone))
    }
}

// === impl Client ===

impl Client<'_> {
    /// The endpoints with their parts of this zone's traffic.
    fn shares(&self, way: Way) -> impl Iterator<Item = (usize, f64)> + '_ {
        let selection = match way {
            Way::Aware => &self.aware,
            Way::Unaware => &self.unaware,
        };
        let total = selection.total_weight() as f64;
        let part = move |weight: u32| f64::from(weight) / total;
        selection.shares.iter().map(move |s| (s.endpoint as usize, part(s.weight)))
    }

    /// The endpoints with their parts of all traffic.
    fn parts(&self, way: Way) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.shares(way).map(|(endpoint, part)| (endpoint, part * self.demand.part))
    }
}
