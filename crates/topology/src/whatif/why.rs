//! The reasons of a recommendation.

use std::{fmt, sync::Arc};

use evenkeel_model::Reason;
use serde::Serialize;

use super::Money;
use crate::{NoHints, Policy, policy::CannotAct, reason::percent};

/// Why a policy is recommended. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Why {
    NoReadyEndpoints,
    /// No ready worker node has a zone, so clients can't be placed.
    NoClientZones,
    NoTraffic,
    /// No policy can have an effect on this Service.
    PolicyNotApplicable {
        why: CannotAct,
    },
    /// The Service prefers the same node, and each node has its own endpoint.
    BackedByDaemonSet,
    CurrentPolicyBest {
        in_zone_share: f64,
    },
    /// The policy in force overloads an endpoint; each policy that does not costs more.
    CurrentPolicyOverloads {
        max_load: f64,
        /// The zone most traffic is from, if that is what overloads.
        mostly_from: Option<Arc<str>>,
    },
    /// RequireSameZone refuses traffic; each policy that serves it costs more.
    CurrentPolicyRefuses {
        unserved_share: f64,
    },
    LessCrossZoneTraffic {
        in_zone_before: f64,
        in_zone_after: f64,
        max_load: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        saves: Option<Money>,
    },
    /// No more traffic crosses zones, and less crosses regions.
    LessCrossRegionTraffic {
        cross_region_before: f64,
        cross_region_after: f64,
        max_load: f64,
    },
    /// The policy in force overloads an endpoint; this one does not, and costs no more.
    NoOverload {
        load_before: f64,
        load_after: f64,
    },
    /// The policy in force assigns no hints now, and no other safe policy does better.
    HintsUnavailable {
        why: NoHints,
        /// The next number of endpoints with which it would assign hints.
        possible_with: Option<u32>,
    },
    /// Every policy that keeps traffic near would overload an endpoint.
    WouldOverload {
        policy: Policy,
        max_load: f64,
        /// The zone most traffic is from, if that is what overloads.
        mostly_from: Option<Arc<str>>,
    },
    NoImprovement,
}

// === impl Why ===

impl Reason for Why {}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::NoReadyEndpoints => write!(f, "no endpoint is ready, nothing to compare"),
            Why::NoClientZones => {
                write!(f, "no ready worker node has a zone, nothing to compare")
            }
            Why::NoTraffic => write!(f, "the Service has no traffic, nothing to compare"),
            Why::PolicyNotApplicable { why } => write!(f, "no policy has an effect: {why}"),
            Why::BackedByDaemonSet => {
                write!(f, "its Pods belong to a DaemonSet, so each node has its own endpoint")
            }
            Why::CurrentPolicyBest { in_zone_share } => write!(
                f,
                "{} % of traffic stays in zone; no safe policy does better",
                whole(*in_zone_share)
            ),
            Why::CurrentPolicyRefuses { unserved_share } => write!(
                f,
                "{} % of traffic is refused, because no endpoint is ready in its zone; each policy that serves it sends traffic across zones",
                whole(*unserved_share)
            ),
            Why::NoImprovement => write!(f, "no policy keeps more traffic in its zone"),
            Why::CurrentPolicyOverloads { .. } | Why::WouldOverload { .. } => self.fmt_overload(f),
            Why::HintsUnavailable { why, possible_with } => {
                write!(f, "it has no effect now: {why}")?;
                possible_with.map_or(Ok(()), |n| write!(f, "; scale to {n} replicas"))
            }
            Why::LessCrossZoneTraffic { .. }
            | Why::LessCrossRegionTraffic { .. }
            | Why::NoOverload { .. } => self.fmt_change(f),
        }
    }
}

impl Why {
    fn fmt_overload(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::CurrentPolicyOverloads { max_load, mostly_from } => {
                let load = whole(*max_load);
                write!(f, "the busiest endpoint takes {load} % of its fair share, ")?;
                write!(f, "but each policy that lowers this sends more traffic across zones; ")?;
                cause(f, mostly_from.as_ref())
            }
            Why::WouldOverload { policy, max_load, mostly_from } => {
                let load = whole(*max_load);
                write!(f, "{policy} would load an endpoint with {load} % of its fair share; ")?;
                cause(f, mostly_from.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// What another policy would change.
    fn fmt_change(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::LessCrossZoneTraffic { in_zone_before, in_zone_after, max_load, saves } => {
                let (after, before) = (whole(*in_zone_after), whole(*in_zone_before));
                write!(f, "{after} % of traffic stays in zone instead of {before} %")?;
                if let Some(saves) = saves {
                    write!(f, ", saves {saves} a month")?;
                }
                let load = whole(*max_load);
                write!(f, "; the busiest endpoint takes {load} % of its fair share")
            }
            Why::LessCrossRegionTraffic { cross_region_before, cross_region_after, max_load } => {
                let (after, before) = (whole(*cross_region_after), whole(*cross_region_before));
                write!(f, "{after} % of traffic crosses regions instead of {before} %, ")?;
                let load = whole(*max_load);
                write!(f, "with no more across zones; ")?;
                write!(f, "the busiest endpoint takes {load} % of its fair share")
            }
            Why::NoOverload { load_before, load_after } => write!(
                f,
                "the busiest endpoint takes {} % of its fair share instead of {} %, with no more traffic across zones",
                whole(*load_after),
                whole(*load_before)
            ),
            _ => Ok(()),
        }
    }
}

fn whole(ratio: f64) -> f64 {
    percent(ratio).round()
}

/// What overloads: where traffic comes from, or else where Pods are.
fn cause(f: &mut fmt::Formatter<'_>, zone: Option<&Arc<str>>) -> fmt::Result {
    match zone {
        Some(zone) => write!(f, "most traffic comes from {zone}"),
        None => f.write_str("spread the Pods evenly over zones"),
    }
}
