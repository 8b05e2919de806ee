//! Whose Pods are whose: an owner takes orphans that its selector matches, and lets go of Pods that
//! it no longer matches. Source: `k8s.io/kubernetes/pkg/controller/controller_ref_manager.go`.

use k8s_openapi::{
    api::core::v1::Pod,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};
use serde_json::json;

use crate::{
    kinds::{Kind, POD},
    sandbox::{
        action::Action,
        selectors,
        workloads::pods,
        world::{World, is_dying, name_of, namespace_of, uid_of},
    },
};

/// Pods of an owner, and what it takes to make them so.
#[derive(Debug, Default)]
pub(super) struct Claimed<'a> {
    pub(super) pods: Vec<&'a Pod>,
    pub(super) actions: Vec<Action>,
}

/// The reference by which an object controls others.
pub(super) fn reference(kind: &Kind, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: kind.api_version(),
        kind: kind.kind.to_owned(),
        name: name_of(owner).to_owned(),
        uid: uid_of(owner).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// An owner that is being deleted neither takes nor lets go.
pub(super) fn claim<'a>(
    world: &'a World,
    kind: &Kind,
    owner: &ObjectMeta,
    selected: &LabelSelector,
) -> Claimed<'a> {
    let mut claimed = Claimed::default();
    let reference = reference(kind, owner);
    // One who owns Pods by a selector that asks for nothing would own them all, which the server
    // turns away.
    let fits = |pod: &Pod| {
        !selectors::is_empty(selected) && selectors::selects(selected, pod.metadata.labels.as_ref())
    };
    for pod in world.pods_of(&reference.uid) {
        if fits(pod) {
            claimed.pods.push(pod);
        } else if !is_dying(owner) && pods::is_active(pod) {
            let others = owners(pod).filter(|other| other.uid != reference.uid);
            let others: Vec<OwnerReference> = others.cloned().collect();
            claimed.actions.push(owned_by(pod, &others));
        }
    }
    if is_dying(owner) {
        return claimed;
    }
    let orphans = world.orphans_in(namespace_of(owner));
    for pod in orphans.filter(|pod| pods::is_active(pod) && fits(pod)) {
        let all: Vec<OwnerReference> = owners(pod).cloned().chain([reference.clone()]).collect();
        claimed.actions.push(owned_by(pod, &all));
        claimed.pods.push(pod);
    }
    claimed
}

fn owners(pod: &Pod) -> impl Iterator<Item = &OwnerReference> {
    pod.metadata.owner_references.iter().flatten()
}

/// Only this version of the Pod: a list is replaced as a whole.
fn owned_by(pod: &Pod, owners: &[OwnerReference]) -> Action {
    let patch = json!({"metadata": {
        "resourceVersion": pod.metadata.resource_version,
        "ownerReferences": owners,
    }});
    Action::patch(&POD, &pod.metadata, patch)
}
