//! Simulates the kubelet's reports about its Node, and the control plane's reaction if they stop.
//!
//! A Node has a heartbeat unless its annotation `sandbox.evenkeel.dev/heartbeat` is `off`. With one
//! it gets the status it lacks and its Lease is renewed; all Leases at the same multiples of the
//! interval, so that their writes share a batch. Without one it is lost after `node_grace`: its
//! conditions become unknown, it is tainted, and its Pods become unready and are deleted when they
//! no longer tolerate the taint. Deleted Pods stay until then, since no kubelet confirms their
//! termination. Sources: `pkg/controller/nodelifecycle`, `pkg/controller/tainteviction`,
//! `pkg/controller/podgc`.

mod eviction;
mod lease;
mod status;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{
    api::core::v1::{Node, NodeSpec, NodeStatus, Taint},
    apimachinery::pkg::api::resource::Quantity,
};
use serde_json::{Value, json};

pub(super) use self::eviction::evict;
use super::{
    action::{Action, Step},
    conditions::time,
    tolerations::{NOT_READY, UNREACHABLE, UNSCHEDULABLE},
    world::{World, annotation, is_dying, name_of, uid_of},
};
use crate::{kinds::NODE, settings::Sandbox};

/// `off`: the Node sends no heartbeats.
pub(super) const HEARTBEAT: &str = "sandbox.evenkeel.dev/heartbeat";
/// The Node sends no heartbeats, and with `up --proxy` its network is cut, until this time (RFC 3339).
pub const OUTAGE_UNTIL: &str = "sandbox.evenkeel.dev/outage-until";
const HOST_NAME: &str = "kubernetes.io/hostname";

pub(super) fn reconcile(world: &World, name: &str, now: Timestamp, settings: &Sandbox) -> Step {
    let Some(node) = world.node(name) else { return Step::nothing() };
    if is_dying(&node.metadata) {
        return Step::nothing();
    }
    let outage = outage(node);
    if outage.is_some_and(|until| until <= now) {
        return Step::act(vec![end_of_outage(node)]);
    }
    if beats(node) {
        let mut step = lease::renew(world, node, now, settings);
        step.actions.extend(changed(node, &status::alive(node, now), now));
        return step;
    }
    let step = silent(world, node, now, settings);
    outage.into_iter().fold(step, Step::again)
}

/// Without a heartbeat.
fn silent(world: &World, node: &Node, now: Timestamp, settings: &Sandbox) -> Step {
    let lost = later(lease::last_heartbeat(world, node).unwrap_or(now), settings.node_grace);
    if now < lost {
        let noted = changed(node, &node.status.clone().unwrap_or_default(), now);
        return Step { actions: noted.into_iter().collect(), again: Some(lost) };
    }
    let actions = changed(node, &status::lost(node, now), now);
    Step::act(actions.into_iter().collect())
}

/// Whether it has a kubelet.
pub(super) fn beats(node: &Node) -> bool {
    annotation(&node.metadata, HEARTBEAT) != Some("off")
        && annotation(&node.metadata, OUTAGE_UNTIL).is_none()
}

/// When its outage ends, if it has one. What is no time is over.
fn outage(node: &Node) -> Option<Timestamp> {
    let until = annotation(&node.metadata, OUTAGE_UNTIL)?;
    Some(until.parse().unwrap_or(Timestamp::UNIX_EPOCH))
}

/// Others see the end as a change of the Node.
fn end_of_outage(node: &Node) -> Action {
    let version = &node.metadata.resource_version;
    let annotations = json!({OUTAGE_UNTIL: null});
    let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
    Action::patch(&NODE, &node.metadata, patch)
}

pub(super) fn is_ready(node: &Node) -> bool {
    ready_status(node) == Some("True")
}

/// Whether it is closed to new Pods.
pub(super) fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
}

/// Its internal addresses.
pub(super) fn addresses(node: &Node) -> impl Iterator<Item = &str> {
    let all = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    all.filter(|one| one.type_ == "InternalIP").map(|one| one.address.as_str())
}

pub(super) fn taints(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}

/// Everything that Pods and the scheduler depend on.
#[derive(Debug, PartialEq)]
pub(super) struct SchedulingInputs<'a> {
    uid: &'a str,
    labels: Option<&'a BTreeMap<String, String>>,
    spec: Option<&'a NodeSpec>,
    allocatable: Option<&'a BTreeMap<String, Quantity>>,
    ready: Option<&'a str>,
    addresses: Vec<&'a str>,
    beats: bool,
}

pub(super) fn matters(node: &Node) -> SchedulingInputs<'_> {
    SchedulingInputs {
        uid: uid_of(&node.metadata),
        labels: node.metadata.labels.as_ref(),
        spec: node.spec.as_ref(),
        allocatable: node.status.as_ref().and_then(|status| status.allocatable.as_ref()),
        ready: ready_status(node),
        addresses: addresses(node).collect(),
        beats: beats(node),
    }
}

/// Rounded up.
pub(super) fn whole_seconds(span: Duration) -> i64 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    i64::try_from(seconds).unwrap_or(i64::MAX)
}

fn ready_status(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == "Ready").map(|one| one.status.as_str())
}

/// The patch to a status with the taints that follow from it, if anything changes. A kubelet also
/// sets the host name label.
fn changed(node: &Node, status: &NodeStatus, now: Timestamp) -> Option<Action> {
    let mut patch = json!({"metadata": {"resourceVersion": node.metadata.resource_version}});
    let empty = patch.clone();
    let is_named = node.metadata.labels.as_ref().is_some_and(|all| all.contains_key(HOST_NAME));
    if beats(node) && !is_named {
        patch["metadata"]["labels"] = json!({HOST_NAME: name_of(&node.metadata)});
    }
    let present: Vec<Taint> = taints(node).cloned().collect();
    let wanted = tainted(&present, is_cordoned(node), lack(status), now);
    if wanted != present {
        patch["spec"]["taints"] = if wanted.is_empty() { Value::Null } else { json!(wanted) };
    }
    if node.status.clone().unwrap_or_default() != *status {
        patch["status"] = json!(status);
    }
    (patch != empty).then(|| Action::patch(&NODE, &node.metadata, patch))
}

/// Which of the two taints follows from a Node's readiness.
fn lack(status: &NodeStatus) -> Option<&'static str> {
    let mut conditions = status.conditions.iter().flatten();
    match conditions.find(|one| one.type_ == "Ready")?.status.as_str() {
        "True" => None,
        "False" => Some(NOT_READY),
        _ => Some(UNREACHABLE),
    }
}

/// The taints that follow from the Node's state and no others, those with NoExecute with a time.
fn tainted(present: &[Taint], cordoned: bool, lack: Option<&str>, now: Timestamp) -> Vec<Taint> {
    let own = |taint: &Taint| matches!(taint.key.as_str(), NOT_READY | UNREACHABLE | UNSCHEDULABLE);
    let closed = cordoned.then_some((UNSCHEDULABLE, "NoSchedule"));
    let lost = lack.map(|key| [(key, "NoSchedule"), (key, "NoExecute")]);
    let asked: Vec<(&str, &str)> = closed.into_iter().chain(lost.into_iter().flatten()).collect();
    let is_asked = |taint: &Taint| asked.iter().any(|(key, _)| taint.key == *key);
    let kept = present.iter().filter(|taint| !own(taint) || is_asked(taint));
    let mut wanted: Vec<Taint> = kept.cloned().collect();
    for (key, effect) in asked {
        if !wanted.iter().any(|taint| taint.key == key && taint.effect == effect) {
            let (key, effect) = (key.to_owned(), effect.to_owned());
            wanted.push(Taint { key, effect, time_added: Some(time(now)), value: None });
        }
    }
    for taint in wanted.iter_mut().filter(|taint| taint.effect == "NoExecute") {
        taint.time_added.get_or_insert_with(|| time(now));
    }
    wanted
}

pub(super) fn later(at: Timestamp, span: Duration) -> Timestamp {
    SignedDuration::try_from(span).ok().and_then(|span| at.checked_add(span).ok()).unwrap_or(at)
}
