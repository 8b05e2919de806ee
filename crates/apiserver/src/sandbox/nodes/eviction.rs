//! Pods whose Node has NoExecute taints, is unresponsive, or is gone.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, Taint, Toleration};

use super::{Step, World, is_ready, later, taints, whole_seconds};
use crate::{
    kinds::POD,
    sandbox::{
        action::Action,
        conditions::{self, ConditionContent, set_of_pod},
        nodes::beats,
        tolerations::{NOT_READY, UNREACHABLE, tolerates},
        world::{condition_of, is_dying, is_finished, node_of},
    },
    settings::Sandbox,
};

pub(crate) fn evict(world: &World, key: &str, now: Timestamp, settings: &Sandbox) -> Step {
    let Some(pod) = world.pod(key).filter(|pod| !node_of(pod).is_empty()) else {
        return Step::nothing();
    };
    let Some(node) = world.node(node_of(pod)) else { return orphaned(pod, now, settings) };
    let mut step = Step::nothing();
    if !beats(node) && !is_ready(node) {
        step.actions.extend(unready(pod, now));
    }
    if is_dying(&pod.metadata) || is_finished(pod) {
        return step;
    }
    match taints(node).filter_map(|taint| ends(pod, taint, now, settings)).min() {
        Some(end) if end <= now => step.actions.push(Action::delete(&POD, &pod.metadata, None)),
        Some(end) => step = step.again(end),
        None => {}
    }
    step
}

/// The Node is gone. A Pod that has not started yet may be waiting for its Node to appear.
fn orphaned(pod: &Pod, now: Timestamp, settings: &Sandbox) -> Step {
    let started = pod.status.as_ref().is_some_and(|status| status.start_time.is_some());
    let created = pod.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    let end = later(created, settings.node_grace);
    if !started && !is_dying(&pod.metadata) && now < end {
        return Step::nothing().again(end);
    }
    Step::act(vec![Action::delete(&POD, &pod.metadata, Some(0))])
}

/// When a taint evicts a Pod; `None`: it is tolerated forever.
fn ends(pod: &Pod, taint: &Taint, now: Timestamp, settings: &Sandbox) -> Option<Timestamp> {
    if taint.effect != "NoExecute" {
        return None;
    }
    let since = taint.time_added.as_ref().map_or(now, |time| time.0);
    let after = |seconds: i64| {
        since.checked_add(SignedDuration::from_secs(seconds.max(0))).unwrap_or(Timestamp::MAX)
    };
    let all = pod.spec.iter().flat_map(|spec| spec.tolerations.iter().flatten());
    let good: Vec<&Toleration> = all.filter(|one| tolerates(one, taint)).collect();
    if good.is_empty() {
        // Every Pod has the two tolerations, except one that was created without the sandbox.
        let lost = matches!(taint.key.as_str(), NOT_READY | UNREACHABLE);
        return Some(after(if lost { whole_seconds(settings.pod_eviction) } else { 0 }));
    }
    good.iter().filter_map(|one| one.toleration_seconds).min().map(after)
}

fn unready(pod: &Pod, now: Timestamp) -> Option<Action> {
    if condition_of(pod, "Ready") != Some("True") {
        return None;
    }
    let mut conditions = pod.status.as_ref()?.conditions.clone()?;
    let says = ConditionContent::is_false("Ready", "NodeNotReady", "Node is not ready".to_owned());
    set_of_pod(&mut conditions, &says, now);
    Some(conditions::patch_of_pod(pod, &conditions))
}
