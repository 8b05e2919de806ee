//! Which share of the traffic each priority, group and endpoint gets from Envoy.
//!
//! Envoy divides traffic in three steps; all but the third are divisions of whole numbers, rounded down.
//!
//! 1. *Priorities* (`load.rs`). DRAINING endpoints don't count. A priority is available by
//!    factor × healthy / all, at most 100. In order, each takes min(what is left, its availability
//!    × 100 / their sum, at most 100); what healthy endpoints can't take goes to DEGRADED ones in the same
//!    way, and a rounding remainder to the first that has availability.
//! 2. *Panic*. Only if that sum is below 100: a priority whose healthy and degraded endpoints together are
//!    below the panic threshold uses all its endpoints, and if all priorities do, the load follows
//!    the number of endpoints.
//! 3. *Groups and endpoints* (`spread.rs`). With weighted groups, a group counts by weight ×
//!    min(1, factor / 100 × healthy / all in it); otherwise, in panic, and if no group of a
//!    priority has a weight, all its endpoints form one group. Endpoints count by their weight.
//!
//! Hashing load balancers differ in the last step: a group's weight does not shrink with its health, it
//! counts in panic too, a priority without any weights answers 503, and degraded endpoints are never used.
//! Random ignores the weights of endpoints.
//!
//! Sources: `conformance/locality`, and measurements of Envoy 1.40.0, which `testkit/tests/envoy.rs`
//! repeats. Shares of ring hash and Maglev are those of a table without bounds; real ones differ by
//! some points. Time is O(n log n) in endpoints; the number of a priority costs nothing.

mod aggregate;
mod count;
mod load;
mod reason;
mod spread;

#[cfg(test)]
mod tests;

use evenkeel_model::mesh::{
    Cluster, EndpointHealth, Group, LoadAssignment, LoadBalancer, MeshEndpoint,
};

use self::count::Counted;
pub use self::{
    aggregate::{Aggregate, Member, predict_aggregate},
    count::Counts,
    reason::ShareReason,
};

/// Percent, of a cluster that says nothing else.
pub const DEFAULT_PANIC_THRESHOLD: u8 = 50;
/// Percent, of an assignment that says nothing else.
pub const DEFAULT_OVERPROVISIONING_FACTOR: u32 = 140;

/// What a cluster says about dividing traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Balancing {
    /// Weights of groups count.
    pub locality_weighted: bool,
    /// Percent; 0 switches panic off.
    pub panic_threshold: u8,
    pub pick: Pick,
}

/// How a load balancer picks an endpoint, as far as shares depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pick {
    /// Round robin and least request: by weight.
    #[default]
    Weighted,
    /// Random: each alike.
    Uniform,
    /// Ring hash and Maglev, if the keys of requests are spread evenly.
    Hashed,
}

/// Shares of all traffic, from 0 to 1. With `errors` they sum up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Priority 0 and those that have groups, in order.
    pub priorities: Vec<PriorityShare>,
    /// Of each group of the assignment, in its order.
    pub groups: Vec<GroupShare>,
    /// Answered with 503 because no endpoint may be used.
    pub errors: f64,
    pub reasons: Vec<ShareReason>,
}

/// What a priority has and gets.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorityShare {
    pub priority: u32,
    /// What its endpoints get.
    pub share: f64,
    /// Percent that is sent to it, including what it answers with 503.
    pub load: u32,
    /// Percent of all traffic that its healthy endpoints can take.
    pub availability: u32,
    /// Health is ignored.
    pub panic: bool,
    pub counts: Counts,
}

/// What a group gets.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupShare {
    pub share: f64,
    /// Of each endpoint of the group, in its order.
    pub endpoints: Vec<f64>,
}

/// Predicts shares from the health that the assignment states.
pub fn predict(assignment: &LoadAssignment, balancing: &Balancing) -> Prediction {
    predict_with(assignment, balancing, |_, endpoint| endpoint.health)
}

/// Predicts shares while every endpoint of this zone is unhealthy.
pub fn predict_without_zone(
    assignment: &LoadAssignment,
    balancing: &Balancing,
    zone: &str,
) -> Prediction {
    predict_with(assignment, balancing, |group, endpoint| {
        let place = endpoint.zone.as_deref().or(group.zone.as_deref());
        if place == Some(zone) { EndpointHealth::Unhealthy } else { endpoint.health }
    })
}

/// Predicts shares from any other opinion on the health of endpoints.
pub fn predict_with(
    assignment: &LoadAssignment,
    balancing: &Balancing,
    health: impl Fn(&Group, &MeshEndpoint) -> EndpointHealth,
) -> Prediction {
    let counted = Counted::new(assignment, balancing.pick, health);
    let load = load::divide(&counted.levels, balancing.panic_threshold);
    spread::spread(&counted, balancing, &load)
}

// === impl Balancing ===

impl Default for Balancing {
    fn default() -> Self {
        Balancing {
            locality_weighted: false,
            panic_threshold: DEFAULT_PANIC_THRESHOLD,
            pick: Pick::Weighted,
        }
    }
}

impl From<&Cluster> for Balancing {
    fn from(cluster: &Cluster) -> Self {
        Balancing {
            locality_weighted: cluster.locality_weighted,
            panic_threshold: cluster.panic_threshold.unwrap_or(DEFAULT_PANIC_THRESHOLD),
            pick: Pick::from(&cluster.load_balancer),
        }
    }
}

impl From<&LoadBalancer> for Pick {
    fn from(balancer: &LoadBalancer) -> Self {
        match balancer {
            LoadBalancer::RoundRobin | LoadBalancer::LeastRequest(_) => Pick::Weighted,
            LoadBalancer::Random => Pick::Uniform,
            LoadBalancer::RingHash(_) | LoadBalancer::Maglev(_) => Pick::Hashed,
        }
    }
}

// === impl Prediction ===

impl Prediction {
    /// What all endpoints together get.
    pub fn share(&self) -> f64 {
        self.priorities.iter().map(|priority| priority.share).sum()
    }
}
