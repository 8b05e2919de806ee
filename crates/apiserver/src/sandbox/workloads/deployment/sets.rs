//! A Deployment with its ReplicaSets, read once.

use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetStatus},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{annotations, limits::Limits, rolling::Count};
use crate::sandbox::{
    workloads::template,
    world::{is_dying, name_of},
};

#[derive(Clone, Debug)]
pub(super) struct Rollout<'a> {
    pub(super) deployment: &'a Deployment,
    pub(super) spec: &'a DeploymentSpec,
    pub(super) limits: Limits,
    /// Oldest first.
    pub(super) sets: Vec<Set<'a>>,
    /// The set with the current template; the oldest of several.
    pub(super) new: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Set<'a> {
    pub(super) object: &'a ReplicaSet,
    pub(super) count: Count,
}

// === impl Rollout ===

impl<'a> Rollout<'a> {
    /// `owned`: the ReplicaSets that this Deployment controls.
    pub(super) fn read(
        deployment: &'a Deployment,
        spec: &'a DeploymentSpec,
        owned: impl IntoIterator<Item = &'a ReplicaSet>,
    ) -> Rollout<'a> {
        let mut sets: Vec<Set<'a>> = owned.into_iter().map(Set::read).collect();
        sets.sort_by_key(|set| (set.metadata().creation_timestamp.clone(), set.name()));
        let has_template = |set: &Set<'_>| {
            let given = set.object.spec.as_ref().and_then(|spec| spec.template.as_ref());
            given.is_some_and(|given| template::same(given, &spec.template))
        };
        let new = sets.iter().position(has_template);
        Rollout { deployment, spec, limits: Limits::of(spec), sets, new }
    }

    pub(super) fn name(&self) -> &'a str {
        name_of(&self.deployment.metadata)
    }

    pub(super) fn new_set(&self) -> Option<&Set<'a>> {
        self.new.map(|index| &self.sets[index])
    }

    pub(super) fn is_new(&self, index: usize) -> bool {
        self.new == Some(index)
    }

    /// Indices of the sets with old templates, oldest first.
    pub(super) fn old(&self) -> impl DoubleEndedIterator<Item = usize> + use<'_> {
        (0..self.sets.len()).filter(|index| !self.is_new(*index))
    }

    pub(super) fn old_counts(&self) -> Vec<Count> {
        self.old().map(|index| self.sets[index].count).collect()
    }

    pub(super) fn sizes(&self) -> Vec<i64> {
        self.sets.iter().map(|set| set.count.size).collect()
    }

    /// The minimum revision of the current template.
    pub(super) fn next_revision(&self) -> i64 {
        let revisions = self.old().map(|index| annotations::revision(self.sets[index].metadata()));
        revisions.max().unwrap_or_default().max(0).saturating_add(1)
    }
}

// === impl Set ===

impl<'a> Set<'a> {
    fn read(object: &'a ReplicaSet) -> Set<'a> {
        let size = object.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let nothing = ReplicaSetStatus::default();
        let status = object.status.as_ref().unwrap_or(&nothing);
        let number = |count: Option<i32>| i64::from(count.unwrap_or_default());
        let count = Count {
            size: i64::from(size),
            replicas: i64::from(status.replicas),
            ready: number(status.ready_replicas),
            available: number(status.available_replicas),
            terminating: number(status.terminating_replicas),
        };
        Set { object, count }
    }

    pub(super) fn metadata(&self) -> &'a ObjectMeta {
        &self.object.metadata
    }

    pub(super) fn name(&self) -> &'a str {
        name_of(self.metadata())
    }

    pub(super) fn is_dying(&self) -> bool {
        is_dying(self.metadata())
    }

    /// Its status is about its current spec.
    pub(super) fn is_observed(&self) -> bool {
        let observed = self.object.status.as_ref().and_then(|status| status.observed_generation);
        observed.unwrap_or_default() >= self.metadata().generation.unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.size == 0 && self.count.replicas == 0
    }
}
