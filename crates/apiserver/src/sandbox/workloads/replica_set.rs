//! ReplicaSets: the desired number of Pods.
//!
//! Pods that failed, succeeded or are being deleted do not count. Missing ones are created and
//! surplus ones deleted in the order of `order`, at most 500 per step; the resulting changes cause
//! the next one. Source: `k8s.io/kubernetes/pkg/controller/replicaset`. Linear in the number of the
//! set's Pods; a deletion sorts them, and counts those of its sibling sets.

mod order;

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus},
    core::v1::{Pod, PodTemplateSpec},
};
use serde_json::json;

use crate::{
    kinds::REPLICA_SET,
    sandbox::{
        action::{Action, Step},
        selectors,
        workloads::{
            claim, is_closing,
            making::{self, Maker},
            pods,
        },
        world::{World, controller_of, is_dying, is_finished, uid_of},
    },
    settings::Sandbox,
};

/// Maximum number of Pods created or deleted per step.
const BURST: usize = 500;

/// The next actions for a ReplicaSet.
pub(crate) fn reconcile(world: &World, key: &str, now: Timestamp, _: &Sandbox) -> Step {
    let Some(set) = world.replica_sets.get(key) else { return Step::nothing() };
    let Some(spec) = &set.spec else { return Step::nothing() };
    let claimed = claim::claim_pods(world, &REPLICA_SET, &set.metadata, &spec.selector);
    let active: Vec<&Pod> =
        claimed.objects.iter().copied().filter(|pod| pods::is_active(pod)).collect();
    let ending = |pod: &&&Pod| is_dying(&pod.metadata) && !is_finished(pod);
    let n_ending = claimed.objects.iter().filter(ending).count();
    let mut actions = claimed.actions;
    if !is_dying(&set.metadata) {
        actions.extend(correct(world, set, spec, &active, now));
    }
    let readiness = pods::readiness(active.iter().copied(), min_ready(spec), now);
    actions.extend(tell(set, spec, &active, n_ending, readiness));
    Step { actions, again: readiness.next }
}

/// Creates or deletes Pods to reach the desired number.
fn correct(
    world: &World,
    set: &ReplicaSet,
    spec: &ReplicaSetSpec,
    active: &[&Pod],
    now: Timestamp,
) -> Vec<Action> {
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or_default();
    let maker = Maker { kind: &REPLICA_SET, owner: &set.metadata };
    if active.len() > wanted {
        let n = (active.len() - wanted).min(BURST);
        let chosen = to_delete(world, set, active, n, now);
        return chosen.into_iter().flat_map(|pod| maker.delete(pod, None)).collect();
    }
    let missing = (wanted - active.len()).min(BURST);
    let Some(template) = spec.template.as_ref() else { return Vec::new() };
    if missing == 0 || is_closing(world, &set.metadata) {
        return Vec::new();
    }
    create(world, &maker, template, missing, now)
}

fn create(
    world: &World,
    maker: &Maker<'_>,
    template: &PodTemplateSpec,
    n: usize,
    now: Timestamp,
) -> Vec<Action> {
    making::names(world, maker, now).take(n).flat_map(|name| maker.create(template, name)).collect()
}

/// The first `n` in the order of deletion.
fn to_delete<'a>(
    world: &World,
    set: &ReplicaSet,
    active: &[&'a Pod],
    n: usize,
    now: Timestamp,
) -> Vec<&'a Pod> {
    let mut chosen = active.to_vec();
    if n < chosen.len() {
        let crowds = order::crowds(related(world, set));
        chosen.sort_by_cached_key(|pod| order::rank(pod, &crowds, now));
    }
    chosen.truncate(n);
    chosen
}

/// The Pods of all ReplicaSets with the same controller.
fn related<'a>(world: &'a World, set: &'a ReplicaSet) -> Vec<&'a Pod> {
    let mut owners = BTreeSet::from([uid_of(&set.metadata)]);
    if let Some(controller) = controller_of(&set.metadata) {
        owners.extend(world.replica_sets_of(&controller.uid).map(|other| uid_of(&other.metadata)));
    }
    owners.into_iter().flat_map(|uid| world.pods_of(uid)).collect()
}

/// Writes the status if it differs.
fn tell(
    set: &ReplicaSet,
    spec: &ReplicaSetSpec,
    active: &[&Pod],
    n_ending: usize,
    readiness: pods::Readiness,
) -> Option<Action> {
    let labels = spec.template.as_ref().and_then(|template| template.metadata.as_ref());
    let labels = labels.and_then(|metadata| metadata.labels.as_ref());
    let is_full = |pod: &&&Pod| selectors::contains(pod.metadata.labels.as_ref(), labels);
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let status = ReplicaSetStatus {
        replicas: number(active.len()),
        fully_labeled_replicas: Some(number(active.iter().filter(is_full).count())),
        ready_replicas: Some(readiness.ready),
        available_replicas: Some(readiness.available),
        terminating_replicas: Some(number(n_ending)),
        observed_generation: Some(set.metadata.generation.unwrap_or_default()),
        conditions: None,
    };
    (filled(set.status.as_ref()) != status)
        .then(|| Action::patch(&REPLICA_SET, &set.metadata, json!({"status": status})))
}

/// A status with all numbers set, so that two can be compared.
fn filled(status: Option<&ReplicaSetStatus>) -> ReplicaSetStatus {
    let status = status.cloned().unwrap_or_default();
    ReplicaSetStatus {
        replicas: status.replicas,
        fully_labeled_replicas: Some(status.fully_labeled_replicas.unwrap_or_default()),
        ready_replicas: Some(status.ready_replicas.unwrap_or_default()),
        available_replicas: Some(status.available_replicas.unwrap_or_default()),
        terminating_replicas: Some(status.terminating_replicas.unwrap_or_default()),
        observed_generation: Some(status.observed_generation.unwrap_or_default()),
        conditions: None,
    }
}

fn min_ready(spec: &ReplicaSetSpec) -> i32 {
    spec.min_ready_seconds.unwrap_or_default()
}
