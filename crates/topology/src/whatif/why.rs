//! The reasons of a recommendation.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use crate::{NoHints, Policy, policy::CannotAct, reason::percent};

/// Why a policy is recommended. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Why {
    NoEndpoints,
    /// No zone is known to have clients.
    NoClients,
    NoTraffic,
    /// No policy can have an effect on this Service.
    CannotAct {
        why: CannotAct,
    },
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
        /// The zone most traffic is from, if that is what overloads.
        mostly_from: Option<Arc<str>>,
    },
    /// The policy in force can't do anything now, and no other that is safe does better.
    NoEffectNow {
        why: NoHints,
        /// The next number of endpoints with which it would have an effect.
        possible_with: Option<u32>,
    },
    /// Every policy that keeps traffic near would overload an endpoint.
    OnlyEvenIsSafe {
        policy: Policy,
        worst_load: f64,
        /// The zone most traffic is from, if that is what overloads.
        mostly_from: Option<Arc<str>>,
    },
    NothingToGain,
}

// === impl Why ===

impl Reason for Why {}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoEndpoints => write!(f, "no endpoint is ready, so there is nothing to compare"),
            Why::NoClients => {
                write!(
                    f,
                    "no ready worker node with a zone is known, so there is nothing to compare"
                )
            }
            Why::NoTraffic => write!(f, "there is no traffic, so there is nothing to compare"),
            Why::CannotAct { why } => write!(f, "no policy has an effect here: {why}"),
            Why::AlreadyBest { in_zone_share } => {
                write!(f, "keeps {} % in zone; no safe policy does better", whole(*in_zone_share))
            }
            Why::Cheaper { .. } | Why::Safer { .. } => self.fmt_change(f),
            Why::NoEffectNow { why, possible_with } => {
                write!(f, "it has no effect now: {why}")?;
                possible_with.map_or(Ok(()), |n| write!(f, "; with {n} endpoints it would"))
            }
            Why::OnlyEvenIsSafe { policy, worst_load, mostly_from } => {
                let load = whole(*worst_load);
                write!(f, "{policy} would load an endpoint with {load} % of its fair share; ")?;
                skew(f, mostly_from.as_ref(), "spread the Pods evenly over zones first")
            }
            Why::NothingToGain => write!(f, "no policy keeps more traffic near"),
        }
    }
}

impl Why {
    /// What another policy would change.
    fn fmt_change(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Cheaper { saves, in_zone_before, in_zone_after, worst_load } => write!(
                f,
                "{} % in zone instead of {} %, saves {saves:.2} a month; the most loaded endpoint takes {} % of its fair share",
                whole(*in_zone_after),
                whole(*in_zone_before),
                whole(*worst_load)
            ),
            Why::Safer { worst_before, worst_after, costs, mostly_from } => {
                write!(
                    f,
                    "the most loaded endpoint would take {} % of its fair share instead of {} %, for {costs:.2} more a month; ",
                    whole(*worst_after),
                    whole(*worst_before)
                )?;
                skew(
                    f,
                    mostly_from.as_ref(),
                    "as many endpoints in each zone would be better still",
                )
            }
            _ => Ok(()),
        }
    }
}

fn whole(ratio: f64) -> f64 {
    percent(ratio).round()
}

/// What overloads: where traffic comes from, or else where Pods are.
fn skew(f: &mut fmt::Formatter<'_>, zone: Option<&Arc<str>>, pods: &str) -> fmt::Result {
    match zone {
        Some(zone) => write!(f, "traffic comes mostly from {zone}"),
        None => f.write_str(pods),
    }
}
