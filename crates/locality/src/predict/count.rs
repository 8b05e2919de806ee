//! Endpoints counted by health, in each group and in each priority.

use std::collections::BTreeMap;

use evenkeel_model::mesh::{EndpointHealth, Group, LoadAssignment, MeshEndpoint};
use rustc_hash::FxHashSet;

use super::{DEFAULT_OVERPROVISIONING_FACTOR, Pick};

/// How many endpoints there are, by health.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Those that are not draining.
    pub endpoints: u64,
    pub healthy: u64,
    pub degraded: u64,
    pub draining: u64,
}

/// An assignment, counted.
pub(super) struct Counted {
    /// Priority 0 and those that have groups, in order.
    pub(super) levels: Vec<Level>,
    /// In the order of the assignment.
    pub(super) groups: Vec<CountedGroup>,
    /// Percent.
    pub(super) factor: u32,
    /// Endpoints that Envoy drops because an earlier one has their address.
    pub(super) n_duplicates: u64,
}

/// A priority.
pub(super) struct Level {
    pub(super) priority: u32,
    pub(super) factor: u32,
    pub(super) counts: Counts,
    /// Indices of its groups.
    pub(super) groups: Vec<usize>,
}

pub(super) struct CountedGroup {
    pub(super) weight: Option<u32>,
    pub(super) counts: Counts,
    pub(super) weights: Weights,
    /// `None` for duplicates.
    pub(super) endpoints: Vec<Option<(EndpointHealth, f64)>>,
    /// As people read it.
    pub(super) name: String,
}

/// Weights of endpoints, summed up by health.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    pub(super) all: f64,
    pub(super) healthy: f64,
    pub(super) degraded: f64,
}

// === impl Counts ===

impl Counts {
    /// Draining ones too.
    pub fn all(&self) -> u64 {
        self.endpoints + self.draining
    }

    fn add(&mut self, health: EndpointHealth) {
        self.endpoints += u64::from(health != EndpointHealth::Draining);
        match health {
            EndpointHealth::Healthy => self.healthy += 1,
            EndpointHealth::Degraded => self.degraded += 1,
            EndpointHealth::Draining => self.draining += 1,
            EndpointHealth::Unhealthy => {}
        }
    }

    fn merge(&mut self, Counts { endpoints, healthy, degraded, draining }: &Counts) {
        self.endpoints += endpoints;
        self.healthy += healthy;
        self.degraded += degraded;
        self.draining += draining;
    }
}

// === impl Counted ===

impl Counted {
    pub(super) fn new(
        assignment: &LoadAssignment,
        pick: Pick,
        health: impl Fn(&Group, &MeshEndpoint) -> EndpointHealth,
    ) -> Counted {
        let factor = assignment.overprovisioning_factor;
        let factor = factor.map_or(DEFAULT_OVERPROVISIONING_FACTOR, std::num::NonZero::get);
        let (mut seen, mut n_duplicates) = (FxHashSet::default(), 0);
        let mut levels = BTreeMap::from([(0, Level::new(0, factor))]);
        let mut groups = Vec::with_capacity(assignment.groups.len());
        for (index, group) in assignment.groups.iter().enumerate() {
            let mut counted = CountedGroup::new(group);
            for endpoint in &group.endpoints {
                let is_first = seen.insert(endpoint.address);
                n_duplicates += u64::from(!is_first);
                let counts = is_first.then(|| (health(group, endpoint), weight(endpoint, pick)));
                counted.add(counts);
            }
            let level = levels.entry(group.priority);
            let level = level.or_insert_with(|| Level::new(group.priority, factor));
            level.counts.merge(&counted.counts);
            level.groups.push(index);
            groups.push(counted);
        }
        Counted { levels: levels.into_values().collect(), groups, factor, n_duplicates }
    }
}

fn weight(endpoint: &MeshEndpoint, pick: Pick) -> f64 {
    match pick {
        Pick::Weighted | Pick::Hashed => endpoint.weight.map_or(1.0, |w| f64::from(w.get())),
        Pick::Uniform => 1.0,
    }
}

impl Level {
    fn new(priority: u32, factor: u32) -> Level {
        Level { priority, factor, counts: Counts::default(), groups: Vec::new() }
    }
}

impl CountedGroup {
    fn new(group: &Group) -> CountedGroup {
        CountedGroup {
            weight: group.weight.map(std::num::NonZero::get),
            counts: Counts::default(),
            weights: Weights::default(),
            endpoints: Vec::with_capacity(group.endpoints.len()),
            name: name(group),
        }
    }

    fn add(&mut self, endpoint: Option<(EndpointHealth, f64)>) {
        self.endpoints.push(endpoint);
        let Some((health, weight)) = endpoint else { return };
        self.counts.add(health);
        self.weights.all += weight;
        match health {
            EndpointHealth::Healthy => self.weights.healthy += weight,
            EndpointHealth::Degraded => self.weights.degraded += weight,
            EndpointHealth::Unhealthy | EndpointHealth::Draining => {}
        }
    }
}

fn name(group: &Group) -> String {
    match (group.zone.as_deref(), &*group.sub_zone) {
        (None, "") => "without locality".to_owned(),
        (None, sub_zone) => sub_zone.to_owned(),
        (Some(zone), "") => zone.to_owned(),
        (Some(zone), sub_zone) => format!("{zone}/{sub_zone}"),
    }
}
