//! Conditions of Pods and Nodes. The transition time of a condition changes only with its status; a
//! condition that a client set without a time gets one.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{NodeCondition, Pod, PodCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use serde_json::json;

use super::action::Action;
use crate::kinds::POD;

/// The content of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionContent {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl ConditionContent {
    pub(super) fn is_true(kind: &'static str) -> ConditionContent {
        ConditionContent { kind, status: "True", reason: "", message: String::new() }
    }

    pub(super) fn is_false(
        kind: &'static str,
        reason: &'static str,
        message: String,
    ) -> ConditionContent {
        ConditionContent { kind, status: "False", reason, message }
    }
}

pub(super) fn set_of_pod(
    conditions: &mut Vec<PodCondition>,
    says: &ConditionContent,
    now: Timestamp,
) {
    let old = conditions.iter_mut().find(|old| old.type_ == says.kind);
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut new = PodCondition {
        type_: says.kind.to_owned(),
        status: says.status.to_owned(),
        reason: given(says.reason),
        message: given(&says.message),
        last_transition_time: Some(time(now)),
        ..PodCondition::default()
    };
    let Some(old) = old else { return conditions.push(new) };
    if old.status == new.status {
        new.last_transition_time = old.last_transition_time.take().or(new.last_transition_time);
    }
    new.observed_generation = old.observed_generation;
    *old = new;
}

pub(super) fn set_of_node(
    conditions: &mut Vec<NodeCondition>,
    says: &ConditionContent,
    now: Timestamp,
) {
    let old = conditions.iter_mut().find(|old| old.type_ == says.kind);
    let mut new = NodeCondition {
        type_: says.kind.to_owned(),
        status: says.status.to_owned(),
        reason: Some(says.reason.to_owned()),
        message: Some(says.message.clone()),
        last_heartbeat_time: Some(time(now)),
        last_transition_time: Some(time(now)),
    };
    let Some(old) = old else { return conditions.push(new) };
    if old.status == new.status {
        new.last_transition_time = old.last_transition_time.take().or(new.last_transition_time);
        // The Lease is the heartbeat: an equal condition is not rewritten.
        new.last_heartbeat_time = old.last_heartbeat_time.take().or(new.last_heartbeat_time);
    }
    *old = new;
}

/// Writes the conditions of this version of a Pod: a list is replaced as a whole.
pub(super) fn patch_of_pod(pod: &Pod, conditions: &[PodCondition]) -> Action {
    let version = pod.metadata.resource_version.as_deref();
    let metadata = json!({"resourceVersion": version});
    let patch = json!({"metadata": metadata, "status": {"conditions": conditions}});
    Action::patch(&POD, &pod.metadata, patch)
}

/// In whole seconds, as in objects.
pub(super) fn time(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
