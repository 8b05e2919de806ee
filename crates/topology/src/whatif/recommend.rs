//! Which policy to take, and why.
//!
//! A policy is safe when no endpoint would take more than its fair share by more than a threshold:
//! the keep threshold for the policy in force, the assign threshold for others, so that advice does
//! not flap. Among the safe ones the cheapest is recommended; of equals the one in force, else the
//! most predictable: PreferSameZone, Auto, PreferSameNode, none.

use std::fmt;

use evenkeel_model::{Reason, Said, ServiceState, TrafficPolicy};
use serde::Serialize;

use super::Forecast;
use crate::{NoHints, Policy, Settings, explain::Outcome, reason::percent};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    pub policy: Policy,
    pub why: Said<Why>,
}

/// Why a policy is recommended. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Why {
    NoEndpoints,
    LocalDecides,
    AlreadyBest {
        in_zone_share: f64,
    },
    Cheaper {
        saves: f64,
        in_zone_before: f64,
        in_zone_after: f64,
        worst_load: f64,
    },
    /// The policy in force overloads an endpoint.
    Safer {
        worst_before: f64,
        worst_after: f64,
        costs: f64,
    },
    /// The policy in force can't do anything now, and no other that is safe does better.
    NoEffectNow {
        why: NoHints,
    },
    /// Every policy that keeps traffic near would overload an endpoint.
    OnlyEvenIsSafe {
        policy: Policy,
        worst_load: f64,
    },
    NothingToGain,
}

pub(super) fn recommend(
    state: &ServiceState,
    current: Policy,
    forecasts: &[Forecast],
    settings: &Settings,
) -> Recommendation {
    let of = |policy: Policy| forecasts.iter().find(|f| f.policy == policy);
    let (Some(now), Some(none)) = (of(current), of(Policy::None)) else {
        return stay(current, Why::NoEndpoints);
    };
    if state.service.exposure.internal == TrafficPolicy::Local {
        return stay(current, Why::LocalDecides);
    }
    if none.figures.worst_endpoint.is_none() {
        return stay(current, Why::NoEndpoints);
    }
    let is_safe =
        |f: &Forecast| f.figures.worst_load <= 1.0 + settings.threshold(f.policy == current) + 1e-9;
    let order =
        [current, Policy::PreferSameZone, Policy::Auto, Policy::PreferSameNode, Policy::None];
    let safe = order.into_iter().filter_map(of).filter(|f| is_safe(f));
    // The first of equals wins, so the order above settles ties.
    let best = safe.reduce(|best, f| {
        let cheaper = f.figures.cross_zone_gb < best.figures.cross_zone_gb - 1e-6;
        if cheaper { f } else { best }
    });
    let Some(best) = best else {
        return stay(Policy::None, Why::NothingToGain);
    };
    why(now, best, is_safe(now), forecasts)
}

fn why(now: &Forecast, best: &Forecast, now_safe: bool, all: &[Forecast]) -> Recommendation {
    let (before, after) = (&now.figures, &best.figures);
    let why = if best.policy == Policy::None && now.policy == Policy::None {
        let near = all.iter().filter(|f| f.figures.cross_zone_gb < after.cross_zone_gb - 1e-6);
        let mildest = near.min_by(|a, b| a.figures.worst_load.total_cmp(&b.figures.worst_load));
        match mildest {
            Some(f) => Why::OnlyEvenIsSafe { policy: f.policy, worst_load: f.figures.worst_load },
            None => Why::NothingToGain,
        }
    } else if let (true, Outcome::Refused { why }) = (best.policy == now.policy, &now.hints.reason)
    {
        Why::NoEffectNow { why: why.clone() }
    } else if best.policy == now.policy {
        Why::AlreadyBest { in_zone_share: after.in_zone_share }
    } else if !now_safe && before.worst_load > after.worst_load {
        Why::Safer {
            worst_before: before.worst_load,
            worst_after: after.worst_load,
            costs: after.cost - before.cost,
        }
    } else {
        Why::Cheaper {
            saves: before.cost - after.cost,
            in_zone_before: before.in_zone_share,
            in_zone_after: after.in_zone_share,
            worst_load: after.worst_load,
        }
    };
    Recommendation { policy: best.policy, why: why.into() }
}

fn stay(policy: Policy, why: Why) -> Recommendation {
    Recommendation { policy, why: why.into() }
}

// === impl Why ===

impl Reason for Why {}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |ratio: f64| percent(ratio).round();
        match self {
            Why::NoEndpoints => write!(f, "no endpoint is ready, so there is nothing to compare"),
            Why::LocalDecides => write!(
                f,
                "internalTrafficPolicy: Local keeps traffic on its node whatever else is set"
            ),
            Why::AlreadyBest { in_zone_share } => {
                write!(f, "keeps {} % in zone; no safe policy does better", whole(*in_zone_share))
            }
            Why::Cheaper { saves, in_zone_before, in_zone_after, worst_load } => write!(
                f,
                "{} % in zone instead of {} %, saves {saves:.2} a month; the most loaded endpoint takes {} % of its fair share",
                whole(*in_zone_after),
                whole(*in_zone_before),
                whole(*worst_load)
            ),
            Why::Safer { worst_before, worst_after, costs } => write!(
                f,
                "the most loaded endpoint would take {} % of its fair share instead of {} %, for {costs:.2} more a month; as many endpoints in each zone would be better still",
                whole(*worst_after),
                whole(*worst_before)
            ),
            Why::NoEffectNow { why } => write!(f, "it has no effect now: {why}"),
            Why::OnlyEvenIsSafe { policy, worst_load } => write!(
                f,
                "{policy} would load an endpoint with {} % of its fair share; spread the Pods evenly over zones first",
                whole(*worst_load)
            ),
            Why::NothingToGain => write!(f, "no policy keeps more traffic near"),
        }
    }
}
