//! Deployments: one ReplicaSet per template, with Pods moved from the old ones to the new one.
//!
//! Orphaned ReplicaSets that the selector matches are adopted first (`claim`). Then there are four
//! cases. A Deployment that is being deleted only gets its status. One that is paused, or whose
//! size was changed, has its sets scaled (`scaling`). Otherwise it is rolled out: with `Recreate`
//! all old Pods are deleted before the first new one is created, with `RollingUpdate` the sets are
//! resized step by step within the limits (`rolling`). A step relies only on the status of each
//! ReplicaSet; the change that it makes causes the next step. Source:
//! `k8s.io/kubernetes/pkg/controller/deployment`. Linear in the number of ReplicaSets, for
//! `Recreate` in that of the Pods.

mod annotations;
mod conditions;
mod limits;
mod plan;
mod rolling;
mod scaling;
mod sets;
mod status;
mod writing;

use jiff::Timestamp;

use self::{
    plan::{RolloutMode, plan},
    sets::Rollout,
    status::NewSet,
};
use crate::{
    sandbox::{
        action::{Action, Step},
        workloads::claim,
        world::{World, key_of, name_of},
    },
    settings::Sandbox,
};

/// The next actions for a Deployment.
pub(crate) fn reconcile(world: &World, key: &str, now: Timestamp, _: &Sandbox) -> Step {
    let Some(deployment) = world.deployments.get(key) else { return Step::nothing() };
    let Some(spec) = &deployment.spec else { return Step::nothing() };
    let claimed = claim::claim_replica_sets(world, &deployment.metadata, &spec.selector);
    if !claimed.actions.is_empty() {
        // Decide about the sets after their owners have changed.
        return Step::act(claimed.actions);
    }
    let rollout = Rollout::read(deployment, spec, claimed.objects);
    let mode = RolloutMode::of(&rollout);
    let plan = plan(world, &rollout, mode);
    let mut actions: Vec<Action> =
        (0..rollout.sets.len()).flat_map(|i| writing::resize(&rollout, &plan, mode, i)).collect();
    actions.extend(plan.remove.iter().map(|index| writing::remove(&rollout.sets[*index])));
    let created = plan.create.map(|size| writing::new_set(&rollout, size));
    // Another set has the name: its template has the same hash.
    let is_taken = |key: String| world.replica_sets.contains_key(key.as_str());
    let collides = created.as_ref().is_some_and(|set| is_taken(key_of(&set.metadata)));
    let created = created.filter(|_| !collides);
    if let Some(set) = &created {
        actions.extend(writing::create(&rollout, set));
    }
    let new = match (&created, rollout.new_set()) {
        (Some(set), _) => NewSet::Created(name_of(&set.metadata)),
        (None, Some(set)) => NewSet::Found(set.name()),
        (None, None) => NewSet::Missing,
    };
    let mut next = status::next(&rollout, new, mode == RolloutMode::RollingOut, now);
    if collides {
        let count = next.status.collision_count.get_or_insert_default();
        *count = count.saturating_add(1);
    }
    actions.extend(writing::tell(&rollout, new, &next.status));
    Step { actions, again: next.again }
}
