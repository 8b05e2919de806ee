//! Why a Pod is not ready, from its status.

use evenkeel_model::{PodCause, PodProblem};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

/// `None` for a Pod that is ready, has finished, or is being deleted.
pub(super) fn problem(pod: &Pod) -> Option<PodProblem> {
    if pod.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let empty = PodStatus::default();
    let cause = cause(pod.status.as_ref().unwrap_or(&empty))?;
    Some(PodProblem { pod: pod.metadata.name.as_deref().unwrap_or_default().into(), cause })
}

fn cause(status: &PodStatus) -> Option<PodCause> {
    let text = |given: &Option<String>| given.as_deref().unwrap_or_default().into();
    let condition = |kind: &str| status.conditions.iter().flatten().find(|c| c.type_ == kind);
    let ready = condition("Ready");
    match status.phase.as_deref() {
        Some("Succeeded") => return None,
        Some("Failed") => {
            let (reason, message) = (text(&status.reason), text(&status.message));
            return Some(PodCause::Failed { reason, message });
        }
        _ if ready.is_some_and(|ready| ready.status == "True") => return None,
        _ => {}
    }
    if let Some(scheduled) = condition("PodScheduled").filter(|c| c.status == "False") {
        return Some(PodCause::Unschedulable { message: text(&scheduled.message) });
    }
    if let Some(cause) = waiting(status) {
        return Some(cause);
    }
    Some(match status.phase.as_deref() {
        Some("Running") => {
            PodCause::NotReady { message: ready.map(|c| text(&c.message)).unwrap_or_default() }
        }
        _ => PodCause::Pending,
    })
}

/// The first container that waits for something other than its start.
fn waiting(status: &PodStatus) -> Option<PodCause> {
    let init = status.init_container_statuses.iter().flatten();
    let mut containers = init.chain(status.container_statuses.iter().flatten());
    containers.find_map(|container: &ContainerStatus| {
        let waiting = container.state.as_ref()?.waiting.as_ref()?;
        let reason = waiting.reason.as_deref()?;
        if matches!(reason, "ContainerCreating" | "PodInitializing") {
            return None;
        }
        Some(PodCause::ContainerWaiting {
            container: container.name.as_str().into(),
            reason: reason.into(),
            message: waiting.message.as_deref().unwrap_or_default().into(),
        })
    })
}
