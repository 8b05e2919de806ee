//! The status of a Pod: its addresses, whether it is ready, and if not, why.

use serde::Deserialize;

use super::lenient;
use crate::convert::pod::{ConditionNote, WaitingFacts};

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status {
    pub(super) phase: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
    #[serde(rename = "podIP")]
    pub(super) pod_ip: Option<String>,
    #[serde(rename = "podIPs", deserialize_with = "lenient::list")]
    pub(super) pod_ips: Vec<PodIp>,
    #[serde(deserialize_with = "lenient::list")]
    conditions: Vec<PodCondition>,
    #[serde(deserialize_with = "lenient::list")]
    init_container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "lenient::list")]
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodIp {
    #[serde(deserialize_with = "lenient::or_default")]
    pub(super) ip: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodCondition {
    #[serde(rename = "type", deserialize_with = "lenient::or_default")]
    kind: Kind,
    #[serde(deserialize_with = "lenient::or_default")]
    status: Holds,
    message: Option<String>,
    /// When its status last changed, in seconds since 1970.
    #[serde(rename = "lastTransitionTime", deserialize_with = "lenient::time")]
    pub(super) since: Option<i64>,
}

/// The types that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Kind {
    Ready,
    PodScheduled,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Holds {
    True,
    False,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerStatus {
    name: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    state: ContainerState,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Waiting {
    reason: Option<String>,
    message: Option<String>,
}

// === impl Status ===

impl Status {
    /// The first condition of the type counts, as in Kubernetes.
    pub(super) fn ready(&self) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.kind == Kind::Ready)
    }

    pub(super) fn scheduled(&self) -> Option<&PodCondition> {
        self.conditions.iter().find(|condition| condition.kind == Kind::PodScheduled)
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = WaitingFacts<'_>> {
        let containers = self.init_container_statuses.iter().chain(&self.container_statuses);
        containers.filter_map(|container| {
            let Waiting { reason, message } = container.state.waiting.as_ref()?;
            Some(WaitingFacts {
                container: container.name.as_deref().unwrap_or_default(),
                reason: reason.as_deref()?,
                message: message.as_deref().unwrap_or_default(),
            })
        })
    }
}

// === impl PodCondition ===

impl PodCondition {
    pub(super) fn note(&self) -> ConditionNote<'_> {
        ConditionNote {
            holds: match self.status {
                Holds::True => Some(true),
                Holds::False => Some(false),
                Holds::Unknown => None,
            },
            message: self.message.as_deref().unwrap_or_default(),
        }
    }
}
