//! What another policy would do, before anyone applies it.
//!
//! For one Service and each policy: the hints it would get, where a month of traffic would go, the
//! most loaded endpoint against its fair share, what crosses zones and what that costs; and the
//! same with each zone lost in turn, its clients moved to the zones that are left. Hints come from
//! the code that gives them for real. O(policies · zones² · endpoints).

mod patch;
mod profile;
mod recommend;
mod replicas;
mod spread;

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use evenkeel_model::{Endpoint, Id, Node, Said, ServiceState, Slice, Snapshot, ZoneId};
use serde::Serialize;

use self::spread::{Clients, Spread, spread};
pub use self::{
    patch::{Patch, patch},
    profile::{Price, ProfileError, ServiceTraffic, TrafficProfile},
    recommend::{Recommendation, Why},
};
use crate::{
    Asked, Capacity, Draft, NoHints, Policy, PolicyReason, Role, Settings, Sync, auto,
    capacity::is_counted,
    explain::{EndpointName, Outcome, outcome},
    measure,
    plan::{self, NodeTable},
    policy,
};

/// What each policy would do for one Service.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecasts {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub current: Policy,
    /// Ready endpoints, as they are or as `--replicas` has them.
    pub endpoints: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    pub gb_per_month: f64,
    pub policies: Vec<Forecast>,
    pub recommendation: Recommendation,
}

/// What one policy would do.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    pub policy: Policy,
    pub hints: Said<Outcome>,
    /// Auto: how it would come out if hints were in force already, or not yet, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<Said<Outcome>>,
    #[serde(flatten)]
    pub figures: Figures,
    pub zone_lost: Vec<ZoneLost>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The part of served traffic that stays in its zone.
    pub in_zone_share: f64,
    /// The most loaded endpoint's traffic over its fair share; 1 is even.
    pub worst_load: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_endpoint: Option<EndpointName>,
    pub cross_zone_gb: f64,
    pub cost: f64,
    /// The part of traffic that finds no endpoint: policy Local, or none ready.
    pub unserved_share: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneLost {
    pub zone: Arc<str>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// The cluster as forecasts see it, shared by all Services.
#[derive(Debug)]
pub struct Scenario<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    profile: &'a TrafficProfile,
    /// The zones of ready worker nodes with their part of the CPU, sorted by name.
    zones: Vec<(Arc<str>, f64)>,
    whole: Cluster,
    /// The cluster without each of the zones.
    lost: Vec<Cluster>,
}

#[derive(Debug)]
struct Cluster {
    capacity: Result<Capacity, NoHints>,
    zones: Vec<ZoneId>,
    /// By index of the node: its zone and its part of the zone's CPU.
    nodes: Vec<Option<(usize, f64)>>,
}

// === impl Scenario ===

impl<'a> Scenario<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        profile: &'a TrafficProfile,
        settings: &'a Settings,
    ) -> Self {
        let names = &snapshot.topology.zones;
        let counted = || snapshot.nodes.iter().filter(|n| is_counted(n));
        let mut zones: Vec<ZoneId> = counted().filter_map(|n| n.zone).collect();
        zones.sort_unstable_by_key(|&zone| names.name(zone));
        zones.dedup();
        let cpu = |zone| counted().filter(|n| n.zone == Some(zone)).map(cpu).sum::<f64>();
        let total: f64 = zones.iter().map(|&zone| cpu(zone)).sum();
        let named = |zone: &ZoneId| (Arc::clone(names.name(*zone)), cpu(*zone) / total);
        let without = |lost: ZoneId| {
            let nodes = snapshot.nodes.iter().filter(|n| n.zone != Some(lost));
            let nodes: Vec<Node> = nodes.cloned().collect();
            let zones = zones.iter().copied().filter(|&z| z != lost).collect();
            Cluster::new(&nodes, zones, snapshot, settings)
        };
        Scenario {
            zones: zones.iter().map(named).collect(),
            whole: Cluster::new(&snapshot.nodes, zones.clone(), snapshot, settings),
            lost: zones.iter().map(|&zone| without(zone)).collect(),
            snapshot,
            settings,
            profile,
        }
    }

    /// Forecasts one Service, with another number of replicas if wanted.
    pub fn forecast(&self, state: &ServiceState, replicas: Option<u32>) -> Forecasts {
        let service = &state.service;
        let ready = self.endpoints(state, replicas);
        let in_force = auto::in_force(state.slices.iter().flat_map(|s| &s.endpoints));
        let gb = self.profile.of_service(&service.key.to_string(), &self.zones);
        let policies: Vec<Forecast> = Policy::ALL
            .into_iter()
            .map(|policy| self.policy(state, policy, &ready, &gb, in_force))
            .collect();
        let current = policy::asked(service, self.settings.gates).policy;
        Forecasts {
            namespace: Arc::clone(&service.key.namespace),
            service: Arc::clone(&service.key.name),
            current,
            endpoints: ready.len(),
            replicas,
            gb_per_month: gb.iter().sum(),
            recommendation: recommend::recommend(state, current, &policies, self.settings),
            policies,
        }
    }

    /// The ready endpoints of the first address family that has any.
    fn endpoints(&self, state: &ServiceState, replicas: Option<u32>) -> Vec<Endpoint> {
        let of_family = |family| {
            let slices = state.slices.iter().filter(move |s| s.address_type == family);
            slices.flat_map(|s| &s.endpoints).filter(|e| e.is_ready())
        };
        let families = state.slices.iter().map(|s| s.address_type);
        let family = families.min_by_key(|&f| (of_family(f).next().is_none(), f));
        let mut seen = std::collections::BTreeSet::new();
        let ready: Vec<Endpoint> = family
            .into_iter()
            .flat_map(of_family)
            .filter(|e| seen.insert(e.address()))
            .cloned()
            .collect();
        match replicas {
            Some(n) => replicas::scale(ready, n, &self.snapshot.nodes, &self.snapshot.topology),
            None => ready,
        }
    }

    fn policy(
        &self,
        state: &ServiceState,
        policy: Policy,
        ready: &[Endpoint],
        gb: &[f64],
        in_force: bool,
    ) -> Forecast {
        let (hints, figures) = self.run(state, policy, &self.whole, ready, gb, in_force);
        let was_hinted = matches!(hints, Outcome::SharedOut { .. });
        let lost = self.lost.iter().zip(&self.zones).enumerate();
        let zone_lost = lost
            .map(|(index, (cluster, (name, _)))| {
                let gone = self.whole.zones[index];
                let left: Vec<Endpoint> =
                    ready.iter().filter(|e| e.zone != Some(gone)).cloned().collect();
                let gb = moved(gb, index);
                let (_, figures) = self.run(state, policy, cluster, &left, &gb, was_hinted);
                ZoneLost { zone: Arc::clone(name), figures }
            })
            .collect();
        let otherwise = (policy == Policy::Auto)
            .then(|| self.hint(state, policy, &self.whole, ready, !in_force).0)
            .filter(|other| is_refusal(other) != is_refusal(&hints));
        Forecast {
            policy,
            hints: hints.into(),
            otherwise: otherwise.map(Said::from),
            figures,
            zone_lost,
        }
    }

    /// Gives hints by `policy` and spreads the traffic.
    fn run(
        &self,
        state: &ServiceState,
        policy: Policy,
        cluster: &Cluster,
        ready: &[Endpoint],
        gb: &[f64],
        in_force: bool,
    ) -> (Outcome, Figures) {
        let (outcome, hinted) = self.hint(state, policy, cluster, ready, in_force);
        let internal = state.service.exposure.internal;
        let clients = Clients { zones: &cluster.zones, gb, nodes: &cluster.nodes };
        let spread = spread(clients, &hinted, internal, self.settings);
        (outcome, self.figures(&spread, ready))
    }

    fn hint(
        &self,
        state: &ServiceState,
        policy: Policy,
        cluster: &Cluster,
        ready: &[Endpoint],
        in_force: bool,
    ) -> (Outcome, Vec<Endpoint>) {
        let slice = Slice {
            name: "forecast".into(),
            address_type: evenkeel_model::AddressType::IPv4,
            ports: Vec::new(),
            endpoints: ready.to_vec(),
            owner: None,
            labels: BTreeMap::new(),
        };
        let mut drafts = [Draft { role: Role::Unchanged, slice: Cow::Owned(slice) }];
        let sync = Sync {
            service: &state.service,
            pods: &[],
            nodes: &NodeTable::default(),
            capacity: cluster.capacity.as_ref(),
            existing: &[],
            populated: in_force,
            settings: self.settings,
        };
        let asked = Asked { policy, why: PolicyReason::NotAsked };
        let hints = plan::hint(&mut drafts, &asked, in_force, &sync);
        let [draft] = drafts;
        let hinted = draft.slice.into_owned().endpoints;
        (outcome(hints, in_force, &self.snapshot.topology), hinted)
    }

    fn figures(&self, spread: &Spread, ready: &[Endpoint]) -> Figures {
        let total = spread.served_gb() + spread.unserved_gb;
        let part = |of: f64, gb: f64| if of > 0.0 { gb / of } else { 0.0 };
        let worst = spread.worst();
        let price = &self.profile.price;
        let name = |index: usize| EndpointName::new(&ready[index], &self.snapshot.topology);
        Figures {
            in_zone_share: part(spread.served_gb(), spread.in_zone_gb),
            worst_load: worst.map_or(0.0, |(_, load)| load),
            worst_endpoint: worst.map(|(index, _)| name(index)),
            cross_zone_gb: spread.cross_zone_gb,
            cost: spread.cross_zone_gb * (price.out_per_gb + price.in_per_gb),
            unserved_share: part(total, spread.unserved_gb),
        }
    }
}

/// The traffic of zones when one is lost: its clients move to the others, in proportion.
fn moved(gb: &[f64], lost: usize) -> Vec<f64> {
    let left: f64 = gb.iter().sum::<f64>() - gb[lost];
    let others = gb.iter().enumerate().filter(|(zone, _)| *zone != lost);
    let factor = if left > 0.0 { 1.0 + gb[lost] / left } else { 0.0 };
    others.map(|(_, gb)| gb * factor).collect()
}

fn is_refusal(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused { .. })
}

/// A node that does not report CPU counts one core: better than nothing in a forecast.
fn cpu(node: &Node) -> f64 {
    if node.cpu_milli == 0 { 1000.0 } else { node.cpu_milli as f64 }
}

// === impl Cluster ===

impl Cluster {
    fn new(nodes: &[Node], zones: Vec<ZoneId>, snapshot: &Snapshot, settings: &Settings) -> Self {
        let counted = || nodes.iter().filter(|n| is_counted(n));
        let index = |node: &Node| zones.iter().position(|&zone| node.zone == Some(zone));
        let mut cpu_of = vec![0.0; zones.len()];
        for node in counted() {
            if let Some(zone) = index(node) {
                cpu_of[zone] += cpu(node);
            }
        }
        let mut clients = vec![None; snapshot.topology.nodes.bound()];
        for node in counted() {
            let zone = index(node);
            clients[node.id.index()] = zone.map(|zone| (zone, cpu(node) / cpu_of[zone]));
        }
        Cluster { capacity: measure(nodes, &snapshot.topology, settings), nodes: clients, zones }
    }
}
