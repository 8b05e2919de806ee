//! The status of a Pod as its kubelet reports it. Sources: `pkg/kubelet/status/generate.go`.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{HostIP, Node, Pod, PodCondition, PodIP, PodStatus};

use super::containers;
use crate::sandbox::{
    conditions::{ConditionContent, set_of_pod, time},
    nodes,
    world::condition_of,
};

/// The state of the containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Containers {
    Starting,
    Unready,
    Ready,
}

/// For a Pod whose containers have just started.
pub(super) fn started(pod: &Pod, node: &Node, ips: Vec<PodIP>, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    let host: Vec<String> = nodes::addresses(node).map(str::to_owned).collect();
    status.phase = Some("Running".to_owned());
    status.start_time = Some(time(now));
    status.host_ip = host.first().cloned();
    status.host_ips =
        (!host.is_empty()).then(|| host.into_iter().map(|ip| HostIP { ip }).collect());
    status.pod_ip = ips.first().map(|first| first.ip.clone());
    status.pod_ips = (!ips.is_empty()).then_some(ips);
    status.init_container_statuses = containers::initialized(pod, now);
    status.container_statuses = Some(containers::running(pod, false, now));
    let conditions = status.conditions.get_or_insert_default();
    for kind in ["PodReadyToStartContainers", "Initialized"] {
        set_of_pod(conditions, &ConditionContent::is_true(kind), now);
    }
    set_readiness(pod, conditions, Containers::Starting, now);
    set_of_pod(conditions, &ConditionContent::is_true("PodScheduled"), now);
    status.observed_generation = pod.metadata.generation;
    status
}

/// For a running Pod.
pub(super) fn running(pod: &Pod, are: Containers, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    for container in status.container_statuses.iter_mut().flatten() {
        container.ready = are == Containers::Ready;
    }
    set_readiness(pod, status.conditions.get_or_insert_default(), are, now);
    status.observed_generation = pod.metadata.generation;
    status
}

/// For a Pod whose containers have all exited with a code.
pub(super) fn ended(pod: &Pod, code: i32, now: Timestamp) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    status.phase = Some(if code == 0 { "Succeeded" } else { "Failed" }.to_owned());
    containers::end(status.container_statuses.iter_mut().flatten(), code, now);
    let conditions = status.conditions.get_or_insert_default();
    let reason = if code == 0 { "PodCompleted" } else { "PodFailed" };
    for kind in ["Ready", "ContainersReady"] {
        set_of_pod(conditions, &ConditionContent::is_false(kind, reason, String::new()), now);
    }
    status.observed_generation = pod.metadata.generation;
    status
}

fn set_readiness(pod: &Pod, conditions: &mut Vec<PodCondition>, are: Containers, now: Timestamp) {
    let (mut ready, containers) = match are {
        Containers::Ready => {
            (ConditionContent::is_true("Ready"), ConditionContent::is_true("ContainersReady"))
        }
        Containers::Starting | Containers::Unready => {
            let names: Vec<&str> = containers::names(pod).collect();
            let why = format!("containers with unready status: [{}]", names.join(" "));
            let not = |kind| ConditionContent::is_false(kind, "ContainersNotReady", why.clone());
            (not("Ready"), not("ContainersReady"))
        }
    };
    if let Some(why) = closed_gates(pod).filter(|_| are == Containers::Ready) {
        ready = ConditionContent::is_false("Ready", "ReadinessGatesNotReady", why);
    }
    set_of_pod(conditions, &ready, now);
    set_of_pod(conditions, &containers, now);
}

/// The readiness gates that a Pod still waits for.
fn closed_gates(pod: &Pod) -> Option<String> {
    let gates = pod.spec.as_ref()?.readiness_gates.iter().flatten();
    let closed = gates.filter_map(|gate| {
        let kind = &gate.condition_type;
        match condition_of(pod, kind) {
            Some("True") => None,
            Some(status) => Some(format!(
                "the status of pod readiness gate {kind:?} is not \"True\", but {status}"
            )),
            None => Some(format!(
                "corresponding condition of pod readiness gate {kind:?} does not exist."
            )),
        }
    });
    let closed: Vec<String> = closed.collect();
    (!closed.is_empty()).then(|| closed.join(", "))
}
