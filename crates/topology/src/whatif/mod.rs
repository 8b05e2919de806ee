//! What another policy would do, before anyone applies it.
//!
//! For one Service and each policy: the hints it would get, how much traffic stays in its zone, the
//! busiest endpoint against its fair share; and the same with each zone lost in turn, its clients
//! moved to the zones that are left. Where traffic is given, also what crosses zones and what that
//! costs. Hints come from the code that assigns them for real; the policy in force is shown with
//! the hints that are there. Policies of Evenkeel's own are forecast as they act on this data plane:
//! under Kubernetes' proxy zone shares change nothing ([`Needs`]). O(policies · zones² · endpoints).

mod case;
mod caveat;
mod cluster;
mod flows;
mod needs;
mod patch;
mod pool;
mod profile;
mod recommend;
mod replicas;
mod routes;
mod scenario;
mod spread;
mod trade;
mod why;

use std::sync::Arc;

use evenkeel_model::WithMessage;
use serde::Serialize;

pub use self::{
    caveat::Caveat,
    flows::{Supposed, ZoneFlow},
    needs::Needs,
    patch::patch,
    profile::{Money, Price, ProfileError, ServiceTraffic, TrafficProfile},
    recommend::Recommendation,
    scenario::Scenario,
    trade::{Benefit, Trade},
    why::Why,
};
use crate::{
    DataPlane, Policy,
    explain::{EndpointName, Outcome},
    policy::CannotAct,
};

/// What each policy would do for one Service.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecasts {
    pub namespace: Arc<str>,
    pub service: Arc<str>,
    pub current: Policy,
    /// Whose rules the forecasts follow.
    pub data_plane: DataPlane,
    /// Ready endpoints: those that exist, or as many as `--replicas` sets.
    pub endpoints: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// `None`: no traffic is given for this Service, so nothing is priced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gb_per_month: Option<f64>,
    pub policies: Vec<Forecast>,
    pub caveats: Vec<WithMessage<Caveat>>,
    /// The default answer. It never sends more traffic across zones than the policy in force.
    pub recommendation: Recommendation,
    /// Policies that cost more than the recommended one, and what they give in return.
    pub trades: Vec<Trade>,
}

/// What one policy would do.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    pub policy: Policy,
    /// Why the policy can have no effect; its figures are then those of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_act: Option<WithMessage<CannotAct>>,
    /// What is missing for its full effect. The figures are those of today's data plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs: Option<WithMessage<Needs>>,
    /// The hints that the policy assigns.
    pub hints: WithMessage<Outcome>,
    /// Auto: the other outcome, where it depends on whether hints are in force already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<WithMessage<Outcome>>,
    /// For the policy in force: with the hints that are there now.
    #[serde(flatten)]
    pub figures: Figures,
    /// The policy in force, once its hints are up to date, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once_applied: Option<Figures>,
    pub zone_lost: Vec<ZoneLost>,
}

/// Where traffic goes. Shares are of the traffic that is served, except `unserved_share`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    pub in_zone_share: f64,
    pub cross_zone_share: f64,
    /// From or to a node or endpoint without a zone: neither in a zone nor across, and not priced.
    pub unknown_zone_share: f64,
    /// Where nodes are in several regions.
    #[serde(flatten)]
    pub regions: Option<RegionFigures>,
    /// The share of all traffic that finds no endpoint: policy Local, RequireSameZone, or none ready.
    pub unserved_share: f64,
    /// The busiest endpoint's traffic over its fair share; 1 is even. With a zone lost, the fair
    /// share is still that of before: 2 is twice the load of today.
    pub max_load: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_endpoint: Option<EndpointName>,
    /// A month's, where traffic is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_zone_gb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// What stays in its region. Zones of no known region are in neither share.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegionFigures {
    pub in_region_share: f64,
    pub cross_region_share: f64,
    /// A month's, where traffic is given; it is part of what crosses zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_region_gb: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneLost {
    pub zone: Arc<str>,
    #[serde(flatten)]
    pub figures: Figures,
}

/// What following the recommendation saves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Saving {
    /// The share of traffic that no longer crosses zones.
    pub share: f64,
    /// Money a month, where traffic is given.
    pub money: Option<f64>,
}

// === impl Forecasts ===

impl Forecasts {
    pub fn of(&self, policy: Policy) -> Option<&Forecast> {
        self.policies.iter().find(|forecast| forecast.policy == policy)
    }

    /// Whether the recommended policy is another than the one in force.
    pub fn changes(&self) -> bool {
        self.recommendation.policy != self.current
    }

    /// What the recommended policy saves against the policy in force. Nothing, if that is kept.
    pub fn saving(&self) -> Saving {
        let (Some(now), Some(then)) = (self.of(self.current), self.of(self.recommendation.policy))
        else {
            return Saving::default();
        };
        let (now, then) = (now.settled(), then.settled());
        Saving {
            share: now.cross_zone_share - then.cross_zone_share,
            money: now.cost.zip(then.cost).map(|(now, then)| now - then),
        }
    }
}

// === impl Forecast ===

impl Forecast {
    /// Whether the policy has any effect; if not, its figures are those of none.
    pub fn acts(&self) -> bool {
        let partial = |needs: &WithMessage<Needs>| needs.reason.is_partial();
        self.cannot_act.is_none() && self.needs.as_ref().is_none_or(partial)
    }

    /// The figures once hints are up to date.
    pub fn settled(&self) -> &Figures {
        self.once_applied.as_ref().unwrap_or(&self.figures)
    }

    /// The zone whose loss loads an endpoint most; of equals the first by name.
    pub fn worst_loss(&self) -> Option<&ZoneLost> {
        let worse = |best: &ZoneLost, lost: &ZoneLost| {
            let (a, b) = (&best.figures, &lost.figures);
            // Traffic that is not served is worse than any load.
            b.unserved_share > a.unserved_share + TRACE
                || (b.unserved_share > a.unserved_share - TRACE && b.max_load > a.max_load + TRACE)
        };
        let zones = self.zone_lost.iter();
        zones.reduce(|best, lost| if worse(best, lost) { lost } else { best })
    }
}

/// Less than this is rounding.
const TRACE: f64 = 1e-9;

// === impl Figures ===

impl Figures {
    /// The share of served traffic that leaves its region, as far as that is known.
    fn cross_region_share(&self) -> f64 {
        self.regions.as_ref().map_or(0.0, |regions| regions.cross_region_share)
    }

    /// The same but for rounding; which of several equals is loaded most does not matter.
    fn is_close(&self, other: &Figures) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        close(self.in_zone_share, other.in_zone_share)
            && close(self.max_load, other.max_load)
            && close(self.unserved_share, other.unserved_share)
    }
}
