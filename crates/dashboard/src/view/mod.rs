//! What the pages show: sentences, numbers and the geometry of figures, as values.
//!
//! Everything here is a function of its arguments: no clock, no I/O. No decision is made either:
//! figures come from `topology`'s [`explain`](evenkeel_topology::explain),
//! [`whatif`](evenkeel_topology::whatif) and [`analyze`](evenkeel_topology::analyze), as
//! `evenkeel explain`, `plan` and `analyze` print them. A page has at most [`MOST_MARKS`] elements,
//! whatever the cluster; what is left out is counted.

mod cluster;
pub mod fairness;
mod figure;
mod findings;
mod flows;
mod measured;
pub mod mesh;
mod service;
mod summary;
mod traffic;
mod what_if;
mod words;

use std::{collections::BTreeSet, sync::Arc};

use evenkeel_model::{Id, ServiceKey, ServiceState, Snapshot, ZoneId};
use evenkeel_topology::{
    Environment, Fleet, Proxies, Server, SettingsError,
    explain::Context,
    whatif::{Scenario, TrafficProfile},
};

use self::summary::Summary;
pub use self::{
    cluster::{ClusterPage, NodeMark, ServiceRow, Worst, ZoneLane},
    figure::{Cell, Figure, Label, Lane, MatrixRow, Ribbon, Side},
    findings::FindingView,
    measured::{Connections, Measured},
    service::{FamilyRow, FlowRow, Line, ServicePage},
    what_if::{Bar, Choice, MOST_REPLICAS, Outcome, WhatIf, Wish},
    words::{Basis, Number},
};

/// Elements of a page: rows, shapes, labels.
pub const MOST_MARKS: usize = 1500;

/// A cluster at one moment, with the rules that hold for it.
#[derive(Debug)]
pub struct Cluster {
    snapshot: Snapshot,
    environment: Environment,
    fleet: Fleet,
    traffic: TrafficProfile,
    /// Of each Service, in the order of the snapshot.
    summaries: Vec<Arc<Summary>>,
    /// Of these, those that the cluster before did not have.
    renewed: usize,
    measured: Arc<Measured>,
}

/// What all pages about one cluster are made from.
struct Scene<'a> {
    snapshot: &'a Snapshot,
    context: Context<'a>,
    scenario: Scenario<'a>,
    measured: &'a Measured,
}

// === impl Cluster ===

impl Cluster {
    /// The rules are those of the data plane in use, as with `evenkeel explain` without flags.
    ///
    /// O(Services · (endpoints · zones)).
    pub fn new(snapshot: Snapshot, server: Server) -> Result<Cluster, SettingsError> {
        let cluster = Cluster::bare(snapshot, server)?;
        let summaries: Vec<_> = {
            let scene = cluster.scene();
            let summary = |state| Arc::new(Summary::new(&scene, state));
            cluster.snapshot.states().map(summary).collect()
        };
        Ok(Cluster { renewed: summaries.len(), summaries, ..cluster })
    }

    /// The cluster a moment later. What it says is what [`new`](Self::new) would say; only Services whose
    /// state is another object, or all if what they share differs, are explained anew.
    pub fn next(&self, snapshot: Snapshot, server: Server) -> Result<Cluster, SettingsError> {
        let cluster = Cluster::bare(snapshot, server)?;
        let shares_all = self.has_same_surroundings(&cluster);
        let mut before = self.snapshot.services.iter().zip(&self.summaries).peekable();
        let mut kept = |state: &Arc<ServiceState>| {
            let key = &state.service.key;
            while before.next_if(|(known, _)| known.service.key < *key).is_some() {}
            let (_, summary) = before.next_if(|(known, _)| Arc::ptr_eq(known, state))?;
            let is_right = shares_all && self.sees_same_labels(&cluster, state);
            is_right.then(|| Arc::clone(summary))
        };
        let kept: Vec<_> = cluster.snapshot.services.iter().map(&mut kept).collect();
        let renewed = kept.iter().filter(|kept| kept.is_none()).count();
        let summaries = {
            let scene = cluster.scene();
            let summary = |(state, kept): (_, Option<_>)| {
                kept.unwrap_or_else(|| Arc::new(Summary::new(&scene, state)))
            };
            cluster.snapshot.states().zip(kept).map(summary).collect()
        };
        Ok(Cluster { summaries, renewed, ..cluster })
    }

    /// With what proxies counted.
    pub fn with_measured(self, measured: Arc<Measured>) -> Cluster {
        Cluster { measured, ..self }
    }

    /// How many Services were explained for it.
    pub fn renewed(&self) -> usize {
        self.renewed
    }

    /// O(Services + nodes).
    pub fn page(&self) -> ClusterPage {
        cluster::page(&self.scene(), &self.summaries)
    }

    /// `None`: there is no such Service.
    pub fn service(&self, key: &ServiceKey, wish: &Wish) -> Option<ServicePage> {
        let state = self.snapshot.service(key)?;
        Some(service::page(&self.scene(), state, wish))
    }

    fn bare(snapshot: Snapshot, server: Server) -> Result<Cluster, SettingsError> {
        let fleet = Proxies::of(&snapshot).fleet();
        let environment = Environment::new(None, server, |_| {})?.with_fleet(fleet);
        let (traffic, summaries) = (TrafficProfile::default(), Vec::new());
        let measured = Arc::default();
        Ok(Cluster { snapshot, environment, fleet, traffic, summaries, renewed: 0, measured })
    }

    /// Whether all that Services have in common is the same.
    fn has_same_surroundings(&self, next: &Cluster) -> bool {
        self.snapshot.nodes == next.snapshot.nodes
            && self.snapshot.cordoned == next.snapshot.cordoned
            && self.snapshot.has_pods == next.snapshot.has_pods
            && self.environment.server == next.environment.server
            && self.fleet == next.fleet
    }

    /// Labels of other Pods are named where a selector matches none.
    fn sees_same_labels(&self, next: &Cluster, state: &ServiceState) -> bool {
        let of = |cluster: &Cluster| {
            let labels = cluster.snapshot.pod_labels.get(&state.service.key.namespace);
            labels.map(Arc::as_ptr)
        };
        !state.pods.is_empty() || state.service.selector.is_none() || of(self) == of(next)
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            snapshot: &self.snapshot,
            context: Context::new(&self.snapshot, &self.environment),
            scenario: Scenario::new(&self.snapshot, &self.traffic, &self.environment),
            measured: &self.measured,
        }
    }
}

// === impl Scene ===

impl Scene<'_> {
    /// The zones of nodes, by name.
    fn zones(&self) -> BTreeSet<&str> {
        let names = &self.snapshot.topology.zones;
        let zones = self.snapshot.nodes.iter().filter_map(|node| node.zone);
        let zones = zones.filter(|zone| zone.index() != ZoneId::EMPTY.index());
        zones.map(|zone| &**names.name(zone)).collect()
    }
}
