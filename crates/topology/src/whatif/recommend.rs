//! Which policy to take, and why.
//!
//! A policy is safe when no endpoint would take more than its fair share by more than a threshold:
//! the keep threshold for the policy in force, the assign threshold for others, so that advice does
//! not flap. Among the safe ones the cheapest is recommended; of equals the one in force, else the
//! most predictable: PreferSameZone, Auto, PreferSameNode, none. A policy that would have no effect
//! is never recommended.

use std::sync::Arc;

use evenkeel_model::{Service, WithMessage};
use serde::Serialize;

use super::{Forecast, Why};
use crate::{
    Capacity, Gates, NoHints, Policy, Settings, auto::bounds::next_possible, explain::Outcome,
    policy,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    pub policy: Policy,
    pub why: WithMessage<Why>,
}

/// What a recommendation is made from.
pub(super) struct Subject<'a> {
    pub service: &'a Service,
    pub current: Policy,
    /// One for each policy.
    pub forecasts: &'a [Forecast],
    pub endpoints: usize,
    pub has_zones: bool,
    pub traffic: f64,
    pub mostly_from: Option<Arc<str>>,
    pub capacity: Option<&'a Capacity>,
    pub settings: &'a Settings,
}

pub(super) fn recommend(subject: &Subject<'_>) -> Recommendation {
    let current = subject.current;
    if let Some(why) = nothing_to_compare(subject) {
        return Recommendation { policy: current, why: why.into() };
    }
    let order =
        [current, Policy::PreferSameZone, Policy::Auto, Policy::PreferSameNode, Policy::None];
    let candidates = order.into_iter().map(|policy| subject.of(policy));
    // The first of equals wins, so the order above settles ties.
    let best = candidates.filter(|f| subject.may_take(f)).reduce(|best, f| {
        let cheaper = f.settled().cross_zone_gb < best.settled().cross_zone_gb - 1e-6;
        if cheaper { f } else { best }
    });
    let best = best.unwrap_or(subject.of(Policy::None));
    Recommendation { policy: best.policy, why: subject.why(best).into() }
}

fn nothing_to_compare(subject: &Subject<'_>) -> Option<Why> {
    // Any policy will do: what is asked here is the Service, not gates.
    let can_act = policy::can_act(subject.service, Policy::PreferSameZone, Gates::ALL_ON);
    if let Err(why) = can_act {
        Some(Why::CannotAct { why })
    } else if subject.endpoints == 0 {
        Some(Why::NoEndpoints)
    } else if !subject.has_zones {
        Some(Why::NoClients)
    } else if subject.traffic <= 0.0 {
        Some(Why::NoTraffic)
    } else {
        None
    }
}

pub(super) fn is_refusal(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused { .. })
}

// === impl Subject ===

impl<'a> Subject<'a> {
    fn of(&self, policy: Policy) -> &'a Forecast {
        let found = self.forecasts.iter().find(|f| f.policy == policy);
        found.expect("there is a forecast for each policy")
    }

    /// Safe, and of some effect unless it is in force anyway.
    fn may_take(&self, f: &Forecast) -> bool {
        let acts = f.cannot_act.is_none() && !is_refusal(&f.hints.reason);
        (acts || f.policy == self.current) && self.is_safe(f)
    }

    fn is_safe(&self, f: &Forecast) -> bool {
        let threshold = self.settings.threshold(f.policy == self.current);
        f.settled().worst_load <= 1.0 + threshold + 1e-9
    }

    fn why(&self, best: &Forecast) -> Why {
        let now = self.of(self.current);
        let (before, after) = (now.settled(), best.settled());
        if best.policy == now.policy {
            return self.why_stay(now);
        }
        if !self.is_safe(now) && before.worst_load > after.worst_load {
            return Why::Safer {
                worst_before: before.worst_load,
                worst_after: after.worst_load,
                costs: after.cost - before.cost,
                mostly_from: self.mostly_from.clone(),
            };
        }
        Why::Cheaper {
            saves: before.cost - after.cost,
            in_zone_before: before.in_zone_share,
            in_zone_after: after.in_zone_share,
            worst_load: after.worst_load,
        }
    }

    fn why_stay(&self, now: &Forecast) -> Why {
        let here = now.settled();
        if let Outcome::Refused { why } = &now.hints.reason {
            return Why::NoEffectNow { why: why.clone(), possible_with: self.possible_with(why) };
        }
        if now.policy != Policy::None {
            return Why::AlreadyBest { in_zone_share: here.in_zone_share };
        }
        let near =
            self.forecasts.iter().filter(|f| f.settled().cross_zone_gb < here.cross_zone_gb - 1e-6);
        let mildest = near.min_by(|a, b| a.settled().worst_load.total_cmp(&b.settled().worst_load));
        mildest.map_or(Why::NothingToGain, |f| Why::OnlyEvenIsSafe {
            policy: f.policy,
            worst_load: f.settled().worst_load,
            mostly_from: self.mostly_from.clone(),
        })
    }

    /// The next number of endpoints at which Auto is possible, if their number is what it lacks.
    fn possible_with(&self, why: &NoHints) -> Option<u32> {
        /// So many more are tried: beyond, the number is of no use to anyone.
        const WITHIN: u32 = 1000;
        let (&NoHints::Overload { endpoints, zones, .. }
        | &NoHints::NotEnoughEndpoints { endpoints, zones }) = why
        else {
            return None;
        };
        let from = endpoints.max(zones);
        next_possible(self.capacity?, from, self.settings.threshold(false), from + WITHIN)
    }
}
