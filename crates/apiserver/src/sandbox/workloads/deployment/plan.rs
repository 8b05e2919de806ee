//! Chooses the case that applies, and plans the changes of the ReplicaSets.

use super::{
    annotations, limits,
    rolling::{self, Count},
    scaling::{self, Scaled},
    sets::{Rollout, Set},
    status,
};
use crate::sandbox::{
    workloads::is_closing,
    world::{World, is_dying, is_finished, uid_of},
};

/// The planned changes of the ReplicaSets.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order of the sets.
    pub(super) sizes: Vec<i64>,
    /// Create a set for the current template, of this size.
    pub(super) create: Option<i64>,
    /// Sets beyond the revision history limit.
    pub(super) remove: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RolloutMode {
    Deleting,
    Paused,
    Scaled,
    RollingOut,
}

impl RolloutMode {
    pub(super) fn of(rollout: &Rollout<'_>) -> RolloutMode {
        if is_dying(&rollout.deployment.metadata) {
            return RolloutMode::Deleting;
        }
        if rollout.spec.paused.unwrap_or_default() {
            return RolloutMode::Paused;
        }
        let was_for_other = |set: &Set<'_>| {
            let desired = annotations::desired_replicas(set.metadata());
            set.count.size > 0 && desired.is_some_and(|desired| desired != rollout.limits.replicas)
        };
        if rollout.sets.iter().any(was_for_other) {
            RolloutMode::Scaled
        } else {
            RolloutMode::RollingOut
        }
    }
}

pub(super) fn plan(world: &World, rollout: &Rollout<'_>, mode: RolloutMode) -> Plan {
    match mode {
        RolloutMode::Deleting => Plan { sizes: rollout.sizes(), ..Plan::default() },
        RolloutMode::Paused => {
            let remove = superfluous(rollout);
            Plan { sizes: scaled(rollout), create: None, remove }
        }
        RolloutMode::Scaled => Plan { sizes: scaled(rollout), ..Plan::default() },
        RolloutMode::RollingOut if limits::is_recreate(rollout.spec) => recreated(world, rollout),
        RolloutMode::RollingOut => rolled(world, rollout),
    }
}

fn scaled(rollout: &Rollout<'_>) -> Vec<i64> {
    let wanted = rollout.limits.replicas;
    let read = |(index, set): (usize, &Set<'_>)| Scaled {
        size: set.count.size,
        most_before: annotations::max_replicas(set.metadata()),
        is_saturated_new: rollout.is_new(index)
            && set.count.size == wanted
            && set.count.available == wanted
            && annotations::desired_replicas(set.metadata()) == Some(wanted),
    };
    let sets: Vec<Scaled> = rollout.sets.iter().enumerate().map(read).collect();
    let before = rollout.deployment.status.as_ref().and_then(|status| status.replicas);
    let before = i64::from(before.unwrap_or_default());
    let is_recreate = limits::is_recreate(rollout.spec);
    scaling::sizes(rollout.limits, &sets, rollout.new, before, is_recreate)
}

/// One step within the limits. It waits until all sets have observed the previous step: a status
/// for a different size is not reliable.
fn rolled(world: &World, rollout: &Rollout<'_>) -> Plan {
    if !rollout.sets.iter().all(Set::is_observed) {
        return Plan { sizes: rollout.sizes(), ..Plan::default() };
    }
    let old = rollout.old_counts();
    let Some(new) = rollout.new_set() else {
        let size = rolling::new_size(rollout.limits, Count::default(), &old);
        let create = (!is_closing(world, &rollout.deployment.metadata)).then_some(size);
        return Plan { sizes: rollout.sizes(), create, remove: Vec::new() };
    };
    let next = rolling::next(rollout.limits, new.count, &old);
    let mut sizes = rollout.sizes();
    for (index, size) in rollout.old().zip(next.old) {
        sizes[index] = size;
    }
    if let Some(index) = rollout.new {
        sizes[index] = next.new;
    }
    let is_still = sizes == rollout.sizes();
    let remove = if is_still && is_complete(rollout) { superfluous(rollout) } else { Vec::new() };
    Plan { sizes, create: None, remove }
}

fn recreated(world: &World, rollout: &Rollout<'_>) -> Plan {
    let mut sizes = rollout.sizes();
    for index in rollout.old() {
        sizes[index] = 0;
    }
    if sizes != rollout.sizes() || old_pods_run(world, rollout) {
        return Plan { sizes, ..Plan::default() };
    }
    let wanted = rollout.limits.replicas;
    let is_open = !is_closing(world, &rollout.deployment.metadata);
    let create = (rollout.new.is_none() && is_open).then_some(wanted);
    if let Some(index) = rollout.new {
        sizes[index] = wanted;
    }
    let remove = if is_complete(rollout) { superfluous(rollout) } else { Vec::new() };
    Plan { sizes, create, remove }
}

/// A terminating Pod may still run.
fn old_pods_run(world: &World, rollout: &Rollout<'_>) -> bool {
    rollout.old().any(|index| {
        let set = &rollout.sets[index];
        let mut pods = world.pods_of(uid_of(set.metadata()));
        set.count.replicas > 0 || pods.any(|pod| !is_finished(pod))
    })
}

fn is_complete(rollout: &Rollout<'_>) -> bool {
    let status = rollout.deployment.status.as_ref();
    status.is_some_and(|status| status::is_complete(rollout, status))
}

/// Old sets beyond the revision history limit, by revision; those with Pods are kept.
fn superfluous(rollout: &Rollout<'_>) -> Vec<usize> {
    let limit = rollout.spec.revision_history_limit.filter(|limit| *limit != i32::MAX);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return Vec::new();
    };
    let mut old: Vec<usize> =
        rollout.old().filter(|index| !rollout.sets[*index].is_dying()).collect();
    old.sort_by_key(|index| annotations::revision(rollout.sets[*index].metadata()));
    old.truncate(old.len().saturating_sub(limit));
    old.retain(|index| rollout.sets[*index].is_empty() && rollout.sets[*index].is_observed());
    old
}
