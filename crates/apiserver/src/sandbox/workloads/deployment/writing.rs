//! The decisions about a Deployment, as actions.

use k8s_openapi::{
    api::apps::v1::{DeploymentStatus, ReplicaSet, ReplicaSetSpec},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::{Map, Value, json};

use super::{
    annotations::{self, Changes, REVISION},
    plan::{Plan, RolloutMode},
    sets::{Rollout, Set},
    status::{self, NewSet},
};
use crate::{
    kinds::{DEPLOYMENT, KindRef, REPLICA_SET},
    sandbox::{
        action::Action,
        workloads::{claim, template},
        world::{annotation, name_of, namespace_of},
    },
};

/// Maximum length of a ReplicaSet's name.
const LONGEST_NAME: usize = 253;

/// One patch for all changes of a set, and an Event about its size.
pub(super) fn resize(
    rollout: &Rollout<'_>,
    plan: &Plan,
    mode: RolloutMode,
    index: usize,
) -> impl Iterator<Item = Action> + use<> {
    let set = &rollout.sets[index];
    let (before, after) = (set.count.size, plan.sizes[index]);
    let is_resized = before != after;
    let mut annotations = Changes::new();
    let mut spec = Map::new();
    if rollout.is_new(index) && mode != RolloutMode::Deleting {
        let next = rollout.next_revision();
        annotations = annotations::of_new_set(&rollout.deployment.metadata, set.metadata(), next);
        spec.extend(patience(rollout, set));
    }
    if is_resized || (before > 0 && matches!(mode, RolloutMode::Paused | RolloutMode::Scaled)) {
        annotations.extend(annotations::of_size(set.metadata(), rollout.limits));
    }
    if is_resized {
        spec.insert("replicas".to_owned(), after.into());
    }
    let mut parts = Map::new();
    if !annotations.is_empty() {
        parts.insert("metadata".to_owned(), json!({"annotations": annotations}));
    }
    if !spec.is_empty() {
        parts.insert("spec".to_owned(), Value::Object(spec));
    }
    let news = is_resized.then(|| news(rollout, set.name(), before, after));
    patch(&REPLICA_SET, set.metadata(), parts).into_iter().chain(news)
}

pub(super) fn remove(set: &Set<'_>) -> Action {
    Action::delete(&REPLICA_SET, set.metadata(), None)
}

/// The set for the current template.
pub(super) fn new_set(rollout: &Rollout<'_>, size: i64) -> ReplicaSet {
    let collisions = rollout.deployment.status.as_ref().and_then(|status| status.collision_count);
    let hash = template::hash(&rollout.spec.template, collisions);
    let hashed = || (template::TEMPLATE_HASH.to_owned(), hash.clone());
    let mut template = rollout.spec.template.clone();
    let labels = template.metadata.get_or_insert_default().labels.get_or_insert_default();
    labels.extend([hashed()]);
    let labels = labels.clone();
    let mut selector = rollout.spec.selector.clone();
    selector.match_labels.get_or_insert_default().extend([hashed()]);
    ReplicaSet {
        metadata: metadata_of_new_set(rollout, &hash, labels),
        spec: Some(ReplicaSetSpec {
            replicas: Some(i32::try_from(size).unwrap_or(i32::MAX)),
            min_ready_seconds: rollout.spec.min_ready_seconds,
            selector,
            template: Some(template),
        }),
        status: None,
    }
}

pub(super) fn create(rollout: &Rollout<'_>, set: &ReplicaSet) -> Vec<Action> {
    let object = serde_json::to_value(set).expect("a ReplicaSet has text for keys");
    let namespace = Some(namespace_of(&set.metadata).to_owned());
    let mut actions = vec![Action::Create { kind: &REPLICA_SET, namespace, object }];
    let size = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
    if size > 0 {
        actions.push(news(rollout, name_of(&set.metadata), 0, size.into()));
    }
    actions
}

/// Writes the status and the revision if they differ.
pub(super) fn tell(
    rollout: &Rollout<'_>,
    new: NewSet<'_>,
    status: &DeploymentStatus,
) -> Option<Action> {
    let metadata = &rollout.deployment.metadata;
    let known = rollout.new_set().map(|set| annotations::revision(set.metadata()));
    let revision = rollout.next_revision().max(known.unwrap_or_default()).to_string();
    let mut parts = Map::new();
    if new != NewSet::Missing && annotation(metadata, REVISION) != Some(&revision) {
        parts.insert("metadata".to_owned(), json!({"annotations": {REVISION: revision}}));
    }
    // With the status, so that the revision does not count as a change of the Deployment.
    if !parts.is_empty() || status::filled(rollout.deployment.status.as_ref()) != *status {
        parts.insert("status".to_owned(), json!(status));
    }
    patch(&DEPLOYMENT, metadata, parts)
}

/// A set's minReadySeconds follows the Deployment's.
fn patience(rollout: &Rollout<'_>, set: &Set<'_>) -> Option<(String, Value)> {
    let wanted = rollout.spec.min_ready_seconds.unwrap_or_default();
    let given = set.object.spec.as_ref().and_then(|spec| spec.min_ready_seconds);
    let differs = given.unwrap_or_default() != wanted;
    differs.then(|| ("minReadySeconds".to_owned(), wanted.into()))
}

fn metadata_of_new_set(rollout: &Rollout<'_>, hash: &str, labels: Changes) -> ObjectMeta {
    let deployment = &rollout.deployment.metadata;
    let nothing = ObjectMeta::default();
    let mut annotations = annotations::of_new_set(deployment, &nothing, rollout.next_revision());
    annotations.extend(annotations::of_size(&nothing, rollout.limits));
    let name = rollout.name();
    let end = name.len().min(LONGEST_NAME - 1 - hash.len());
    ObjectMeta {
        name: Some(format!("{}-{hash}", name.get(..end).unwrap_or(name))),
        namespace: deployment.namespace.clone(),
        labels: Some(labels),
        annotations: Some(annotations),
        owner_references: Some(vec![claim::reference(&DEPLOYMENT, deployment)]),
        ..nothing
    }
}

fn news(rollout: &Rollout<'_>, set: &str, before: i64, after: i64) -> Action {
    let direction = if before < after { "up" } else { "down" };
    let message = format!("Scaled {direction} replica set {set} from {before} to {after}");
    Action::tell(&DEPLOYMENT, &rollout.deployment.metadata, "ScalingReplicaSet", message)
}

fn patch(kind: &'static KindRef, of: &ObjectMeta, parts: Map<String, Value>) -> Option<Action> {
    (!parts.is_empty()).then(|| Action::patch(kind, of, Value::Object(parts)))
}
