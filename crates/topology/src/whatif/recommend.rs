//! Which policy to recommend, and why.
//!
//! A policy is safe when no endpoint would take more than its fair share by more than a threshold:
//! the keep threshold for the policy in force, the assign threshold for others, so that advice does
//! not flap. Recommended is the policy in force, or else a safe one that sends no more traffic
//! across zones: the one with the least; of equals the one with the least traffic across regions; of
//! equals the most predictable: PreferSameZone, Auto, PreferSameNode, Balanced, none, then those that
//! look at regions. What would cost more is a trade ([`super::trade`]), never the recommendation. A
//! policy without its full effect on this data plane is never recommended, and neither is
//! RequireSameZone, which refuses traffic: whether that is wanted is not in the figures.

use std::sync::Arc;

use evenkeel_model::{PARTS, Service, WithMessage};
use serde::Serialize;

use super::{Figures, Forecast, Money, Price, TRACE, Trade, Why, trade};
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
    /// All Pods belong to a DaemonSet.
    pub is_daemon_set: bool,
    pub has_zones: bool,
    pub traffic: f64,
    pub mostly_from: Option<Arc<str>>,
    pub price: &'a Price,
    pub capacity: Option<&'a Capacity>,
    pub settings: &'a Settings,
}

pub(super) fn recommend(subject: &Subject<'_>) -> (Recommendation, Vec<Trade>) {
    if let Some(why) = keep_anyway(subject) {
        return (Recommendation { policy: subject.current, why: why.into() }, Vec::new());
    }
    let best = best(subject);
    let recommendation = Recommendation { policy: best.policy, why: subject.why(best).into() };
    (recommendation, trade::trades(subject, best))
}

/// The policy in force, unless a safe one sends less traffic across zones, or as much without
/// overload.
fn best<'a>(subject: &Subject<'a>) -> &'a Forecast {
    let now = subject.of(subject.current);
    // With outdated hints the policy in force has two figures. Advice must hold against both.
    let today = now.figures.cross_zone_share.min(now.settled().cross_zone_share);
    let cross = |f: &Forecast| f.settled().cross_zone_share;
    let others = subject.effective().filter(|f| f.policy != subject.current);
    let others = others.filter(|f| subject.is_safe(f) && cross(f) <= today + TRACE);
    // The first of equals wins, so the order of `effective` settles ties.
    let other = others.reduce(|best, f| if is_nearer(f, best) { f } else { best });
    let is_better = |f: &&Forecast| !subject.is_safe(now) || is_nearer(f, now);
    other.filter(is_better).unwrap_or(now)
}

/// Less traffic leaves its zone, or as much, and less its region.
fn is_nearer(one: &Forecast, other: &Forecast) -> bool {
    let trace = trace(one, other);
    let less = |share: fn(&Figures) -> f64| share(other.settled()) - share(one.settled());
    let zones = less(|figures| figures.cross_zone_share);
    zones > trace || (zones > -trace && less(Figures::cross_region_share) > trace)
}

/// Differences up to this are rounding. Zone shares are whole parts of 1,000: less than one of them
/// says nothing.
fn trace(one: &Forecast, other: &Forecast) -> f64 {
    let by_shares = [one, other].iter().any(|f| f.policy == Policy::Balanced);
    if by_shares { 1.0 / f64::from(PARTS) } else { TRACE }
}

/// Why the policy in force is kept without a comparison.
fn keep_anyway(subject: &Subject<'_>) -> Option<Why> {
    nothing_to_compare(subject).or_else(|| {
        // Same-node traffic is what such a Service is for; zones and loads don't matter to it.
        let is_local = subject.is_daemon_set && subject.current == Policy::PreferSameNode;
        is_local.then_some(Why::BackedByDaemonSet)
    })
}

fn nothing_to_compare(subject: &Subject<'_>) -> Option<Why> {
    // The Service is asked about, not gates: any policy will do.
    let can_act = policy::can_act(subject.service, Policy::PreferSameZone, Gates::ALL_ON);
    if let Err(why) = can_act {
        Some(Why::PolicyNotApplicable { why })
    } else if subject.endpoints == 0 {
        Some(Why::NoReadyEndpoints)
    } else if !subject.has_zones {
        Some(Why::NoClientZones)
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

    /// The policies that would have their full effect, the most predictable first. None always has.
    pub(super) fn effective(&self) -> impl Iterator<Item = &'a Forecast> {
        let order = [
            Policy::PreferSameZone,
            Policy::Auto,
            Policy::PreferSameNode,
            Policy::Balanced,
            Policy::None,
            Policy::PreferSameZoneThenRegion,
            Policy::PreferSameRegion,
        ];
        let forecasts = order.map(|policy| self.of(policy)).into_iter();
        forecasts
            .filter(|f| f.cannot_act.is_none() && f.needs.is_none() && !is_refusal(&f.hints.reason))
    }

    pub(super) fn is_safe(&self, f: &Forecast) -> bool {
        let threshold = self.settings.threshold(f.policy == self.current);
        f.settled().max_load <= 1.0 + threshold + TRACE
    }

    /// What `dearer` costs more than `other`, where traffic is given.
    pub(super) fn costs_more(&self, dearer: &Forecast, other: &Forecast) -> Option<Money> {
        let amount = dearer.settled().cost? - other.settled().cost?;
        Some(Money { amount, currency: Arc::clone(&self.price.currency) })
    }

    fn why(&self, best: &Forecast) -> Why {
        let now = self.of(self.current);
        let (before, after) = (now.settled(), best.settled());
        if best.policy == now.policy {
            return self.why_stay(now);
        }
        if after.cross_zone_share < before.cross_zone_share - trace(best, now) {
            Why::LessCrossZoneTraffic {
                in_zone_before: before.in_zone_share,
                in_zone_after: after.in_zone_share,
                max_load: after.max_load,
                saves: self.costs_more(now, best),
            }
        } else if is_nearer(best, now) {
            Why::LessCrossRegionTraffic {
                cross_region_before: before.cross_region_share(),
                cross_region_after: after.cross_region_share(),
                max_load: after.max_load,
            }
        } else {
            Why::NoOverload { load_before: before.max_load, load_after: after.max_load }
        }
    }

    fn why_stay(&self, now: &Forecast) -> Why {
        let here = now.settled();
        let mostly_from = self.mostly_from.clone();
        if let Outcome::Refused { why } = &now.hints.reason {
            return Why::HintsUnavailable {
                why: why.clone(),
                possible_with: self.possible_with(why),
            };
        }
        if now.policy == Policy::RequireSameZone && here.unserved_share > TRACE {
            return Why::CurrentPolicyRefuses { unserved_share: here.unserved_share };
        }
        if !self.is_safe(now) {
            return Why::CurrentPolicyOverloads { max_load: here.max_load, mostly_from };
        }
        if now.policy != Policy::None {
            return Why::CurrentPolicyBest { in_zone_share: here.in_zone_share };
        }
        let nearer = self.effective().filter(|f| {
            f.settled().cross_zone_share < here.cross_zone_share - TRACE && !self.is_safe(f)
        });
        let mildest = nearer.min_by(|a, b| a.settled().max_load.total_cmp(&b.settled().max_load));
        mildest.map_or(Why::NoImprovement, |f| Why::WouldOverload {
            policy: f.policy,
            max_load: f.settled().max_load,
            mostly_from,
        })
    }

    /// The next number of endpoints at which Auto is possible, if their number is what it lacks.
    fn possible_with(&self, why: &NoHints) -> Option<u32> {
        /// A number of replicas beyond this is no useful advice.
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
