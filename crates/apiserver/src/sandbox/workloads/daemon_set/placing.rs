//! One Pod on each eligible Node, none elsewhere. Source:
//! `k8s.io/kubernetes/pkg/controller/daemon`, `podsShouldBeOnNode`.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::{DaemonSetState, eligible::Fit};
use crate::sandbox::{
    action::Action,
    workloads::pods,
    world::{is_dying, is_finished, key_of, name_of, node_of, phase_of},
};

/// How long a failed Pod is left alone, so that one that always fails is not recreated in a loop.
const PATIENCE: SignedDuration = SignedDuration::from_secs(1);

/// The Pods to create and delete.
#[derive(Debug, Default)]
pub(super) struct PodActions<'a> {
    /// Nodes that get a Pod.
    pub(super) create: Vec<&'a str>,
    pub(super) delete: Vec<PodDeletion<'a>>,
    pub(super) news: Vec<Action>,
    pub(super) again: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PodDeletion<'a> {
    pub(super) pod: &'a Pod,
    /// Nothing is left to terminate it gracefully.
    pub(super) at_once: bool,
}

// === impl PodDeletion ===

impl<'a> PodDeletion<'a> {
    pub(super) fn new(pod: &'a Pod) -> PodDeletion<'a> {
        PodDeletion { pod, at_once: false }
    }
}

// === impl PodActions ===

impl PodActions<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.create.is_empty() && self.delete.is_empty()
    }
}

pub(super) fn orders<'a>(look: &DaemonSetState<'a>) -> PodActions<'a> {
    let mut orders = PodActions::default();
    for (node, fit) in &look.fits {
        let pods = look.on(node);
        match fit {
            Fit::Runs if pods.is_empty() => orders.create.push(node),
            Fit::Runs | Fit::Stays => thin_out(look, node, *fit, pods, &mut orders),
            Fit::Not => {
                let alive = pods.iter().filter(|pod| !is_dying(&pod.metadata));
                orders.delete.extend(alive.map(|pod| PodDeletion::new(pod)));
            }
        }
    }
    for (node, pods) in &look.pods {
        if !look.fits.contains_key(node) {
            let alive = pods.iter().filter(|pod| !is_dying(&pod.metadata));
            orders.delete.extend(alive.map(|pod| PodDeletion { pod, at_once: true }));
        }
    }
    orders
}

/// The order in which one of several Pods is kept: assigned before unassigned, then older.
pub(super) fn by_age<'a>(pod: &&'a Pod) -> (bool, Option<Timestamp>, &'a str) {
    (node_of(pod).is_empty(), pods::created(pod), name_of(&pod.metadata))
}

fn thin_out<'a>(
    look: &DaemonSetState<'a>,
    node: &'a str,
    fit: Fit,
    pods: &[&'a Pod],
    orders: &mut PodActions<'a>,
) {
    let mut running = Vec::new();
    for pod in pods.iter().filter(|pod| !is_dying(&pod.metadata)) {
        if is_finished(pod) {
            replace(look, node, pod, orders);
        } else {
            running.push(*pod);
        }
    }
    running.sort_by_key(by_age);
    if !look.surges {
        return orders.delete.extend(running.into_iter().skip(1).map(PodDeletion::new));
    }
    // With surge a terminating Pod does not delay the next.
    if running.is_empty() && fit == Fit::Runs {
        return orders.create.push(node);
    }
    if running.len() > 1 {
        let goes = goes_of_surge(look, &running);
        orders.delete.extend(goes.into_iter().map(PodDeletion::new));
    }
}

/// With surge an old and a new Pod may coexist, as long as the old one is ready and the new one is
/// not yet available.
fn goes_of_surge<'a>(look: &DaemonSetState<'_>, running: &[&'a Pod]) -> Vec<&'a Pod> {
    let (new, old): (Vec<&Pod>, Vec<&Pod>) = running.iter().partition(|pod| look.has_hash(pod));
    let mut goes: Vec<&Pod> = new.iter().skip(1).chain(old.iter().skip(1)).copied().collect();
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!pods::is_ready(old) || look.is_available(new))
    {
        goes.push(old);
    }
    goes
}

/// A terminated Pod is deleted to make room for the next.
fn replace<'a>(look: &DaemonSetState<'a>, node: &str, pod: &'a Pod, orders: &mut PodActions<'a>) {
    let failed = phase_of(pod) == "Failed";
    let rest = pods::created(pod).and_then(|created| created.checked_add(PATIENCE).ok());
    if let Some(rest) = rest.filter(|rest| failed && *rest > look.now) {
        orders.again = orders.again.into_iter().chain([rest]).min();
        return;
    }
    let key = key_of(&pod.metadata);
    orders.news.push(if failed {
        let message = format!("Found failed daemon pod {key} on node {node}, will try to kill it");
        look.maker.warn("FailedDaemonPod", message)
    } else {
        let message =
            format!("Found succeeded daemon pod {key} on node {node}, will try to delete it");
        look.maker.tell("SucceededDaemonPod", message)
    });
    orders.delete.push(PodDeletion::new(pod));
}
