//! Assigns Pods to Nodes.
//!
//! A Node is eligible if it passes the filters in order (`filters`, `affinity`, `spread`); of the
//! eligible ones the lowest score wins: first by the Pod's preferred node affinity, then by its soft
//! constraints, then fewest Pods of the same owner in the zone, then on the Node (Kubernetes' default
//! constraints), then the lowest share of CPU requested, then by name. So the choice is a function of
//! the World alone.
//! With N Nodes, P Pods and C constraints a choice takes O((N + P) · C). Sources: the plugins of
//! `pkg/scheduler/framework/plugins`. Not implemented: preferred affinity
//! between Pods, preemption, volumes, priorities.

mod affinity;
mod filters;
mod message;
mod requests;
mod spread;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec};

use self::{filters::Refused, requests::Amounts, spread::Spread};
use super::{
    action::{Action, Step},
    conditions::{self, ConditionContent, set_of_pod},
    selectors::preference,
    world::{World, controller_of, is_dying, is_finished, key_of, name_of, node_of, uid_of},
};
use crate::{kinds::POD, settings::Sandbox};

const ZONE: &str = "topology.kubernetes.io/zone";
const DEFAULT_SCHEDULER: &str = "default-scheduler";

pub(super) fn reconcile(world: &World, key: &str, now: Timestamp, _: &Sandbox) -> Step {
    let Some(pod) = world.pod(key) else { return Step::nothing() };
    let Some(spec) = pod.spec.as_ref().filter(|spec| is_ours(pod, spec)) else {
        return Step::nothing();
    };
    match choose(world, pod, spec) {
        Ok(node) => bound(pod, node),
        Err(refused) => unschedulable(pod, message::of(&refused), now),
    }
}

fn is_ours(pod: &Pod, spec: &PodSpec) -> bool {
    let scheduler = spec.scheduler_name.as_deref().unwrap_or_default();
    matches!(scheduler, "" | DEFAULT_SCHEDULER)
        && node_of(pod).is_empty()
        && !is_dying(&pod.metadata)
        && !is_finished(pod)
        && spec.scheduling_gates.iter().flatten().next().is_none()
}

/// The Node for a Pod, or why each Node is rejected.
fn choose<'a>(world: &'a World, pod: &Pod, spec: &PodSpec) -> Result<&'a str, Vec<Refused>> {
    let wanted = Amounts::of_pod(pod);
    let spread = Spread::of(world, pod, spec);
    let distances = affinity::Distances::of(world, pod, spec);
    let owner = Owner::of(world, pod);
    let mut refused = Vec::new();
    let mut best = None;
    for node in world.nodes.values() {
        let used = Amounts::on(world, node);
        let checked = filters::check(node, spec, wanted, used)
            .and_then(|()| spread.check(node))
            .and_then(|()| distances.check(node));
        if let Err(why) = checked {
            refused.push(why);
            continue;
        }
        let preference = Reverse(preference(spec, node));
        let score = (preference, spread.score(node), owner.score(node), used.share_of_cpu(node));
        let candidate = (score, name_of(&node.metadata));
        if best.as_ref().is_none_or(|best| candidate < *best) {
            best = Some(candidate);
        }
    }
    best.map(|(_, name)| name).ok_or(refused)
}

/// The locations of the Pods of one owner.
#[derive(Debug, Default)]
struct Owner<'a> {
    by_zone: BTreeMap<&'a str, usize>,
    by_node: BTreeMap<&'a str, usize>,
}

impl<'a> Owner<'a> {
    fn of(world: &'a World, pod: &Pod) -> Owner<'a> {
        let mut counts = Owner::default();
        let Some(owner) = controller_of(&pod.metadata) else { return counts };
        let placed = world.pods_of(&owner.uid).filter(|pod| {
            !node_of(pod).is_empty() && !is_dying(&pod.metadata) && !is_finished(pod)
        });
        for pod in placed {
            *counts.by_node.entry(node_of(pod)).or_default() += 1;
            if let Some(zone) = world.node(node_of(pod)).and_then(|node| label(node, ZONE)) {
                *counts.by_zone.entry(zone).or_default() += 1;
            }
        }
        counts
    }

    fn score(&self, node: &Node) -> (usize, usize) {
        let in_zone = label(node, ZONE).and_then(|zone| self.by_zone.get(zone));
        let here = self.by_node.get(name_of(&node.metadata));
        (in_zone.copied().unwrap_or_default(), here.copied().unwrap_or_default())
    }
}

fn label<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn bound(pod: &Pod, node: &str) -> Step {
    let (key, uid) = (key_of(&pod.metadata), uid_of(&pod.metadata).to_owned());
    let message = format!("Successfully assigned {key} to {node}");
    let news = Action::tell(&POD, &pod.metadata, "Scheduled", message);
    Step::act(vec![Action::Bind { key, uid, node: node.to_owned() }, news])
}

/// Reports why, once per reason.
fn unschedulable(pod: &Pod, message: String, now: Timestamp) -> Step {
    let present = pod.status.as_ref().and_then(|status| status.conditions.clone());
    let mut conditions = present.clone().unwrap_or_default();
    let says = ConditionContent::is_false("PodScheduled", "Unschedulable", message.clone());
    set_of_pod(&mut conditions, &says, now);
    if present.as_ref() == Some(&conditions) {
        return Step::nothing();
    }
    let news = Action::warn(&POD, &pod.metadata, "FailedScheduling", message);
    Step::act(vec![conditions::patch_of_pod(pod, &conditions), news])
}
