//! What limits the figures of a forecast.

use std::fmt;

use evenkeel_model::Reason;
use serde::Serialize;

use crate::reason::{count, percent};

/// What limits a forecast, or the policy in force. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Caveat {
    /// The hints or zone shares in the slices are not those that the policy in force assigns.
    HintsOutdated {
        in_zone_share: f64,
        max_load: f64,
    },
    /// Slices that no endpoint controller manages limit the effect of the policy in force.
    UnmanagedSlices {
        endpoints: usize,
    },
    ReplicasUnschedulable {
        endpoints: usize,
        unschedulable: usize,
    },
    /// Under the policy in force, this share of traffic is from or to places without a zone.
    UnknownZone {
        share: f64,
    },
}

// === impl Caveat ===

impl Reason for Caveat {}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caveat::HintsOutdated { in_zone_share, max_load } => write!(
                f,
                "hints or zone shares are out of date; once they are updated, {} % of traffic stays in zone and the busiest endpoint takes {} % of its fair share",
                percent(*in_zone_share).round(),
                percent(*max_load).round()
            ),
            Caveat::UnmanagedSlices { endpoints } => write!(
                f,
                "{} in slices that no endpoint controller manages; their hints limit the effect of the policy",
                count(*endpoints as u64, "endpoint")
            ),
            Caveat::ReplicasUnschedulable { endpoints, unschedulable } => write!(
                f,
                "no node for {}; figures are for {}",
                count(*unschedulable as u64, "replica"),
                count(*endpoints as u64, "replica")
            ),
            Caveat::UnknownZone { share } => write!(
                f,
                "{} % of traffic is from nodes or to endpoints without a zone; it is neither in zone nor across zones",
                percent(*share).round()
            ),
        }
    }
}
