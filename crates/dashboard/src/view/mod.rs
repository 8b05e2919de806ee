//! What the pages show: sentences, numbers and the geometry of figures, as values.
//!
//! Everything here is a function of its arguments: no clock, no I/O. No decision is made either:
//! figures come from `topology`'s [`explain`](evenkeel_topology::explain),
//! [`whatif`](evenkeel_topology::whatif) and [`analyze`](evenkeel_topology::analyze), as
//! `evenkeel explain`, `plan` and `analyze` print them. A page has at most [`MOST_MARKS`] elements,
//! whatever the cluster; what is left out is counted.

mod cluster;
mod figure;
mod findings;
mod flows;
pub mod mesh;
mod service;
mod what_if;
mod words;

use std::collections::BTreeSet;

use evenkeel_model::{Id, ServiceKey, Snapshot, ZoneId};
use evenkeel_topology::{
    Environment, Proxies, Server, SettingsError,
    explain::Context,
    whatif::{Scenario, TrafficProfile},
};

pub use self::{
    cluster::{ClusterPage, NodeMark, ServiceRow, Worst, ZoneLane},
    figure::{Cell, Figure, Label, Lane, MatrixRow, Ribbon, Side},
    findings::FindingView,
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
    traffic: TrafficProfile,
}

/// What all pages about one cluster are made from.
struct Scene<'a> {
    snapshot: &'a Snapshot,
    context: Context<'a>,
    scenario: Scenario<'a>,
}

// === impl Cluster ===

impl Cluster {
    /// The rules are those of the data plane in use, as with `evenkeel explain` without flags.
    pub fn new(snapshot: Snapshot, server: Server) -> Result<Cluster, SettingsError> {
        let fleet = Proxies::of(&snapshot).fleet();
        let environment = Environment::new(None, server, |_| {})?.with_fleet(fleet);
        Ok(Cluster { snapshot, environment, traffic: TrafficProfile::default() })
    }

    /// O(Services · (endpoints · zones)).
    pub fn page(&self) -> ClusterPage {
        cluster::page(&self.scene())
    }

    /// `None`: there is no such Service.
    pub fn service(&self, key: &ServiceKey, wish: &Wish) -> Option<ServicePage> {
        let state = self.snapshot.service(key)?;
        Some(service::page(&self.scene(), state, wish))
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            snapshot: &self.snapshot,
            context: Context::new(&self.snapshot, &self.environment),
            scenario: Scenario::new(&self.snapshot, &self.traffic, &self.environment),
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
