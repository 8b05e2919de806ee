//! The containers of a Pod as their runtime would report them.

use std::fmt::Write as _;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStatus,
    Pod,
};
use sha2::{Digest, Sha256};

use crate::sandbox::{conditions::time, world::uid_of};

pub(super) fn names(pod: &Pod) -> impl Iterator<Item = &str> {
    containers(pod).map(|container| container.name.as_str())
}

pub(super) fn running(pod: &Pod, ready: bool, now: Timestamp) -> Vec<ContainerStatus> {
    containers(pod).map(|container| runs(pod, container, ready, now)).collect()
}

/// Regular init containers are done; sidecars are running.
pub(super) fn initialized(pod: &Pod, now: Timestamp) -> Option<Vec<ContainerStatus>> {
    let first = pod.spec.as_ref()?.init_containers.as_ref()?;
    let status = |container: &Container| {
        let mut status = runs(pod, container, true, now);
        if container.restart_policy.as_deref() != Some("Always") {
            terminate(&mut status, 0, now);
            status.ready = true;
        }
        status
    };
    Some(first.iter().map(status).collect())
}

pub(super) fn end<'a>(
    containers: impl Iterator<Item = &'a mut ContainerStatus>,
    code: i32,
    now: Timestamp,
) {
    containers.for_each(|container| terminate(container, code, now));
}

fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.iter().flat_map(|spec| &spec.containers)
}

fn runs(pod: &Pod, container: &Container, ready: bool, now: Timestamp) -> ContainerStatus {
    let image = container.image.clone().unwrap_or_default();
    ContainerStatus {
        name: container.name.clone(),
        ready,
        started: Some(true),
        image_id: format!("{image}@sha256:{}", digest(&[&image])),
        container_id: Some(format!(
            "sandbox://{}",
            digest(&[uid_of(&pod.metadata), &container.name])
        )),
        image,
        state: Some(ContainerState {
            running: Some(ContainerStateRunning { started_at: Some(time(now)) }),
            ..ContainerState::default()
        }),
        ..ContainerStatus::default()
    }
}

fn terminate(status: &mut ContainerStatus, code: i32, now: Timestamp) {
    let running = status.state.take().and_then(|state| state.running);
    let ended = ContainerStateTerminated {
        exit_code: code,
        reason: Some(if code == 0 { "Completed" } else { "Error" }.to_owned()),
        started_at: running.and_then(|running| running.started_at),
        finished_at: Some(time(now)),
        container_id: status.container_id.clone(),
        ..ContainerStateTerminated::default()
    };
    status.state = Some(ContainerState { terminated: Some(ended), ..ContainerState::default() });
    status.ready = false;
    status.started = Some(false);
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
