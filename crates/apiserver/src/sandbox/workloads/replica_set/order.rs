//! Which Pods a ReplicaSet deletes first.
//!
//! Unassigned before assigned, pending before unknown before running, not ready before ready, lower
//! deletion cost, more Pods of the same Deployment on its node, ready for a shorter time, more
//! restarts, younger. Durations are compared by their binary logarithm, so that among Pods of about
//! the same age the uid decides, which is effectively random. Source:
//! `k8s.io/kubernetes/pkg/controller`, `ActivePodsWithRanks`; there, unequal times with the same
//! logarithm are compared by uid at once, which is not a total order if some are equal: here the
//! remaining rules come first.

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::sandbox::{
    workloads::pods,
    world::{annotation, node_of, phase_of, uid_of},
};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The smallest is deleted first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    is_assigned: bool,
    phase: u8,
    is_ready: bool,
    cost: i32,
    neighbours: Reverse<usize>,
    ready_for: Option<u32>,
    restarts: Reverse<(i32, i32)>,
    age: Option<u32>,
    uid: String,
}

/// The number of active Pods of some sets on each node.
pub(super) type PodsPerNode = BTreeMap<String, usize>;

pub(super) fn crowds<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> PodsPerNode {
    let mut crowds = PodsPerNode::new();
    for pod in pods.into_iter().filter(|pod| pods::is_active(pod)) {
        *crowds.entry(node_of(pod).to_owned()).or_default() += 1;
    }
    crowds
}

pub(super) fn rank(pod: &Pod, crowds: &PodsPerNode, now: Timestamp) -> Rank {
    let phase = match phase_of(pod) {
        "Running" => 2,
        "Unknown" => 1,
        _ => 0,
    };
    let cost = annotation(&pod.metadata, DELETION_COST).and_then(|text| text.parse().ok());
    Rank {
        is_assigned: !node_of(pod).is_empty(),
        phase,
        is_ready: pods::is_ready(pod),
        cost: cost.unwrap_or_default(),
        neighbours: Reverse(crowds.get(node_of(pod)).copied().unwrap_or_default()),
        ready_for: pods::ready_since(pod).and_then(|since| span(since, now)),
        restarts: Reverse(restarts(pod)),
        age: pods::created(pod).and_then(|created| span(created, now)),
        uid: uid_of(&pod.metadata).to_owned(),
    }
}

/// The binary logarithm of the duration in nanoseconds; `None` if it is zero.
fn span(from: Timestamp, to: Timestamp) -> Option<u32> {
    let nanoseconds = to.as_nanosecond() - from.as_nanosecond();
    u128::try_from(nanoseconds).ok()?.checked_ilog2()
}

/// The maximum restart count: of regular containers, and of sidecars.
fn restarts(pod: &Pod) -> (i32, i32) {
    let sidecars: Vec<&str> = pod
        .spec
        .iter()
        .flat_map(|spec| spec.init_containers.iter().flatten())
        .filter(|container| container.restart_policy.as_deref() == Some("Always"))
        .map(|container| container.name.as_str())
        .collect();
    let Some(status) = &pod.status else { return (0, 0) };
    let regular = status.container_statuses.iter().flatten().map(|one| one.restart_count).max();
    let all = status.init_container_statuses.iter().flatten();
    let sidecar = all.filter(|one| sidecars.contains(&one.name.as_str()));
    let sidecar = sidecar.map(|one| one.restart_count).max();
    (regular.unwrap_or_default(), sidecar.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-01T12:00:00Z";

    /// A Pod on its own node, running and ready for an hour, with changes.
    fn pod(uid: &str, changes: &Value) -> Pod {
        let mut pod = json!({
            "metadata": {"name": uid, "uid": uid, "creationTimestamp": "2026-01-01T11:00:00Z"},
            "spec": {"containers": [], "nodeName": uid},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True",
                    "lastTransitionTime": "2026-01-01T11:00:00Z"}],
            },
        });
        merge(&mut pod, changes);
        serde_json::from_value(pod).unwrap()
    }

    fn merge(value: &mut Value, changes: &Value) {
        let Some(fields) = changes.as_object() else {
            *value = changes.clone();
            return;
        };
        for (key, change) in fields {
            merge(&mut value[key], change);
        }
    }

    #[test]
    fn each_rule_decides_where_those_before_it_do_not() {
        let ready_at = |time: &str| {
            json!({"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": time}]})
        };
        // In the order of deletion; ties of earlier rules are broken by the next.
        let pods = [
            pod("unassigned", &json!({"spec": {"nodeName": null}})),
            pod("pending", &json!({"status": {"phase": "Pending"}})),
            pod("unknown", &json!({"status": {"phase": "Unknown"}})),
            pod(
                "unready",
                &json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
            ),
            pod("cheap", &json!({"metadata": {"annotations": {DELETION_COST: "-1"}}})),
            pod("crowded1", &json!({"spec": {"nodeName": "crowd"}})),
            pod("crowded2", &json!({"spec": {"nodeName": "crowd"}})),
            pod("fresh", &json!({"status": ready_at("2026-01-01T11:59:00Z")})),
            pod(
                "shaky",
                &json!({"status": {"containerStatuses": [{"name": "c", "image": "", "imageID": "",
                    "ready": true, "restartCount": 3}]}}),
            ),
            pod("young", &json!({"metadata": {"creationTimestamp": "2026-01-01T11:59:00Z"}})),
            pod("z-plain", &json!({})),
            pod("dear", &json!({"metadata": {"annotations": {DELETION_COST: "10"}}})),
        ];
        let now = NOW.parse().unwrap();
        let crowds = crowds(&pods);
        let mut sorted: Vec<&Pod> = pods.iter().rev().collect();
        sorted.sort_by_cached_key(|pod| rank(pod, &crowds, now));
        let names = |pods: Vec<&Pod>| -> Vec<String> {
            pods.into_iter().map(|pod| uid_of(&pod.metadata).to_owned()).collect()
        };
        assert_eq!(names(sorted), names(pods.iter().collect()));
    }

    #[test]
    fn spans_are_compared_in_powers_of_two() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(span(at(0), at(1000)), span(at(100), at(1000)));
        assert!(span(at(0), at(1000)) > span(at(900), at(1000)));
        assert_eq!(span(at(1000), at(1000)), None);
        assert_eq!(span(at(1001), at(1000)), None);
    }
}
