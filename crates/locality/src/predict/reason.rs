//! Why shares are what they are.

use std::fmt;

use evenkeel_model::Reason;
use serde::Serialize;

use super::{
    Balancing, Pick,
    count::{Counted, Level},
    load::{Load, Loads},
    spread::remaining_weight,
};

/// Why a priority, a group or an endpoint gets its share. Codes and fields are API; loads and
/// availabilities are percentages of all traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code")]
#[non_exhaustive]
pub enum ShareReason {
    /// Enough endpoints are healthy for all traffic.
    PriorityAvailable { priority: u32, healthy: u64, endpoints: u64, load: u32 },
    /// Too few endpoints are healthy: the rest of the traffic goes to later priorities.
    PrioritySpills { priority: u32, healthy: u64, endpoints: u64, availability: u32, load: u32 },
    /// Earlier priorities take all traffic.
    PriorityNotNeeded { priority: u32 },
    /// Only draining endpoints are left.
    PriorityDraining { priority: u32, draining: u64 },
    /// Degraded endpoints take what healthy ones can't.
    DegradedEndpointsUsed { priority: u32, degraded: u64, load: u32 },
    /// All priorities together can't take all traffic; their loads are scaled up.
    LoadsScaledUp { available: u32 },
    /// Too few endpoints can be used: health is ignored.
    PriorityInPanic { priority: u32, usable: u64, endpoints: u64, threshold: u8 },
    /// Every priority is in panic: load follows the number of endpoints.
    TotalPanic,
    /// A part of its endpoints is not healthy, and so its weight counts less.
    GroupWeightReduced { priority: u32, group: String, weight: u32, remaining: f64 },
    /// Other groups of the priority have a weight, and this one does not.
    GroupWithoutWeight { priority: u32, group: String },
    /// Ring hash and Maglev find no endpoint, because weights of groups count and none has one.
    NoWeightsToHash { priority: u32, load: u32 },
    /// Requests are answered with 503.
    NoUsableEndpoint { priority: u32, load: u32 },
    /// Their addresses are in the assignment already; Envoy keeps the first of each.
    DuplicateEndpoints { endpoints: u64 },
}

/// Everything but errors, in the order of priorities.
pub(super) fn of_loads(
    counted: &Counted,
    balancing: &Balancing,
    loads: &Loads,
) -> Vec<ShareReason> {
    let mut reasons = Vec::new();
    if counted.n_duplicates > 0 {
        reasons.push(ShareReason::DuplicateEndpoints { endpoints: counted.n_duplicates });
    }
    reasons.extend(of_whole(loads));
    for (level, load) in counted.levels.iter().zip(&loads.levels) {
        of_level(level, load, balancing, &mut reasons);
        if balancing.locality_weighted && load.sum() > 0 {
            of_groups(counted, level, load, balancing.pick, &mut reasons);
        }
    }
    reasons
}

/// What concerns all priorities together.
pub(super) fn of_whole(loads: &Loads) -> Vec<ShareReason> {
    match loads.total {
        _ if loads.total_panic => vec![ShareReason::TotalPanic],
        available @ 1..100 => vec![ShareReason::LoadsScaledUp { available }],
        _ => vec![],
    }
}

fn of_level(level: &Level, load: &Load, balancing: &Balancing, reasons: &mut Vec<ShareReason>) {
    let (priority, counts) = (level.priority, &level.counts);
    let (healthy, endpoints, availability) = (counts.healthy, counts.endpoints, load.availability);
    if endpoints == 0 && counts.draining > 0 {
        reasons.push(ShareReason::PriorityDraining { priority, draining: counts.draining });
    }
    if load.panic && counts.all() > 0 && load.sum() > 0 {
        let usable = healthy + counts.degraded;
        let threshold = balancing.panic_threshold;
        reasons.push(ShareReason::PriorityInPanic { priority, usable, endpoints, threshold });
    }
    if load.panic || endpoints == 0 {
        return;
    }
    let load_of_healthy = load.healthy;
    reasons.push(if availability < 100 {
        ShareReason::PrioritySpills {
            priority,
            healthy,
            endpoints,
            availability,
            load: load_of_healthy,
        }
    } else if load.sum() == 0 {
        ShareReason::PriorityNotNeeded { priority }
    } else {
        ShareReason::PriorityAvailable { priority, healthy, endpoints, load: load_of_healthy }
    });
    if load.degraded > 0 && balancing.pick != Pick::Hashed {
        let (degraded, load) = (counts.degraded, load.degraded);
        reasons.push(ShareReason::DegradedEndpointsUsed { priority, degraded, load });
    }
}

fn of_groups(
    counted: &Counted,
    level: &Level,
    load: &Load,
    pick: Pick,
    reasons: &mut Vec<ShareReason>,
) {
    let groups = || level.groups.iter().map(|&index| &counted.groups[index]);
    if (load.panic && pick != Pick::Hashed) || groups().all(|group| group.weight.is_none()) {
        return;
    }
    let priority = level.priority;
    for group in groups().filter(|group| group.counts.endpoints > 0) {
        let name = || group.name.clone();
        let remaining = remaining_weight(counted.factor, &group.counts);
        match group.weight {
            None => reasons.push(ShareReason::GroupWithoutWeight { priority, group: name() }),
            Some(weight) if remaining < 1.0 && pick != Pick::Hashed => {
                let remaining = f64::from(weight) * remaining;
                let group = name();
                reasons.push(ShareReason::GroupWeightReduced {
                    priority,
                    group,
                    weight,
                    remaining,
                });
            }
            Some(_) => {}
        }
    }
}

/// Of a level of which no endpoint may be used.
pub(super) fn of_errors(level: &Level, balancing: &Balancing, load: u32) -> ShareReason {
    let priority = level.priority;
    let is_hashed = balancing.pick == Pick::Hashed && balancing.locality_weighted;
    if is_hashed && level.counts.healthy > 0 {
        return ShareReason::NoWeightsToHash { priority, load };
    }
    ShareReason::NoUsableEndpoint { priority, load }
}

// === impl ShareReason ===

impl Reason for ShareReason {}

impl fmt::Display for ShareReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShareReason::PriorityAvailable { priority, healthy, endpoints, load } => {
                write!(f, "priority {priority} has {healthy} of {endpoints} endpoints healthy, enough for all traffic; it takes {load} %")
            }
            ShareReason::PrioritySpills { priority, healthy, endpoints, availability, load } => {
                write!(f, "priority {priority} has {healthy} of {endpoints} endpoints healthy, enough for {availability} % of the traffic; it takes {load} %")
            }
            ShareReason::PriorityNotNeeded { priority } => {
                write!(f, "priority {priority} gets no traffic because earlier priorities take all")
            }
            ShareReason::PriorityDraining { priority, draining } => {
                write!(f, "all {draining} endpoints of priority {priority} are draining")
            }
            ShareReason::DegradedEndpointsUsed { priority, degraded, load } => {
                write!(f, "{degraded} degraded endpoints of priority {priority} take {load} %, which healthy endpoints can't")
            }
            ShareReason::LoadsScaledUp { available } => {
                write!(f, "all priorities together have enough endpoints for {available} % of the traffic; their loads are scaled up")
            }
            ShareReason::PriorityInPanic { priority, usable, endpoints, threshold } => {
                write!(f, "priority {priority} has {usable} of {endpoints} endpoints usable, below the panic threshold of {threshold} %: health and weights of groups are ignored")
            }
            ShareReason::TotalPanic => {
                f.write_str("all priorities are below the panic threshold: load follows the number of endpoints")
            }
            ShareReason::GroupWeightReduced { priority, group, weight, remaining } => {
                write!(f, "weight {weight} of group {group} in priority {priority} counts as {remaining:.1} because not all of its endpoints are healthy")
            }
            ShareReason::GroupWithoutWeight { priority, group } => {
                write!(f, "group {group} in priority {priority} has no weight, and others have one")
            }
            ShareReason::NoWeightsToHash { priority, load } => {
                write!(f, "{load} % are answered with 503: a hashing load balancer finds no usable group with a weight in priority {priority}")
            }
            ShareReason::NoUsableEndpoint { priority, load } => {
                write!(f, "{load} % are answered with 503: priority {priority} has no usable endpoint")
            }
            ShareReason::DuplicateEndpoints { endpoints } => {
                write!(f, "{endpoints} endpoints are ignored because their addresses are in the assignment already")
            }
        }
    }
}
