//! What another policy would do, before anyone applies it.
//!
//! For one Service and each policy: the hints it would get, where a month of traffic would go, the
//! most loaded endpoint against its fair share, what crosses zones and what that costs; and the
//! same with each zone lost in turn, its clients moved to the zones that are left. Hints come from
//! the code that gives them for real; the policy in force is shown with the hints that are there.
//! O(policies · zones² · endpoints).

mod caveat;
mod cluster;
mod patch;
mod pool;
mod profile;
mod recommend;
mod replicas;
mod scenario;
mod spread;
mod why;

use std::sync::Arc;

use evenkeel_model::WithMessage;
use serde::Serialize;

pub use self::{
    caveat::Caveat,
    patch::{Patch, patch},
    profile::{Price, ProfileError, ServiceTraffic, TrafficProfile},
    recommend::Recommendation,
    scenario::Scenario,
    why::Why,
};
use crate::{
    Policy,
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
    /// Ready endpoints, as they are or as `--replicas` has them.
    pub endpoints: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    pub gb_per_month: f64,
    pub policies: Vec<Forecast>,
    pub caveats: Vec<WithMessage<Caveat>>,
    pub recommendation: Recommendation,
}

/// What one policy would do.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forecast {
    pub policy: Policy,
    /// Why the policy can have no effect; its figures are then those of none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot_act: Option<WithMessage<CannotAct>>,
    /// The hints that the policy gives.
    pub hints: WithMessage<Outcome>,
    /// Auto: how it would come out if hints were in force already, or not yet, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<WithMessage<Outcome>>,
    /// For the policy in force: with the hints that are there now.
    #[serde(flatten)]
    pub figures: Figures,
    /// The policy in force, once hints are what it gives, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once_applied: Option<Figures>,
    pub zone_lost: Vec<ZoneLost>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// The part of served traffic that stays in its zone.
    pub in_zone_share: f64,
    /// The most loaded endpoint's traffic over its fair share; 1 is even. With a zone lost, the
    /// fair share is still that of before: 2 is twice the load of today.
    pub worst_load: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_endpoint: Option<EndpointName>,
    pub cross_zone_gb: f64,
    /// From or to places without a zone: neither in a zone nor across, and not priced.
    pub unknown_gb: f64,
    pub cost: f64,
    /// The part of traffic that finds no endpoint: policy Local, or none ready.
    pub unserved_share: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneLost {
    pub zone: Arc<str>,
    #[serde(flatten)]
    pub figures: Figures,
}

// === impl Forecast ===

impl Forecast {
    /// The figures once hints are what the policy gives.
    pub fn settled(&self) -> &Figures {
        self.once_applied.as_ref().unwrap_or(&self.figures)
    }
}

// === impl Figures ===

impl Figures {
    /// The same but for rounding; which of several equals is loaded most does not matter.
    fn is_close(&self, other: &Figures) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        close(self.in_zone_share, other.in_zone_share)
            && close(self.worst_load, other.worst_load)
            && close(self.unserved_share, other.unserved_share)
    }
}
