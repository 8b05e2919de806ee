//! Simulates the kubelet for a Pod on its Node: assigns an address, runs it, makes it ready,
//! terminates it.
//!
//! ```text
//! Pending ─► Running, unready ─(ready_after)─► Running, ready ─► Terminating, unready ─► gone
//!                   └──(with an exit code)──► Succeeded or Failed           (end_after, or its grace)
//! ```
//!
//! A Node whose heartbeat is off has no kubelet: its Pods don't change.

mod containers;
mod status;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, PodIP, PodStatus};
use serde_json::json;

use super::{
    action::{Action, Step},
    nodes::{self, later},
    world::{World, annotation, is_dying, is_finished, node_of, phase_of},
};
use crate::{kinds::POD, settings::Sandbox};

/// How long this Pod takes to become ready: `3s`.
pub(super) const READY_AFTER: &str = "sandbox.evenkeel.dev/ready-after";
/// `"false"` keeps the Pod from being ready.
pub(super) const READY: &str = "sandbox.evenkeel.dev/ready";
/// Exit code of the containers of a Pod that is not restarted.
pub(super) const EXIT: &str = "sandbox.evenkeel.dev/exit";

pub(super) fn reconcile(world: &World, key: &str, now: Timestamp, settings: &Sandbox) -> Step {
    let Some(pod) = world.pod(key) else { return Step::nothing() };
    let node = world.node(node_of(pod)).filter(|node| nodes::beats(node));
    let Some(node) = node else { return Step::nothing() };
    if is_dying(&pod.metadata) {
        return end(world, pod, now, settings);
    }
    if is_finished(pod) {
        return Step::nothing();
    }
    if phase_of(pod) != "Running" {
        return start(world, pod, node, now, settings);
    }
    let since = world.moments.running(pod).unwrap_or(now);
    let due = later(since, ready_after(pod, settings));
    if now < due {
        return report(pod, &status::running(pod, status::Containers::Starting, now)).again(due);
    }
    let containers = match exit_code(pod) {
        Some(code) => return report(pod, &status::ended(pod, code, now)),
        None if annotation(&pod.metadata, READY) == Some("false") => status::Containers::Unready,
        None => status::Containers::Ready,
    };
    report(pod, &status::running(pod, containers, now))
}

fn start(world: &World, pod: &Pod, node: &Node, now: Timestamp, settings: &Sandbox) -> Step {
    let Some(ips) = addresses(world, pod, node, settings) else {
        // All addresses are in use: one may become free.
        return Step::nothing().again(later(now, Duration::from_secs(1)));
    };
    report(pod, &status::started(pod, node, ips, now))
}

/// One address per family; the Node's for a Pod in the host network.
fn addresses(world: &World, pod: &Pod, node: &Node, settings: &Sandbox) -> Option<Vec<PodIP>> {
    if pod.spec.as_ref().is_some_and(|spec| spec.host_network == Some(true)) {
        return Some(nodes::addresses(node).map(|ip| PodIP { ip: ip.to_owned() }).collect());
    }
    let ranges = [Some(settings.pod_cidr), settings.second_pod_cidr].into_iter().flatten();
    ranges.map(|range| Some(PodIP { ip: world.addresses.free(range)?.to_string() })).collect()
}

/// The Pod becomes unready at once, and terminates at its time.
fn end(world: &World, pod: &Pod, now: Timestamp, settings: &Sandbox) -> Step {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
    let finalizers = pod.metadata.finalizers.iter().flatten().count();
    if grace == 0 && finalizers > 0 {
        return Step::nothing();
    }
    let given = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
    let asked = world.moments.dying(pod).unwrap_or(now);
    let due = later(asked, given.min(settings.end_after));
    if now >= due || phase_of(pod) != "Running" {
        return Step::act(vec![Action::delete(&POD, &pod.metadata, Some(0))]);
    }
    report(pod, &status::running(pod, status::Containers::Unready, now)).again(due)
}

/// Writes the status if it differs.
fn report(pod: &Pod, status: &PodStatus) -> Step {
    if pod.status.as_ref() == Some(status) {
        return Step::nothing();
    }
    let version = pod.metadata.resource_version.as_deref();
    let patch = json!({"metadata": {"resourceVersion": version}, "status": status});
    Step::act(vec![Action::patch(&POD, &pod.metadata, patch)])
}

fn ready_after(pod: &Pod, settings: &Sandbox) -> Duration {
    let own = annotation(&pod.metadata, READY_AFTER).and_then(|text| text.parse().ok());
    let own = own.and_then(|span: SignedDuration| Duration::try_from(span).ok());
    own.unwrap_or(settings.ready_after)
}

/// The code with which the Pod terminates for good.
fn exit_code(pod: &Pod) -> Option<i32> {
    let code = annotation(&pod.metadata, EXIT)?.parse().ok()?;
    let policy = pod.spec.as_ref()?.restart_policy.as_deref();
    let stays = policy == Some("Never") || policy == Some("OnFailure") && code == 0;
    stays.then_some(code)
}
