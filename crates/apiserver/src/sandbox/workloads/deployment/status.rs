//! The status of a Deployment: sums over its ReplicaSets, and the progress of the rollout. Source:
//! `k8s.io/kubernetes/pkg/controller/deployment/{sync,progress}.go`.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::DeploymentStatus;

use super::{
    conditions::{Conditions, PROGRESSING, Reason},
    sets::Rollout,
};
use crate::sandbox::world::is_dying;

/// The set with the current template, after this step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewSet<'a> {
    Missing,
    Found(&'a str),
    Created(&'a str),
}

/// The status to write, and when to check the progress deadline.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) status: DeploymentStatus,
    pub(super) again: Option<Timestamp>,
}

/// `is_rolling_out`: neither paused, nor being scaled or deleted; progress is checked only then.
pub(super) fn next(
    rollout: &Rollout<'_>,
    new: NewSet<'_>,
    is_rolling_out: bool,
    now: Timestamp,
) -> Next {
    let before = filled(rollout.deployment.status.as_ref());
    let mut status = counted(rollout, &before);
    let mut conditions = Conditions(before.conditions.clone().unwrap_or_default());
    let deadline = deadline(rollout);
    if deadline.is_some() {
        note_pause(rollout, &mut conditions, now);
        note_new_set(&mut conditions, new, now);
    }
    let enough = i64::from(status.available_replicas.unwrap_or_default()) >= rollout.limits.least();
    let reason =
        if enough { Reason::MinimumReplicasAvailable } else { Reason::MinimumReplicasUnavailable };
    conditions.set(reason, "", now);
    let again = match deadline {
        Some(deadline) if is_rolling_out => {
            let subject = subject(rollout, new);
            progress(rollout, &before, &status, &mut conditions, &subject, deadline, now)
        }
        Some(_) => None,
        None => {
            if is_rolling_out {
                conditions.remove(PROGRESSING);
            }
            None
        }
    };
    status.conditions = Some(conditions.0);
    Next { status, again }
}

/// All desired Pods exist with the current template, are available, and there are no others.
pub(super) fn is_complete(rollout: &Rollout<'_>, status: &DeploymentStatus) -> bool {
    let wanted = rollout.limits.replicas;
    let counts = [status.updated_replicas, status.replicas, status.available_replicas];
    let generation = rollout.deployment.metadata.generation.unwrap_or_default();
    counts.iter().all(|count| i64::from(count.unwrap_or_default()) == wanted)
        && status.observed_generation.unwrap_or_default() >= generation
}

/// A status with everything set, so that two can be compared.
pub(super) fn filled(status: Option<&DeploymentStatus>) -> DeploymentStatus {
    let mut status = status.cloned().unwrap_or_default();
    let DeploymentStatus {
        available_replicas,
        collision_count: _,
        conditions,
        observed_generation,
        ready_replicas,
        replicas,
        terminating_replicas,
        unavailable_replicas,
        updated_replicas,
    } = &mut status;
    for count in [
        available_replicas,
        ready_replicas,
        replicas,
        terminating_replicas,
        unavailable_replicas,
        updated_replicas,
    ] {
        count.get_or_insert_default();
    }
    observed_generation.get_or_insert_default();
    conditions.get_or_insert_default();
    status
}

fn counted(rollout: &Rollout<'_>, before: &DeploymentStatus) -> DeploymentStatus {
    let sum = |count: fn(&super::rolling::Count) -> i64| {
        rollout.sets.iter().map(|set| count(&set.count)).sum::<i64>()
    };
    let number = |count: i64| Some(i32::try_from(count).unwrap_or(i32::MAX));
    let available = sum(|count| count.available);
    let updated = rollout.new_set().map_or(0, |set| set.count.replicas);
    DeploymentStatus {
        observed_generation: Some(rollout.deployment.metadata.generation.unwrap_or_default()),
        replicas: number(sum(|count| count.replicas)),
        updated_replicas: number(updated),
        ready_replicas: number(sum(|count| count.ready)),
        available_replicas: number(available),
        unavailable_replicas: number((sum(|count| count.size) - available).max(0)),
        terminating_replicas: number(sum(|count| count.terminating)),
        collision_count: before.collision_count,
        conditions: None,
    }
}

/// `None`: progress is not checked.
fn deadline(rollout: &Rollout<'_>) -> Option<SignedDuration> {
    let seconds = rollout.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)?;
    Some(SignedDuration::from_secs(i64::from(seconds)))
}

/// A pause stops the progress deadline; it restarts with the resumption.
fn note_pause(rollout: &Rollout<'_>, conditions: &mut Conditions, now: Timestamp) {
    let is_dying = is_dying(&rollout.deployment.metadata);
    if is_dying || conditions.progresses_for(Reason::ProgressDeadlineExceeded) {
        return;
    }
    let was_paused = conditions.progresses_for(Reason::DeploymentPaused);
    match (rollout.spec.paused.unwrap_or_default(), was_paused) {
        (true, false) => conditions.set(Reason::DeploymentPaused, "", now),
        (false, true) => conditions.set(Reason::DeploymentResumed, "", now),
        _ => {}
    }
}

fn note_new_set(conditions: &mut Conditions, new: NewSet<'_>, now: Timestamp) {
    match new {
        NewSet::Created(name) => {
            conditions.set(Reason::NewReplicaSetCreated, &format!("\"{name}\""), now);
        }
        NewSet::Found(name) if conditions.progressing().is_none() => {
            conditions.set(Reason::FoundNewReplicaSet, &format!("\"{name}\""), now);
        }
        NewSet::Found(_) | NewSet::Missing => {}
    }
}

fn subject(rollout: &Rollout<'_>, new: NewSet<'_>) -> String {
    match new {
        NewSet::Found(name) | NewSet::Created(name) => format!("ReplicaSet \"{name}\""),
        NewSet::Missing => format!("Deployment \"{}\"", rollout.name()),
    }
}

/// Whether the rollout is complete, progressing, or stuck; and when to check again.
fn progress(
    rollout: &Rollout<'_>,
    before: &DeploymentStatus,
    status: &DeploymentStatus,
    conditions: &mut Conditions,
    subject: &str,
    deadline: SignedDuration,
    now: Timestamp,
) -> Option<Timestamp> {
    let was_done = conditions.progresses_for(Reason::NewReplicaSetAvailable);
    if was_done && status.replicas == status.updated_replicas {
        return None;
    }
    if is_complete(rollout, status) {
        conditions.set(Reason::NewReplicaSetAvailable, subject, now);
        return None;
    }
    if gets_on(before, status) {
        conditions.renew(Reason::ReplicaSetUpdated, subject, now);
    }
    if conditions.progresses_for(Reason::NewReplicaSetAvailable)
        || conditions.progresses_for(Reason::ProgressDeadlineExceeded)
    {
        return None;
    }
    let last = conditions.progressing()?.last_update_time.as_ref()?.0;
    let end = last.checked_add(deadline).ok()?;
    if end < now {
        conditions.set(Reason::ProgressDeadlineExceeded, subject, now);
        return None;
    }
    // Times are stored in whole seconds.
    end.checked_add(SignedDuration::from_secs(1)).ok()
}

/// More new Pods, fewer old ones, more ready or available ones.
fn gets_on(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let old = |status: &DeploymentStatus| {
        status.replicas.unwrap_or_default() - status.updated_replicas.unwrap_or_default()
    };
    after.updated_replicas > before.updated_replicas
        || old(after) < old(before)
        || after.ready_replicas > before.ready_replicas
        || after.available_replicas > before.available_replicas
}
