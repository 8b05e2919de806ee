//! One Service in one cluster, and the rounds of a controller for it.

use std::collections::BTreeMap;

use evenkeel_model::{Candidate, Endpoint, Pod, Rule, Selection, Service, Slice, Viewpoint};
use evenkeel_topology::{
    Plan, Settings, Sync,
    overload::{AutoServices, Resync},
    plan::plan,
    routing, select,
};

use crate::{Cluster, apply, pod};

#[derive(Clone, Debug)]
pub struct World {
    pub cluster: Cluster,
    pub service: Service,
    pub pods: Vec<Pod>,
    pub slices: Vec<Slice>,
    pub settings: Settings,
    pub auto_services: AutoServices,
    /// Pods ever created, by zone: names and addresses are not reused.
    made: BTreeMap<String, usize>,
}

/// The endpoints in use for one type of traffic, by the names of their Pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub rule: Rule,
    pub pods: Vec<String>,
}

/// The endpoints used by one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub cluster: Option<Reached>,
    pub local: Option<Reached>,
}

impl World {
    pub fn new(cluster: Cluster, service: Service, settings: Settings) -> Self {
        World {
            cluster,
            service,
            pods: Vec::new(),
            slices: Vec::new(),
            settings,
            auto_services: AutoServices::default(),
            made: BTreeMap::new(),
        }
    }

    /// Adds ready Pods: this many in each zone, on its nodes in turn.
    pub fn with_pods(mut self, spread: &[(&str, usize)]) -> Self {
        for &(zone, n) in spread {
            self.add_pods(zone, n);
        }
        self
    }

    /// # Panics
    /// If a zone has no nodes.
    pub fn add_pods(&mut self, zone: &str, n: usize) {
        let nodes = self.cluster.nodes_in(zone);
        for _ in 0..n {
            let number = self.made.entry(zone.to_owned()).or_default();
            *number += 1;
            let name = format!("pod-{zone}{number}");
            let node = nodes[(*number - 1) % nodes.len()];
            let serial: usize = self.made.values().sum();
            self.pods.push(pod(&name, node, serial));
        }
    }

    /// Removes the first Pods of a zone.
    pub fn remove_pods(&mut self, zone: &str, n: usize) {
        let nodes = self.cluster.nodes_in(zone);
        let mut left = n;
        self.pods.retain(|pod| {
            let goes = left > 0 && pod.node.is_some_and(|node| nodes.contains(&node));
            left -= usize::from(goes);
            !goes
        });
    }

    pub fn plan(&self) -> Plan {
        let capacity = self.cluster.measure(&self.settings);
        plan(&Sync {
            service: &self.service,
            pods: &self.pods.iter().collect::<Vec<_>>(),
            nodes: &self.cluster.table(),
            capacity: capacity.as_ref(),
            demand: &self.cluster.demand(),
            existing: &self.slices.iter().collect::<Vec<_>>(),
            populated: self.auto_services.is_populated(&self.service.key),
            settings: &self.settings,
        })
    }

    /// One round of a controller: plans, applies the plan, and records the outcome.
    pub fn sync(&mut self) -> Plan {
        let plan = self.plan();
        self.slices = apply(&plan, &self.slices, &self.service.key.name);
        self.auto_services.retain(&self.service.key, &self.service.families);
        for family in &plan.families {
            let (key, auto_services) = (&self.service.key, &mut self.auto_services);
            let of_family = |s: &&Slice| s.address_type == family.family;
            let slices = self.slices.iter().filter(of_family);
            let ready = slices.flat_map(|s| &s.endpoints).filter(|e| e.is_ready());
            let ready = u32::try_from(ready.count()).expect("few endpoints");
            auto_services.note(key, family.family, &family.hints, ready, None);
        }
        plan
    }

    /// Why the Service must be synced again after a change of nodes, if it must.
    pub fn resync(&self) -> Option<Resync> {
        let capacity = self.cluster.measure(&self.settings).ok();
        let due = self.auto_services.resync(capacity.as_ref(), &self.settings);
        due.first().map(|(_, why)| *why)
    }

    /// How many ready endpoints are hinted for each zone, by name.
    pub fn hinted(&self) -> Vec<(&str, usize)> {
        let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
        for endpoint in self.endpoints().filter(|e| e.is_ready()) {
            for &zone in endpoint.zone_hints() {
                *zones.entry(self.cluster.zone_name(zone)).or_default() += 1;
            }
        }
        zones.into_iter().collect()
    }

    /// The endpoints of all slices.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.slices.iter().flat_map(|s| &s.endpoints)
    }

    /// # Panics
    /// If the Pod has no endpoint.
    pub fn endpoint(&self, pod: &str) -> &Endpoint {
        let found = self.endpoints().find(|e| pod_name(e) == pod);
        found.unwrap_or_else(|| panic!("no endpoint for {pod}"))
    }

    /// # Panics
    /// If the Pod has no endpoint.
    pub fn endpoint_mut(&mut self, pod: &str) -> &mut Endpoint {
        let mut all = self.slices.iter_mut().flat_map(|s| &mut s.endpoints);
        let found = all.find(|e| pod_name(e) == pod);
        found.unwrap_or_else(|| panic!("no endpoint for {pod}"))
    }

    /// The endpoints that a client on `node` uses, of the Service's first family.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn select_from(&self, node: &str) -> View {
        let node = self.cluster.node(node);
        let from = Viewpoint { node: Some(node.id), zone: node.zone };
        let family = |s: &&Slice| s.address_type == self.service.families[0];
        let slices = self.slices.iter().filter(family);
        let endpoints: Vec<&Endpoint> = slices.clone().flat_map(|s| &s.endpoints).collect();
        let candidates: Vec<Candidate> = endpoints.iter().map(|&e| e.into()).collect();
        let routing = routing(&self.service, slices.clone(), &self.settings);
        let exposure = self.service.exposure;
        let selected = select(from, exposure, &candidates, routing, &self.settings);
        View {
            cluster: selected.cluster.map(|s| reached(&s, &endpoints)),
            local: selected.local.map(|s| reached(&s, &endpoints)),
        }
    }
}

fn reached(selection: &Selection, endpoints: &[&Endpoint]) -> Reached {
    let shares = selection.shares.iter();
    let mut pods: Vec<String> =
        shares.map(|share| pod_name(endpoints[share.endpoint as usize]).to_owned()).collect();
    pods.sort_unstable();
    Reached { rule: selection.rule, pods }
}

fn pod_name(endpoint: &Endpoint) -> &str {
    endpoint.target.as_ref().map_or("", |target| &target.name)
}
