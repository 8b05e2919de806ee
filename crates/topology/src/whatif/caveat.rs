//! What is to be known beside the figures of a forecast.

use std::fmt;

use evenkeel_model::Reason;
use serde::Serialize;

use crate::reason::{count, percent};

/// What limits a forecast, or the policy in force. Codes and fields are API.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "code", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Caveat {
    /// Hints in force are not those that the policy in force gives.
    HintsBehind {
        in_zone_share: f64,
        worst_load: f64,
    },
    /// Hints in slices that no endpoint controller writes keep the policy in force from its effect.
    OthersSlices {
        endpoints: usize,
    },
    NotAllPlaced {
        endpoints: usize,
        not_placed: usize,
    },
    /// The policy in force sends traffic from or to places without a zone.
    UnknownZones {
        gb: f64,
    },
}

// === impl Caveat ===

impl Reason for Caveat {}

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caveat::HintsBehind { in_zone_share, worst_load } => write!(
                f,
                "hints are not up to date; once they are, {} % stays in zone and the most loaded endpoint takes {} % of its fair share",
                percent(*in_zone_share).round(),
                percent(*worst_load).round()
            ),
            Caveat::OthersSlices { endpoints } => write!(
                f,
                "slices that no endpoint controller writes hold {}, whose hints keep the policy from its full effect",
                count(*endpoints as u64, "endpoint")
            ),
            Caveat::NotAllPlaced { endpoints, not_placed } => {
                let left = count(*not_placed as u64, "replica");
                write!(f, "there is no node for {left}: figures are for {endpoints}")
            }
            Caveat::UnknownZones { gb } => {
                write!(f, "{gb:.0} GB from or to places without a zone are not priced")
            }
        }
    }
}
