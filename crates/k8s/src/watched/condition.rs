//! Conditions of Pods and Nodes, of which only readiness matters: no text of them is kept.

use serde::{Deserialize, Deserializer};

use super::lenient;
use crate::convert::field::{ConditionFacts, READY, TRUE};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Condition {
    #[serde(rename = "type", deserialize_with = "ready")]
    pub(super) is_ready: bool,
    #[serde(deserialize_with = "true_")]
    status: bool,
    /// When its status last changed, in seconds since 1970.
    #[serde(rename = "lastTransitionTime", deserialize_with = "lenient::time")]
    pub(super) since: Option<i64>,
}

fn ready<'de, D: Deserializer<'de>>(given: D) -> Result<bool, D::Error> {
    lenient::is(given, READY)
}

fn true_<'de, D: Deserializer<'de>>(given: D) -> Result<bool, D::Error> {
    lenient::is(given, TRUE)
}

impl Condition {
    pub(super) fn facts(&self) -> ConditionFacts<'_> {
        let or_nothing = |holds, text| if holds { text } else { "" };
        ConditionFacts {
            kind: or_nothing(self.is_ready, READY),
            status: or_nothing(self.status, TRUE),
        }
    }
}
