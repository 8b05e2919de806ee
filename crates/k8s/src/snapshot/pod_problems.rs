//! Why a Pod is not ready, from its status.

use evenkeel_model::{PodCause, PodProblem};

use crate::convert::pod::PodFacts;

/// `None` for a Pod that is ready, has finished, or is being deleted.
pub(super) fn problem(pod: &impl PodFacts) -> Option<PodProblem> {
    let meta = pod.meta();
    if meta.deleting {
        return None;
    }
    Some(PodProblem { pod: meta.name.unwrap_or_default().into(), cause: cause(pod)? })
}

fn cause(pod: &impl PodFacts) -> Option<PodCause> {
    let text = |given: Option<&str>| given.unwrap_or_default().into();
    let ready = pod.ready();
    match pod.phase() {
        Some("Succeeded") => return None,
        Some("Failed") => {
            let (reason, message) = (text(pod.reason()), text(pod.message()));
            return Some(PodCause::Failed { reason, message });
        }
        _ if ready.is_some_and(|ready| ready.holds == Some(true)) => return None,
        _ => {}
    }
    if let Some(scheduled) = pod.scheduled().filter(|scheduled| scheduled.holds == Some(false)) {
        return Some(PodCause::Unschedulable { message: scheduled.message.into() });
    }
    if let Some(cause) = waiting(pod) {
        return Some(cause);
    }
    Some(match pod.phase() {
        Some("Running") => PodCause::NotReady { message: text(ready.map(|ready| ready.message)) },
        _ => PodCause::Pending,
    })
}

/// The first container that waits for something other than its start.
fn waiting(pod: &impl PodFacts) -> Option<PodCause> {
    let starts = ["ContainerCreating", "PodInitializing"];
    let waiting = pod.waiting().find(|waiting| !starts.contains(&waiting.reason))?;
    Some(PodCause::ContainerWaiting {
        container: waiting.container.into(),
        reason: waiting.reason.into(),
        message: waiting.message.into(),
    })
}
