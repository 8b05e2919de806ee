//! How the load of a priority is divided over its groups and endpoints: step 3 at the head of
//! `predict`.

use evenkeel_model::mesh::EndpointHealth;

use super::{
    Balancing, GroupShare, Pick, Prediction, PriorityShare,
    count::{Counted, CountedGroup, Counts, Level},
    load::{Load, Loads},
    reason,
};

/// What one unit of an endpoint's weight gets in a group.
#[derive(Clone, Copy, Debug, Default)]
struct Rates {
    any: f64,
    healthy: f64,
    degraded: f64,
}

/// Which endpoints of a priority are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In panic.
    All,
    Healthy,
    Degraded,
}

/// Divides these loads, one for each level.
pub(super) fn spread(counted: &Counted, balancing: &Balancing, loads: &Loads) -> Prediction {
    let mut rates = vec![Rates::default(); counted.groups.len()];
    let mut reasons = reason::of_loads(counted, balancing, loads);
    let mut errors = 0;
    for (level, load) in counted.levels.iter().zip(&loads.levels) {
        for (source, percent) in sources(load, balancing.pick) {
            let divided = divide(counted, level, balancing, source);
            for (&index, rate) in level.groups.iter().zip(&divided) {
                rates[index].add(source, rate * f64::from(percent) / 100.0);
            }
            if divided.iter().all(|&rate| rate == 0.0) {
                errors += percent;
                reasons.push(reason::of_errors(level, balancing, percent));
            }
        }
    }
    let groups = counted.groups.iter().zip(&rates);
    let groups: Vec<GroupShare> = groups.map(|(group, rates)| share_of(group, rates)).collect();
    let priorities = priorities(counted, loads, &groups);
    Prediction { priorities, groups, errors: f64::from(errors) / 100.0, reasons }
}

/// What a load is for. Hashing load balancers send that of degraded endpoints to healthy ones.
fn sources(load: &Load, pick: Pick) -> impl Iterator<Item = (Source, u32)> {
    let parts = match (load.panic, pick) {
        (true, _) => [(Source::All, load.sum()), (Source::Degraded, 0)],
        (false, Pick::Hashed) => [(Source::Healthy, load.sum()), (Source::Degraded, 0)],
        (false, _) => [(Source::Healthy, load.healthy), (Source::Degraded, load.degraded)],
    };
    parts.into_iter().filter(|&(_, percent)| percent > 0)
}

/// The part of the level's load that one unit of weight gets in each of its groups; all zero if no
/// endpoint may be used.
fn divide(counted: &Counted, level: &Level, balancing: &Balancing, source: Source) -> Vec<f64> {
    let groups = || level.groups.iter().map(|&index| &counted.groups[index]);
    let is_hashed = balancing.pick == Pick::Hashed;
    let weighted = balancing.locality_weighted && (is_hashed || source != Source::All);
    let mut scores: Vec<f64> = match weighted {
        true => groups().map(|g| score(g, counted.factor, source, is_hashed)).collect(),
        false => groups().map(|g| source.weight(g)).collect(),
    };
    if weighted && !is_hashed && scores.iter().all(|&score| score == 0.0) {
        scores = groups().map(|g| source.weight(g)).collect();
    }
    let total: f64 = scores.iter().sum();
    let rate = |(group, score): (&CountedGroup, f64)| match score > 0.0 {
        true => score / total / source.weight(group),
        false => 0.0,
    };
    groups().zip(scores).map(rate).collect()
}

/// What a group counts beside the other groups of its priority.
fn score(group: &CountedGroup, factor: u32, source: Source, is_hashed: bool) -> f64 {
    let weight = f64::from(group.weight.unwrap_or(0));
    if source.weight(group) == 0.0 {
        return 0.0;
    }
    if is_hashed { weight } else { weight * remaining(factor, &group.counts, source) }
}

/// The part of its weight that a group keeps.
fn remaining(factor: u32, counts: &Counts, source: Source) -> f64 {
    let usable = if source == Source::Degraded { counts.degraded } else { counts.healthy };
    if counts.endpoints == 0 {
        return 0.0;
    }
    (f64::from(factor) / 100.0 * usable as f64 / counts.endpoints as f64).min(1.0)
}

/// The part of its weight that a group keeps by its healthy endpoints.
pub(super) fn remaining_weight(factor: u32, counts: &Counts) -> f64 {
    remaining(factor, counts, Source::Healthy)
}

fn share_of(group: &CountedGroup, rates: &Rates) -> GroupShare {
    let endpoints = group
        .endpoints
        .iter()
        .map(|endpoint| endpoint.map_or(0.0, |(health, weight)| weight * rates.of(health)));
    let endpoints: Vec<f64> = endpoints.collect();
    GroupShare { share: endpoints.iter().sum(), endpoints }
}

fn priorities(counted: &Counted, loads: &Loads, groups: &[GroupShare]) -> Vec<PriorityShare> {
    let levels = counted.levels.iter().zip(&loads.levels);
    let share = |(level, load): (&Level, &Load)| PriorityShare {
        priority: level.priority,
        share: level.groups.iter().map(|&index| groups[index].share).sum(),
        load: load.sum(),
        availability: load.availability,
        panic: load.panic,
        counts: level.counts,
    };
    levels.map(share).collect()
}

// === impl Rates ===

impl Rates {
    fn add(&mut self, source: Source, rate: f64) {
        match source {
            Source::All => self.any += rate,
            Source::Healthy => self.healthy += rate,
            Source::Degraded => self.degraded += rate,
        }
    }

    fn of(&self, health: EndpointHealth) -> f64 {
        self.any
            + match health {
                EndpointHealth::Healthy => self.healthy,
                EndpointHealth::Degraded => self.degraded,
                EndpointHealth::Unhealthy | EndpointHealth::Draining => 0.0,
            }
    }
}

// === impl Source ===

impl Source {
    /// The weight of those endpoints of a group that are used.
    fn weight(self, group: &CountedGroup) -> f64 {
        match self {
            Source::All => group.weights.all,
            Source::Healthy => group.weights.healthy,
            Source::Degraded => group.weights.degraded,
        }
    }
}
