//! Properties of Pods that controllers use. Source: `k8s.io/kubernetes/pkg/api/v1/pod/util.go`,
//! `pkg/controller/controller_utils.go`.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Pod, PodCondition};

use crate::sandbox::world::{is_dying, is_finished};

/// Counts of ready and available Pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Readiness {
    pub(super) ready: i32,
    pub(super) available: i32,
    /// When the next ready one becomes available.
    pub(super) next: Option<Timestamp>,
}

pub(super) fn label<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

pub(super) fn created(pod: &Pod) -> Option<Timestamp> {
    pod.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

/// Whether it counts as a replica of its owner.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_dying(&pod.metadata)
}

pub(super) fn is_ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|condition| condition.status == "True")
}

/// When it became ready, if it is and has the time.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let condition = ready_condition(pod).filter(|condition| condition.status == "True")?;
    condition.last_transition_time.as_ref().map(|time| time.0)
}

/// Whether it has been ready for minReadySeconds.
pub(super) fn is_available(pod: &Pod, min_ready_seconds: i32, now: Timestamp) -> bool {
    if min_ready_seconds <= 0 {
        return is_ready(pod);
    }
    available_from(pod, min_ready_seconds).is_some_and(|from| from <= now)
}

/// Counts the ready and available ones.
pub(super) fn readiness<'a>(
    pods: impl IntoIterator<Item = &'a Pod>,
    min_ready_seconds: i32,
    now: Timestamp,
) -> Readiness {
    let mut counted = Readiness::default();
    for pod in pods.into_iter().filter(|pod| is_ready(pod)) {
        counted.ready += 1;
        if is_available(pod, min_ready_seconds, now) {
            counted.available += 1;
        } else if let Some(from) = available_from(pod, min_ready_seconds) {
            counted.next = counted.next.into_iter().chain([from]).min();
        }
    }
    counted
}

fn available_from(pod: &Pod, min_ready_seconds: i32) -> Option<Timestamp> {
    let wait = SignedDuration::from_secs(i64::from(min_ready_seconds));
    ready_since(pod)?.checked_add(wait).ok()
}

fn ready_condition(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == "Ready")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(phase: &str, ready: &str, since: &str) -> Pod {
        serde_json::from_value(json!({"status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": since}],
        }}))
        .unwrap()
    }

    #[test]
    fn a_pod_is_available_once_it_was_ready_for_long_enough() {
        let now: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        let ready = pod("Running", "True", "2026-01-01T00:00:05Z");
        for (seconds, available) in [(0, true), (4, true), (5, true), (6, false)] {
            assert_eq!(is_available(&ready, seconds, now), available, "{seconds}");
        }
        assert!(!is_available(&pod("Running", "False", "2026-01-01T00:00:05Z"), 0, now));
        let late = pod("Running", "True", "2026-01-01T00:00:09Z");
        assert_eq!(
            readiness([&ready, &late], 6, now),
            Readiness { ready: 2, available: 0, next: "2026-01-01T00:00:11Z".parse().ok() }
        );
        assert_eq!(
            readiness([&ready, &late], 5, now),
            Readiness { ready: 2, available: 1, next: "2026-01-01T00:00:14Z".parse().ok() }
        );
    }

    #[test]
    fn finished_and_dying_pods_are_not_active() {
        for (phase, active) in
            [("Pending", true), ("Running", true), ("Failed", false), ("Succeeded", false)]
        {
            let mut pod = pod(phase, "False", "2026-01-01T00:00:05Z");
            assert_eq!(is_active(&pod), active, "{phase}");
            pod.metadata.deletion_timestamp = "2026-01-01T00:00:05Z"
                .parse()
                .ok()
                .map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time);
            assert!(!is_active(&pod), "{phase}");
        }
    }
}
